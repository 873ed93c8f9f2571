import SQLiteDatabase
import SyncCore
import SyncModel

/// The entries chosen so far for a push.
private struct BatchDraft {
    let limit: BatchLimit
    private(set) var entries: [(entry: StoredEntry, writtenAt: Int64)] = []
    private(set) var isEmpty = false
    private(set) var isFull = false
    private var bytes = 0

    init(limit: BatchLimit) {
        self.limit = limit
    }

    /// Adds an entry if there is room.
    ///
    /// The first entry always fits. An entry with empty contents is sent alone: if the server refuses that push as
    /// well, the contents were not the cause.
    mutating func add(_ entry: StoredEntry, writtenAt: Int64, isEmpty: Bool) {
        bytes += entry.bytes + FormerNumbers.wireBytes(of: entry.formerly)
        guard entries.isEmpty || !isEmpty && bytes <= limit.bytes else {
            isFull = true
            return
        }
        entries.append((entry, writtenAt))
        self.isEmpty = isEmpty
        isFull = isEmpty || entries.count >= max(limit.transactions, 1)
    }
}

// Pushes to the server, and their outcomes.
extension WriteTransaction {
    /// Numbers and freezes the oldest transactions that have no outcome and whose collections and fields the server
    /// knows; nil when there are none.
    func takeBatch(_ limit: BatchLimit, now: WallTime) throws -> PushBatch? {
        try correctClock(now: now)
        try releaseHeld(for: limit.models)
        var draft = BatchDraft(limit: limit)
        // Ordered by number, because an entry that was held back has a higher number than entries written after it.
        try fill(
            &draft,
            from: connection.statement(
                """
                SELECT sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum, written_at,
                    refusal_code IS NOT NULL
                FROM sync_outbox WHERE number IS NOT NULL AND version IS NULL ORDER BY number
                """))
        try fillWithUnsent(&draft)
        // Only a batch that would be empty asks about these entries again. Otherwise, a server that keeps rejecting
        // them would get them in every batch, each time under new numbers.
        if draft.entries.isEmpty, try releaseHeld(knownIn: limit.models) { try fillWithUnsent(&draft) }
        let entries = draft.entries
        guard !entries.isEmpty else {
            try requireNothingToSend()
            return nil
        }

        let mark = try connection.statement(
            "UPDATE sync_outbox SET number = ?2, attempts = attempts + 1 WHERE sequence = ?1")
        var transactions: [NumberedTransaction] = []
        for (entry, writtenAt) in entries {
            let number: TransactionNumber
            if let known = entry.number {
                number = known
            } else {
                number = meta.nextNumber
                meta.nextNumber = number.next
                meta.outbox.waiting -= 1
                meta.outbox.sent += 1
            }
            mark.bind(1, entry.sequence)
            mark.bind(2, number.rawValue)
            try mark.run()
            transactions.append(
                NumberedTransaction(
                    number: number, hash: try StoredForm.hash(of: entry.transaction), transaction: entry.transaction,
                    age: max(.zero, .milliseconds(now.milliseconds) - .milliseconds(writtenAt)),
                    formerNumbers: Array(entry.formerly.prefix(SchemaLimits.formerNumbers))))
        }
        meta.hasExchanged = true
        change.touchesOutbox = true
        return PushBatch(
            identity: meta.identity, epoch: meta.epoch, acknowledged: try smallestUnanswered(),
            transactions: transactions, outbox: meta.outbox, isEmptied: draft.isEmpty,
            cursors: try proofs(startingWith: entries.map(\.entry.space)))
    }

    private func fillWithUnsent(_ draft: inout BatchDraft) throws {
        let lastSent = try connection.integer(
            of: "SELECT coalesce(max(sequence), 0) FROM sync_outbox WHERE number IS NOT NULL AND version IS NULL")
        try fill(
            &draft, lastSent: lastSent,
            from: connection.statement(
                """
                SELECT sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum, written_at, 0
                FROM sync_outbox WHERE number IS NULL AND held_for IS NULL ORDER BY sequence
                """))
    }

