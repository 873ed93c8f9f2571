import SyncCore
import SyncJSON
import SyncModel

// An event is encoded as an object whose member "is" names the kind.

extension JSONWriter {
    mutating func event(_ event: SyncEvent) {
        switch event {
        case .started(let session, let link):
            member("is", "started")
            self.link(link)
            member("session") { $0.session(session) }
        case .syncRequested: member("is", "sync_requested")
        case .credentialsChanged: member("is", "credentials_changed")
        case .deletesAllowed(let space): named("deletes_allowed", space)
        case .stopRequested: member("is", "stop_requested")
        case .aborted: member("is", "aborted")
        case .linkChanged(let link):
            member("is", "link_changed")
            self.link(link)
        case .outboxTouched: member("is", "outbox_touched")
        case .timerFired(let serial): numbered("timer_fired", serial)
        case .helloEnded(let serial, let result):
            numbered("hello_ended", serial)
            switch result {
            case .success(let hello): member("hello") { $0.hello(hello) }
            case .failure(let failure): member("failure") { $0.failure(failure) }
            }
        case .pushEnded(let serial, let result):
            numbered("push_ended", serial)
            pushResult(result)
        case .pullEnded(let serial, let space, let result):
            numbered("pull_ended", serial)
            member("space", space.rawValue)
            switch result {
            case .success(.page(let page)): member("page") { $0.page(page) }
            case .success(.mustReset(let reason)): member("must_reset", reason.rawValue)
            case .success(.noAccess(let epoch)): member("no_access", epoch.rawValue)
            case .failure(let failure): member("failure") { $0.failure(failure) }
            }
        case .hint(let serial, let hint):
            numbered("hint", serial)
            member("space", hint.space.rawValue)
            member("head", hint.head.rawValue)
        case .hintsEnded(let serial, _, let retryAfter):
            numbered("hints_ended", serial)
            if let retryAfter { member("retry_after", retryAfter) }
        case .batchTaken(let batch):
            member("is", "batch_taken")
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
            if batch.isWithdrawal { member("withdrawal", true) }
            if !batch.cursors.isEmpty { member("cursors", batch.cursors) { $0.string($1.rawValue) } }
        case .nothingToPush(let outbox): counted("nothing_to_push", outbox)
        case .outboxCounted(let outbox): counted("outbox_counted", outbox)
        case .resultsRecorded(let outbox): counted("results_recorded", outbox)
        case .transactionWithdrawn(let outbox): counted("transaction_withdrawn", outbox)
        case .pageApplied(let space, .applied(let stored, let outbox, let count)):
            named("page_applied", space)
            member("stored") { $0.stored(stored) }
            member("outbox") { $0.outbox(outbox) }
            member("changed", count)
        case .pageApplied(let space, .braked(let deletes, let total)):
            named("page_braked", space)
            member("deletes", deletes)
            member("of", total)
        case .cursorReset(let space): named("cursor_reset", space)
        case .spaceVacated(let space, .vacated(let vacated)):
            named("space_vacated", space)
            member("stored") { $0.stored(vacated.stored) }
            member("outbox") { $0.outbox(vacated.outbox) }
            member("removed", vacated.removedRecords)
        case .spaceVacated(let space, .braked(let deletes, let total)):
            named("vacate_braked", space)
            member("deletes", deletes)
            member("of", total)
        case .sessionChanged(let session):
            member("is", "session_changed")
            member("session") { $0.session(session) }
        case .storeFailed(let task, let failure):
            member("is", "store_failed")
            self.task(task)
            member("code", failure.code.rawValue)
        }
    }

    private mutating func numbered(_ kind: String, _ serial: Serial) {
        member("is", kind)
        member("serial", serial.rawValue)
    }

    private mutating func named(_ kind: String, _ space: SpaceID) {
        member("is", kind)
        member("space", space.rawValue)
    }

    private mutating func counted(_ kind: String, _ outbox: OutboxSummary) {
        member("is", kind)
        member("outbox") { $0.outbox(outbox) }
    }

