import SyncCore
import SyncJSON
import SyncModel

extension JSONWriter {
    mutating func event(_ event: StoreEvent) {
        name(event.label)
        switch event {
        case .batchTaken(let batch): self.batch(batch)
        case .nothingToPush(let outbox), .outboxCounted(let outbox), .resultsRecorded(let outbox),
            .transactionWithdrawn(let outbox):
            member("outbox") { $0.outbox(outbox) }
        case .pageApplied(let space, .applied(let stored, let outbox, let count)):
            member("space", space.rawValue)
            member("stored") { $0.stored(stored) }
            member("outbox") { $0.outbox(outbox) }
            member("changed", count)
        case .cursorReset(let space): member("space", space.rawValue)
        case .spaceVacated(let space, .vacated(let vacated)):
            member("space", space.rawValue)
            member("stored") { $0.stored(vacated.stored) }
            member("outbox") { $0.outbox(vacated.outbox) }
            member("removed", vacated.removedRecords)
        case .pageApplied(let space, .braked(let deletes, let total)),
            .spaceVacated(let space, .braked(let deletes, let total)):
            member("space", space.rawValue)
            member("deletes", deletes)
            member("of", total)
        case .spacesRead(let spaces):
            member("spaces", spaces) { writer, space in writer.object { $0.stored(space) } }
        case .sessionChanged(let session): member("session") { $0.session(session) }
        case .failed(let task, let failure):
            self.task(task)
            member("code", failure.code.rawValue)
        }
    }

    private mutating func batch(_ batch: PushBatch) {
        member("incarnation", batch.identity.incarnation)
        member("epoch", ifAny: batch.epoch?.rawValue)
        member("acknowledged", batch.acknowledged.rawValue)
        member("numbers", TransactionRun.runs(of: batch.transactions)) { writer, run in
            writer.beginArray()
            writer.integer(run.first)
            writer.integer(run.count)
            if run.space != .default { writer.string(run.space.rawValue) }
            writer.endArray()
        }
        member("outbox") { $0.outbox(batch.outbox) }
        if batch.loneBytes > 0 { member("bytes", Int64(batch.loneBytes)) }
        if batch.isEmptied { member("withdrawal", true) }
        if !batch.cursors.isEmpty { member("cursors", batch.cursors) { $0.string($1.rawValue) } }
    }

    private mutating func task(_ task: StoreTask) {
        switch task {
        case .session(let task): member("task", task.rawValue)
        case .outbox(let task): member("task", task.rawValue)
        case .space(let space, let task):
            member("task", task.rawValue)
            member("space", space.rawValue)
        }
    }
}

extension RecordingNode {
    func event(_ name: StoreEvent.Name) throws(RecordingError) -> StoreEvent {
        switch name {
        case .batchTaken: .batchTaken(try batch())
        case .nothingToPush: .nothingToPush(try member("outbox").outbox())
        case .outboxCounted: .outboxCounted(try member("outbox").outbox())
        case .resultsRecorded: .resultsRecorded(try member("outbox").outbox())
        case .transactionWithdrawn: .transactionWithdrawn(try member("outbox").outbox())
        case .pageApplied:
            .pageApplied(
                try member("space").space(),
                .applied(
                    try member("stored").stored(), outbox: try member("outbox").outbox(),
                    changedRecords: try member("changed").count()))
        case .pageBraked:
            .pageApplied(
                try member("space").space(),
                .braked(deletes: try member("deletes").count(), of: try member("of").count()))
        case .cursorReset: .cursorReset(try member("space").space())
        case .spaceVacated:
            .spaceVacated(
                try member("space").space(),
                .vacated(
                    VacatedSpace(
                        stored: try member("stored").stored(), outbox: try member("outbox").outbox(),
                        removedRecords: try member("removed").count())))
        case .vacateBraked:
            .spaceVacated(
                try member("space").space(),
                .braked(deletes: try member("deletes").count(), of: try member("of").count()))
        case .spacesRead: .spacesRead(try member("spaces").list(of: Self.stored))
        case .sessionChanged: .sessionChanged(try member("session").session())
        case .failed: .failed(try task(), try storeFailure())
        }
    }

    private func batch() throws(RecordingError) -> PushBatch {
        let runs = try member("numbers").list(of: Self.run)
        var transactions: [NumberedTransaction] = []
        for run in runs {
            guard run.count <= Int64(RecordingBounds.transactions - transactions.count) else {
                throw try member("numbers").wrong("at most \(RecordingBounds.transactions) transactions")
            }
            transactions += (0..<run.count).map {
                Redaction.transaction(TransactionNumber(run.first + $0), in: run.space)
            }
        }
        return PushBatch(
            identity: try identity(), epoch: try optionalEpoch(), acknowledged: try member("acknowledged").number(),
            transactions: transactions, outbox: try member("outbox").outbox(), isEmptied: try isEmptied(),
            cursors: try optional("cursors").map { node throws(RecordingError) in
                try node.list(of: Self.cursor)
            } ?? [],
            loneBytes: try optional("bytes").map { node throws(RecordingError) in try node.count() } ?? 0)
    }

    private func run() throws(RecordingError) -> TransactionRun {
        let parts = try list(3) { node throws(RecordingError) in node }
        guard parts.count >= 2 else { throw wrong("a first number, a count, and perhaps a space") }
        return TransactionRun(
            first: try parts[0].integer(0...RecordingBounds.largestNumber),
            count: try parts[1].integer(0...RecordingBounds.largestNumber),
            space: parts.count == 3 ? try parts[2].space() : .default)
    }

    private func task() throws(RecordingError) -> StoreTask {
        let name = try member("task").text()
        if let task = StoreTask.SessionTask(rawValue: name) { return .session(task) }
        if let task = StoreTask.OutboxTask(rawValue: name) { return .outbox(task) }
        if let task = StoreTask.SpaceTask(rawValue: name) { return .space(try member("space").space(), task) }
        throw try member("task").wrong("the name of a task of the store")
    }
}

extension Redaction {
    func event(_ event: StoreEvent) -> StoreEvent {
        switch event {
        case .batchTaken(let taken): .batchTaken(batch(taken))
        case .nothingToPush, .outboxCounted, .resultsRecorded, .transactionWithdrawn: event
        case .pageApplied(let name, let result): .pageApplied(space(name), applied(result))
        case .cursorReset(let name): .cursorReset(space(name))
        case .spaceVacated(let name, let result): .spaceVacated(space(name), vacated(result))
        case .spacesRead(let spaces): .spacesRead(spaces.map(stored))
        case .sessionChanged(let stored): .sessionChanged(session(stored))
        case .failed(.space(let name, let task), let reason): .failed(.space(space(name), task), failure(reason))
        case .failed(let task, let reason): .failed(task, failure(reason))
        }
    }
}

extension StoreEvent {
    var carried: Int {
        switch self {
        case .batchTaken(let batch): batch.transactions.count
        case .pageApplied(_, .applied(_, _, let count)): count
        case .spaceVacated(_, .vacated(let vacated)): vacated.removedRecords
        case .nothingToPush, .outboxCounted, .resultsRecorded, .transactionWithdrawn, .pageApplied(_, .braked),
            .cursorReset, .spaceVacated(_, .braked), .spacesRead, .sessionChanged, .failed:
            0
        }
    }
}