    /// Throws `corrupt` if the outbox has entries to send that no query finds, because their columns are damaged. Such
    /// a device would be in sync forever.
    private func requireNothingToSend() throws {
        guard meta.outbox.waiting + meta.outbox.sent > 0 else { return }
        let held = try connection.integer(of: "SELECT count(*) FROM sync_outbox WHERE held_for IS NOT NULL")
        let missing = Int64(meta.outbox.waiting + meta.outbox.sent) - held
        guard missing == 0 else {
            throw StoreError(
                .corrupt, "\(missing) of the writes that wait for the server cannot be found in the outbox")
        }
    }

    /// Whether a later entry that changes one of the same records was sent, and has no outcome.
    ///
    /// A server had rejected the earlier entry because it did not know a name. It would replace the values of the later
    /// one if it got the higher number. The outcome of the later one removes its replaced edits.
    private func isFollowedBySentEntry(_ entry: StoredEntry) throws -> Bool {
        guard entry.isUnsent else { return false }
        for place in try changedPlaces(of: entry.transaction) {
            for sequence in try sequences(linkedTo: place, onlyChanging: true, after: entry.sequence) {
                guard let later = try self.entry(sequence) else { continue }
                if later.number != nil, later.version == nil { return true }
            }
        }
        return false
    }

    /// Adds entries, in the order of a statement, until the draft is full.
    ///
    /// - Parameter lastSent: the newest entry that was sent and has no outcome, if the statement selects unsent ones.
    private func fill(_ draft: inout BatchDraft, lastSent: Int64 = 0, from statement: Statement) throws {
        defer { statement.reset() }
        while !draft.isFull, try statement.step() {
            var entry = try StoredEntry(statement)
            if let models = draft.limit.models, try holdBack(entry, from: models) { continue }
            // A withdrawal, or a question about the outcome under former numbers.
            let isEmpty = statement.integer(11) != 0 || entry.asksForOutcome
            if entry.sequence < lastSent, try isFollowedBySentEntry(entry) { return }
            if isEmpty { entry.transaction = Transaction(space: entry.space, mutations: []) }
            draft.add(entry, writtenAt: statement.integer(10), isEmpty: isEmpty)
        }
    }

    /// Returns the newest proof of the history of each space, those of `spaces` first, up to the number that a push may
    /// carry.
    private func proofs(startingWith spaces: [SpaceID]) throws -> [Cursor] {
        let wanted = Set(spaces)
        let rows = try SpaceRow.all(connection).map { $0.stored(for: nil) }
        let own = rows.filter { wanted.contains($0.space) }
        let newest = own.compactMap { $0.unreachedReceipt?.cursor ?? $0.cursor }
        // Other spaces send receipts only, because their own pulls send the cursors.
        let others = rows.filter { !wanted.contains($0.space) }.compactMap(\.unreachedReceipt?.cursor)
        // A cursor below the horizon proves nothing, but an older receipt still does.
        let older = own.filter { $0.unreachedReceipt == nil }.compactMap(\.receipt?.cursor)
        return Array((newest + others + older).prefix(SchemaLimits.shownCursors))
    }

    func withdraw(
        _ number: TransactionNumber, of identity: ClientIdentity, because rejection: Rejection
    ) throws -> OutboxSummary {
        guard identity == meta.identity, let entry = try entry(numbered: number), entry.version == nil else {
            rollsBack = true
            return meta.outbox
        }
        let mark = try connection.statement(
            "UPDATE sync_outbox SET refusal_code = ?2, refusal_message = ?3 WHERE sequence = ?1")
        mark.bind(1, entry.sequence)
        mark.bind(2, rejection.code.rawValue)
        mark.bind(3, rejection.message.clipped(to: StoreLimits.rejectionMessageBytes))
        try mark.run()
        change.touchesOutbox = true
        return meta.outbox
    }

    /// Returns the server's reason for refusing an entry that was then withdrawn; nil for any other entry.
    private func refusal(of entry: StoredEntry) throws -> Rejection? {
        let statement = try connection.statement(
            "SELECT refusal_code, refusal_message FROM sync_outbox WHERE sequence = ?1 AND refusal_code IS NOT NULL")
        statement.bind(1, entry.sequence)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return Rejection(
            code: RejectionCode(rawValue: statement.text(0)), message: statement.text(1), mutation: nil)
    }