    private mutating func pushResult(_ result: Result<PushReply, TransportFailure>) {
        switch result {
        case .success(.answered(let results, let epoch, let time)):
            member("epoch", epoch.rawValue)
            member("server_time", time.description)
            member("results", results) { writer, result in
                writer.beginArray()
                writer.integer(result.number.rawValue)
                switch result.outcome {
                case .applied(let version, _, _): writer.integer(version.rawValue)
                case .rejected(let rejection): writer.string(rejection.code.rawValue)
                }
                if let receipt = result.receipt {
                    writer.string(receipt.space.rawValue)
                    writer.integer(receipt.version.rawValue)
                    writer.string(receipt.cursor.rawValue)
                }
                writer.endArray()
            }
        case .success(.refused(.gap(let expected))):
            member("refused", "gap")
            member("number", expected.rawValue)
        case .success(.refused(.identityConflict(let number))):
            member("refused", "identity_conflict")
            member("number", number.rawValue)
        case .success(.refused(.epochChanged(let epoch))):
            member("refused", "epoch_changed")
            member("epoch", epoch.rawValue)
        case .failure(let failure): member("failure") { $0.failure(failure) }
        }
    }

    private mutating func task(_ task: StoreTask) {
        switch task {
        case .countingOutbox: member("task", "counting_outbox")
        case .takingBatch: member("task", "taking_batch")
        case .recordingResults: member("task", "recording_results")
        case .withdrawing: member("task", "withdrawing")
        case .applyingPage(let space):
            member("task", "applying_page")
            member("space", space.rawValue)
        case .resettingCursor(let space):
            member("task", "resetting_cursor")
            member("space", space.rawValue)
        case .vacatingSpace(let space):
            member("task", "vacating_space")
            member("space", space.rawValue)
        case .adopting: member("task", "adopting")
        case .renewingIdentity: member("task", "renewing_identity")
        }
    }
}

extension RecordingNode {
    func event() throws(RecordingProblem) -> SyncEvent {
        let kind = try member("is").text()
        switch kind {
        case "started": return .started(try member("session").session(), try link())
        case "sync_requested": return .syncRequested
        case "credentials_changed": return .credentialsChanged
        case "deletes_allowed": return .deletesAllowed(try member("space").space())
        case "stop_requested": return .stopRequested
        case "aborted": return .aborted
        case "link_changed": return .linkChanged(try link())
        case "outbox_touched": return .outboxTouched
        case "timer_fired": return .timerFired(try eventSerial())
        case "hello_ended":
            return .helloEnded(
                try eventSerial(), try result { node throws(RecordingProblem) in try node.member("hello").hello() })
        case "push_ended":
            return .pushEnded(
                try eventSerial(), try result { node throws(RecordingProblem) in try node.pushReply() })
        case "pull_ended":
            return .pullEnded(
                try eventSerial(), try member("space").space(),
                try result { node throws(RecordingProblem) in try node.pullReply() })
        case "hint":
            return .hint(
                try eventSerial(), Hint(space: try member("space").space(), head: try member("head").version()))
        case "hints_ended":
            let pause = try optional("retry_after").map { node throws(RecordingProblem) in try node.duration() }
            return .hintsEnded(try eventSerial(), "", retryAfter: pause)
        case "batch_taken": return .batchTaken(try batch())
        case "nothing_to_push": return .nothingToPush(try member("outbox").outbox())
        case "outbox_counted": return .outboxCounted(try member("outbox").outbox())
        case "transaction_withdrawn": return .transactionWithdrawn(try member("outbox").outbox())
        case "results_recorded": return .resultsRecorded(try member("outbox").outbox())
        case "page_applied":
            return .pageApplied(
                try member("space").space(),
                .applied(
                    try member("stored").stored(), outbox: try member("outbox").outbox(),
                    changedRecords: try member("changed").count()))
        case "page_braked":
            return .pageApplied(
                try member("space").space(),
                .braked(deletes: try member("deletes").count(), of: try member("of").count()))
        case "cursor_reset": return .cursorReset(try member("space").space())
        case "space_vacated":
            return .spaceVacated(
                try member("space").space(),
                .vacated(
                    VacatedSpace(
                        stored: try member("stored").stored(), outbox: try member("outbox").outbox(),
                        removedRecords: try member("removed").count())))
        case "vacate_braked":
            return .spaceVacated(
                try member("space").space(),
                .braked(deletes: try member("deletes").count(), of: try member("of").count()))
        case "session_changed": return .sessionChanged(try member("session").session())
        case "store_failed": return .storeFailed(try task(), try storeFailure())
        default: throw try member("is").wrong("the name of an event")
        }
    }