    /// Returns the smallest number without an outcome, or else the next number. All outcomes below it are known here.
    private func smallestUnanswered() throws -> TransactionNumber {
        let statement = try connection.statement(
            "SELECT number FROM sync_outbox WHERE number IS NOT NULL AND version IS NULL ORDER BY number LIMIT 1")
        defer { statement.reset() }
        return try statement.step() ? TransactionNumber(statement.integer(0)) : meta.nextNumber
    }

    func record(
        _ results: [TransactionResult], of identity: ClientIdentity, now: WallTime
    ) throws -> OutboxSummary {
        guard identity == meta.identity else { return meta.outbox }
        try correctClock(now: now)
        var spaces: Set<SpaceID> = []
        for result in results {
            // A number that is not in the outbox, or that already has an outcome, comes from a late or repeated
            // response.
            guard let entry = try entry(numbered: result.number), entry.version == nil else { continue }
            switch result.outcome {
            case .applied(let version, let uids, let conflicts):
                spaces.insert(entry.space)
                try recordApplied(entry, version, uids, conflicts, now: now)
                if let receipt = result.receipt, receipt.space == entry.space { try keep(receipt) }
            case .rejected where entry.asksForOutcome:
                try forgetOldestNumbers(of: entry)
            case .rejected(let rejection):
                if let unknown = try unknownName(behind: rejection, of: entry) {
                    try sendLater(entry, heldFor: unknown)
                    continue
                }
                // A withdrawn entry is sent as an empty transaction. Its recorded refusal is the reason, not the
                // rejection of the empty transaction.
                try recordRejected(entry, try refusal(of: entry) ?? rejection, now: now)
            }
        }
        for space in spaces.sorted() { try forgetResults(inVacated: space) }
        return meta.outbox
    }

    /// Removes what late results have brought into a space that the account may no longer read. No page will come.
    private func forgetResults(inVacated name: SpaceID) throws {
        guard let space = try SpaceRow.find(name, connection), !space.hasAccess else { return }
        _ = try overwritingDeletedData { try remove(space) }
    }

    private func keep(_ receipt: CommitReceipt) throws {
        var space = try SpaceRow.load(receipt.space, connection)
        guard space.stored(for: []).confirmed(by: receipt).receipt == receipt else { return }
        space.receipt = receipt
        try space.save(connection)
    }

    private func recordApplied(
        _ entry: StoredEntry, _ version: Version, _ uids: [AssignedUID], _ conflicts: [FieldConflict], now: WallTime
    ) throws {
        guard version > .zero else {
            throw StoreError(.contradiction, "an applied transaction has version \(version); expected at least 1")
        }
        let most = entry.transaction.mutations.count * SchemaLimits.fields
        guard conflicts.count <= most else {
            throw StoreError(
                .contradiction,
                "the server reports \(conflicts.count) conflicts of transaction \(entry.sequence); expected at most \(most)"
            )
        }
        for assigned in uids { try assign(assigned) }
        if meta.outbox.waiting > 0 { try removeReplacedEdits(by: entry) }
        var unnoted: [FieldConflict] = []
        for conflict in conflicts where try !isNoted(conflict) { unnoted.append(conflict) }
        if !unnoted.isEmpty { try note(merged: entry, unnoted, now: now) }

        let mark = try connection.statement("UPDATE sync_outbox SET version = ?2 WHERE sequence = ?1")
        mark.bind(1, entry.sequence)
        mark.bind(2, version.rawValue)
        try mark.run()
        meta.outbox.sent -= 1
        meta.outbox.answered += 1
        change.touchesOutbox = true

        let space = try SpaceRow.load(entry.space, connection)
        if space.showsItsVersion && space.version >= version {
            // The page arrived before the response.
            var entry = entry
            entry.version = version
            try rememberConfirmed(entry, in: space)
            try removeAndRecompute([entry])
        }
    }

    private func assign(_ assigned: AssignedUID) throws {
        let table = try table(assigned.collection, orElse: .contradiction)
        guard assigned.uid.isValid else {
            throw StoreError(
                .contradiction,
                "the server gave \(table.name) \(assigned.record) the uid \(assigned.uid); expected 0 or more"
            )
        }
        let place = RecordPlace(table: table.position, id: assigned.record)
        if let row = try row(place), row.record.uid != assigned.uid {
            try release(assigned.uid, for: assigned.record, in: table)
            // If the server has given the uid to two records, the outcome counts without the uid. The page that shows
            // the record either gives another uid, or is refused as a contradiction, which a fresh snapshot resolves.
            guard try setUID(assigned.uid, of: assigned.record, in: table) else { return }
            change.touch(assigned.collection, assigned.record)
        }
        let base = try connection.statement(
            "UPDATE sync_base SET uid = ?3 WHERE collection = ?1 AND id = ?2 AND is_deleted = 0")
        base.bind(1, table.name)
        base.bind(2, assigned.record)
        base.bind(3, assigned.uid.rawValue)
        try base.run()
    }

    /// Returns a sent entry to waiting, because an older server than the one of the last hello did not know a
    /// collection or field of the entry, or of the entry that creates its record.
    ///
    /// The number is used up, and the entry is held back until the server's models change, or until a batch has nothing
    /// else to send and the server says that it knows the name: see `releaseHeld(knownIn:)`.
    private func sendLater(_ entry: StoredEntry, heldFor unknown: String) throws {
        if meta.outbox.held == 0 { try connection.execute("DELETE FROM sync_server_models") }
        let statement = try connection.statement(
            "UPDATE sync_outbox SET number = NULL, attempts = 0, formerly = NULL WHERE sequence = ?1")
        statement.bind(1, entry.sequence)
        try statement.run()
        meta.outbox.sent -= 1
        meta.outbox.waiting += 1
        try mark(entry, heldFor: unknown)
    }

    /// Returns an entry to waiting, without its oldest former numbers, under which the server does not have it.
    ///
    /// The number under which the entry asked for its outcome is used up.
    private func forgetOldestNumbers(of entry: StoredEntry) throws {
        let statement = try connection.statement(
            "UPDATE sync_outbox SET number = NULL, attempts = 0, formerly = ?2 WHERE sequence = ?1")
        statement.bind(1, entry.sequence)
        statement.bind(2, FormerNumbers.text(of: Array(entry.formerly.dropFirst(SchemaLimits.formerNumbers))))
        try statement.run()
        meta.outbox.sent -= 1
        meta.outbox.waiting += 1
        change.touchesOutbox = true
    }

    /// Returns the collection or field that the server has to learn before it can accept an entry that it has rejected;
    /// nil if the rejection has another reason.
    ///
    /// The server does not know the name itself, or it does not know a record, because it did not know a name in the
    /// transaction that creates the record.
    private func unknownName(behind rejection: Rejection, of entry: StoredEntry) throws -> String? {
        switch rejection.code {
        case .unknownCollection, .unknownField: rejection.unknownName(in: entry.transaction)
        case .missingRecord, .danglingReference: try reasonOfHeldCreation(neededBy: entry)
        default: nil
        }
    }

    private func recordRejected(
        _ entry: StoredEntry, _ rejection: Rejection, now: WallTime
    ) throws {
        let dependants = try waitingDependants(of: entry)
        try note(rejected: entry, rejection, now: now)
        for dependant in dependants {
            let reason = Rejection(
                code: .dependsOnRejected,
                message: "transaction \(dependant.sequence) depends on \(entry.sequence), which was rejected: "
                    + rejection.message, mutation: nil)
            try note(rejected: dependant, reason, now: now)
        }
        try removeAndRecompute([entry] + dependants)
    }
}

extension Rejection {
    /// The collection that the server does not know, or that has a field that the server does not know; nil if the
    /// rejection does not name a mutation.
    fileprivate func unknownName(in transaction: Transaction) -> String? {
        guard let mutation, transaction.mutations.indices.contains(mutation) else { return nil }
        return transaction.mutations[mutation].collection.rawValue
    }
}