    private func eventSerial() throws(RecordingProblem) -> Serial { try member("serial").serial() }

    private func result<Value>(
        _ body: (RecordingNode) throws(RecordingProblem) -> Value
    ) throws(RecordingProblem) -> Result<Value, TransportFailure> {
        if let failure = optional("failure") { return .failure(try failure.failure()) }
        return .success(try body(self))
    }

    private func pushReply() throws(RecordingProblem) -> PushReply {
        switch try optional("refused").map({ node throws(RecordingProblem) in try node.text() }) {
        case nil:
            return .answered(
                try member("results").list { node throws(RecordingProblem) in try node.transactionResult() },
                epoch: try member("epoch").epoch(), serverTime: try member("server_time").hybridTime())
        case "gap": return .refused(.gap(expected: try member("number").number()))
        case "identity_conflict": return .refused(.identityConflict(number: try member("number").number()))
        case "epoch_changed": return .refused(.epochChanged(try member("epoch").epoch()))
        default: throw try member("refused").wrong("gap, identity_conflict or epoch_changed")
        }
    }

    private func transactionResult() throws(RecordingProblem) -> TransactionResult {
        let parts = try list(5) { node throws(RecordingProblem) in node }
        guard parts.count == 2 || parts.count == 5 else {
            throw wrong("a number and its outcome, and the space, version and cursor of a receipt,")
        }
        let outcome: Outcome =
            if case .string = parts[1].value {
                Redaction.rejected(try parts[1].text())
            } else {
                .applied(version: try parts[1].version(), uids: [], conflicts: [])
            }
        let receipt: CommitReceipt? =
            if parts.count == 5 {
                CommitReceipt(
                    space: try parts[2].space(), version: try parts[3].version(), cursor: try parts[4].cursor())
            } else { nil }
        return TransactionResult(number: try parts[0].number(), outcome: outcome, receipt: receipt)
    }

    private func pullReply() throws(RecordingProblem) -> PullReply {
        if let reason = optional("must_reset") { return .mustReset(try reason.choice()) }
        if let epoch = optional("no_access") { return .noAccess(try epoch.epoch()) }
        return .page(try member("page").page())
    }

    private func batch() throws(RecordingProblem) -> PushBatch {
        let runs = try member("numbers").list { node throws(RecordingProblem) in try node.run() }
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
            transactions: transactions, outbox: try member("outbox").outbox(), isWithdrawal: try isWithdrawal(),
            cursors: try optional("cursors").map { node throws(RecordingProblem) in
                try node.list { node throws(RecordingProblem) in try node.cursor() }
            } ?? [])
    }

    private func run() throws(RecordingProblem) -> TransactionRun {
        let parts = try list(3) { node throws(RecordingProblem) in node }
        guard parts.count >= 2 else { throw wrong("the first number, how many there are, and their space,") }
        return TransactionRun(
            first: try parts[0].integer(0...RecordingBounds.largestNumber),
            count: try parts[1].integer(0...RecordingBounds.largestNumber),
            space: parts.count == 3 ? try parts[2].space() : .default)
    }

    private func task() throws(RecordingProblem) -> StoreTask {
        switch try member("task").text() {
        case "counting_outbox": return .countingOutbox
        case "taking_batch": return .takingBatch
        case "recording_results": return .recordingResults
        case "withdrawing": return .withdrawing
        case "applying_page": return .applyingPage(try member("space").space())
        case "resetting_cursor": return .resettingCursor(try member("space").space())
        case "vacating_space": return .vacatingSpace(try member("space").space())
        case "adopting": return .adopting
        case "renewing_identity": return .renewingIdentity
        default: throw try member("task").wrong("the name of a task of the store")
        }
    }
}
