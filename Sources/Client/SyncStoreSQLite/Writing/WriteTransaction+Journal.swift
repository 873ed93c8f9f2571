import SQLiteDatabase
import SyncCore
import SyncModel

// The journal keeps rejected, cancelled, merged, overwritten, and lost changes at least until the user has handled
// them. An entry about removed notices keeps none.
extension WriteTransaction {
    func note(
        rejected entry: StoredEntry, _ rejection: Rejection, now: WallTime
    ) throws {
        try insert(event: "rejected", entry: entry, rejection: rejection, now: now)
    }

    func note(cancelled entry: StoredEntry, now: WallTime) throws {
        try insert(event: "cancelled", entry: entry, rejection: nil, now: now)
    }

    func note(merged entry: StoredEntry, _ conflicts: [FieldConflict], now: WallTime) throws {
        try note(conflicts, as: "merged", in: entry.space, sequence: entry.sequence, payload: nil, now: now)
    }

    /// Whether the journal already has a conflict.
    ///
    /// A device may learn of one conflict twice: from the outcome of a push and from a notice, in either order, and
    /// again under a new client id or in another history of the server. Edits from a clock that was set back may have
    /// the same stamp, so the losing value is compared as well.
    func isNoted(_ conflict: FieldConflict) throws -> Bool {
        let known = try connection.statement(
            """
            SELECT 1 FROM sync_conflict WHERE collection = ?1 AND id = ?2 AND field = ?3 AND loser_time = ?4
                AND loser_client = ?5 AND winner_time = ?6 AND winner_client = ?7 AND loser = ?8 LIMIT 1
            """)
        known.bind(1, conflict.collection.rawValue)
        known.bind(2, conflict.record)
        known.bind(3, conflict.field.rawValue)
        known.bind(4, Int64(bitPattern: conflict.loser.stamp.time.rawValue))
        known.bind(5, conflict.loser.stamp.client.description)
        known.bind(6, Int64(bitPattern: conflict.winner.stamp.time.rawValue))
        known.bind(7, conflict.winner.stamp.client.description)
        known.bind(8, text: try StoredForm.bytes(of: [conflict.field: conflict.loser.value]))
        defer { known.reset() }
        return try known.step()
    }

    /// Notes values of this device that were overwritten after the server had applied them.
    ///
    /// - Parameters:
    ///   - conflicts: the conflicts of one commit.
    ///   - deleted: a transaction that creates the records again that the commit deleted; nil when it deleted none.
    func note(
        overwritten conflicts: [FieldConflict], deleted: Transaction?, in space: SpaceID, now: WallTime
    ) throws {
        let payload: [UInt8]? = if let deleted { try StoredForm.bytes(of: deleted) } else { nil }
        try note(conflicts, as: "overwritten", in: space, sequence: nil, payload: payload, now: now)
    }

    /// Notes that the server has removed notices about values of this device before the device fetched them. One entry
    /// that nobody has dismissed says it for all.
    func noteNoticesRemoved(in space: SpaceID, now: WallTime) throws {
        let known = try connection.statement(
            """
            SELECT 1 FROM sync_journal WHERE state = 'active' AND event = 'notices_removed' AND space = ?1 LIMIT 1
            """)
        known.bind(1, space.rawValue)
        guard try known.first({ $0.integer(0) }) == nil else { return }
        try insert(event: "notices_removed", in: space, sequence: nil, payload: nil, rejection: nil, now: now)
    }

    private func note(
        _ conflicts: [FieldConflict], as event: String, in space: SpaceID, sequence: Int64?, payload: [UInt8]?,
        now: WallTime
    ) throws {
        let values = try conflicts.map { (conflict) in
            try [conflict.base, conflict.winner.value, conflict.loser.value].map { (value) in
                try StoredForm.bytes(of: [conflict.field: value])
            }
        }
        let bytes = values.reduce(0) { $0 + $1.reduce(StoreLimits.conflictOverhead) { $0 + $1.count } }
        let journal = try insert(
            event: event, in: space, sequence: sequence, payload: payload,
            records: try recordsNeeded(by: conflicts, in: space).stored(in: space), otherBytes: bytes, rejection: nil,
            now: now)
        let statement = try connection.statement(
            """
            INSERT INTO sync_conflict (journal, position, collection, id, field, rule, base,
                winner, winner_time, winner_client, winner_account, loser, loser_time, loser_client, loser_account)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
            """)
        for (position, conflict) in conflicts.enumerated() {
            statement.bind(1, journal)
            statement.bind(2, Int64(position))
            statement.bind(3, conflict.collection.rawValue)
            statement.bind(4, conflict.record)
            statement.bind(5, conflict.field.rawValue)
            statement.bind(6, conflict.rule.rawValue)
            statement.bind(7, text: values[position][0])
            bind(conflict.winner, values[position][1], to: statement, from: 8)
            bind(conflict.loser, values[position][2], to: statement, from: 12)
            try statement.run()
        }
    }

    private func bind(_ side: Contender, _ value: [UInt8], to statement: Statement, from column: Int32) {
        statement.bind(column, text: value)
        statement.bind(column + 1, Int64(bitPattern: side.stamp.time.rawValue))
        statement.bind(column + 2, side.stamp.client.description)
        statement.bind(column + 3, side.account?.rawValue)
    }

    /// Notes changes that only a lost history of the server had, as the transaction that would bring them back.
    ///
    /// - Parameters:
    ///   - known: creates of records that restoring the entry may need, and that may no longer be on this device.
    ///   - own: the changes that this device wrote.
    func note(
        lost transaction: Transaction, keeping known: [Mutation] = [], own: OwnChanges, now: WallTime
    ) throws {
        var kept = try recordsNeeded(by: transaction)
        for create in known { kept.add(create) }
        try insert(
            event: "lost", in: transaction.space, sequence: nil, payload: try StoredForm.bytes(of: transaction),
            records: try kept.stored(in: transaction.space), isOwn: own == .all,
            ownPart: try ownPart(of: transaction, own), rejection: nil, now: now)
    }

    /// Whether an entry that nobody has decided about offers a lost transaction, and keeps what this device wrote of
    /// it.
    ///
    /// A later entry about one of the records may offer another value, which would then count as the newest one.
    func isOffered(lost transaction: Transaction, own: OwnChanges) throws -> Bool {
        // A transaction offers each change once. Comparing the entries that it has added would take the square of their
        // number.
        let newest = try newestBeforeOffers ?? newestEntry()
        newestBeforeOffers = newest
        let known = try connection.statement(
            """
            SELECT number FROM sync_journal WHERE state = 'active' AND event = 'lost' AND space = ?1 AND payload = ?2
                AND (own = 1 OR (?3 = 0 AND (?4 IS NULL OR own_part = ?4))) AND number <= ?5 ORDER BY number DESC LIMIT 1
            """)
        known.bind(5, newest)
        known.bind(1, transaction.space.rawValue)
        known.bind(2, text: try StoredForm.bytes(of: transaction))
        known.bind(3, own == .all ? 1 : 0)
        if let part = try ownPart(of: transaction, own) {
            known.bind(4, text: part)
        } else {
            known.bind(4, nil as String?)
        }
        guard let number = try known.first({ $0.integer(0) }) else { return false }
        let records = Set(transaction.mutations.map(\.record))
        let later = try connection.statement(
            "SELECT payload FROM sync_journal WHERE state = 'active' AND event = 'lost' AND space = ?1 AND number > ?2")
        later.bind(1, transaction.space.rawValue)
        later.bind(2, number)
        defer { later.reset() }
        while try later.step() {
            let other = try StoredForm.transaction(from: later.bytes(0), of: "a journal entry")
            if other.mutations.contains(where: { records.contains($0.record) }) { return false }
        }
        return true
    }

    private func newestEntry() throws -> Int64 {
        let statement = try connection.statement("SELECT max(number) FROM sync_journal")
        return try statement.first { $0.integer(0) } ?? 0
    }

    /// Returns the stored form of the part of a lost transaction that this device wrote; nil if it wrote all or
    /// nothing.
    private func ownPart(of lost: Transaction, _ own: OwnChanges) throws -> [UInt8]? {
        guard case .part(let part) = own.among(lost.mutations) else { return nil }
        return try StoredForm.bytes(of: Transaction(space: lost.space, mutations: part))
    }

    /// Returns the changes of a lost entry that this device wrote, as far as it knows.
    func ownChanges(of entry: JournalEntry) throws -> OwnChanges {
        let statement = try connection.statement("SELECT own, own_part FROM sync_journal WHERE number = ?1")
        statement.bind(1, entry.number)
        defer { statement.reset() }
        guard try statement.step() else { return .nothing }
        if statement.integer(0) != 0 { return .all }
        guard !statement.isNull(1) else { return .nothing }
        let place = "the own part of journal entry \(entry.number)"
        return .part(try StoredForm.transaction(from: statement.bytes(1), of: place).mutations)
    }

    @discardableResult
    private func insert(
        event: String, entry: StoredEntry, rejection: Rejection?, now: WallTime
    ) throws -> Int64 {
        try insert(
            event: event, in: entry.space, sequence: entry.sequence,
            payload: try StoredForm.bytes(of: entry.transaction),
            records: try recordsNeeded(by: entry.transaction).stored(in: entry.space), rejection: rejection, now: now)
    }

    /// Inserts an entry, and deletes handled entries that no longer fit.
    ///
    /// - Parameter otherBytes: the bytes of the entry in other tables.
    /// - Returns: the number of the entry.
    @discardableResult
    private func insert(
        event: String, in space: SpaceID, sequence: Int64?, payload: [UInt8]?, records: [UInt8]? = nil,
        otherBytes: Int = 0, isOwn: Bool = false, ownPart: [UInt8]? = nil, rejection: Rejection?, now: WallTime
    ) throws -> Int64 {
        let message = rejection.map { $0.message.clipped(to: StoreLimits.rejectionMessageBytes) }
        let fields = rejection.flatMap { RejectedFields.text($0.fields) }
        let bytes = Int64(
            (payload?.count ?? 0) + (records?.count ?? 0) + (ownPart?.count ?? 0) + (message?.utf8.count ?? 0)
                + (fields?.utf8.count ?? 0) + otherBytes)
        let statement = try connection.statement(
            """
            INSERT INTO sync_journal (at, sequence, event, state, payload, code, message, mutation, space, bytes,
                records, fields, own, own_part)
            VALUES (?1, ?2, ?3, 'active', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) RETURNING number
            """)
        statement.bind(1, now.milliseconds)
        statement.bind(2, sequence)
        statement.bind(3, event)
        if let payload { statement.bind(4, text: payload) } else { statement.bind(4, nil as String?) }
        statement.bind(5, rejection?.code.rawValue)
        statement.bind(6, message)
        statement.bind(7, rejection?.mutation.map(Int64.init))
        statement.bind(8, space.rawValue)
        statement.bind(9, bytes)
        if let records { statement.bind(10, text: records) } else { statement.bind(10, nil as String?) }
        statement.bind(11, fields)
        statement.bind(12, isOwn ? 1 : 0)
        if let ownPart { statement.bind(13, text: ownPart) } else { statement.bind(13, nil as String?) }
        var number: Int64 = 0
        while try statement.step() { number = statement.integer(0) }
        meta.outbox.activeJournalEntries += 1
        meta.journal.entries += 1
        meta.journal.bytes += bytes
        meta.journal.activeBytes += bytes
        change.touchesOutbox = true
        try deleteHandledEntries()
        return number
    }

    /// Deletes the oldest handled entries while the journal exceeds its limits.
    func deleteHandledEntries() throws {
        while meta.journal.entries > limits.journalEntries || meta.journal.bytes > limits.journalBytes {
            guard meta.journal.entries > meta.outbox.activeJournalEntries else { return }
            let entry = try connection.statement(
                """
                DELETE FROM sync_journal WHERE number =
                    (SELECT number FROM sync_journal WHERE state <> 'active' ORDER BY number LIMIT 1)
                RETURNING number, bytes, iif(event IN ('rejected', 'cancelled'), coalesce(sequence, 0), 0)
                """)
            var number: Int64?
            var settled: Int64 = 0
            while try entry.step() {
                number = entry.integer(0)
                meta.journal.entries -= 1
                meta.journal.bytes -= try entry.count(1, "the size of a journal entry")
                settled = entry.integer(2)
            }
            guard let number else {
                throw StoreError(
                    .corrupt,
                    "sync_meta counts \(meta.journal.entries) journal entries and \(meta.outbox.activeJournalEntries) active ones, but no handled entry exists"
                )
            }
            let conflicts = try connection.statement("DELETE FROM sync_conflict WHERE journal = ?1")
            conflicts.bind(1, number)
            try conflicts.run()
            guard settled > 0 else { continue }
            let unknown = try connection.statement(
                "UPDATE sync_meta SET fate_unknown_up_to = max(fate_unknown_up_to, ?1)")
            unknown.bind(1, settled)
            try unknown.run()
        }
    }

    /// Throws `journalFull` when the journal has too many unhandled entries for a new edit (decision 22).
    ///
    /// Entries about earlier edits are always written. The limits of the outbox bound their number.
    func checkRoomInJournal() throws {
        guard isJournalFull else { return }
        throw journalFull(before: "a new edit")
    }

    var isJournalFull: Bool {
        meta.outbox.activeJournalEntries >= limits.activeJournalEntries
            || meta.journal.activeBytes >= limits.activeJournalBytes
    }

    func journalFull(before what: String) -> StoreError {
        StoreError(
            .journalFull,
            "the journal holds \(meta.outbox.activeJournalEntries) unhandled entries with \(meta.journal.activeBytes) bytes; at most \(limits.activeJournalEntries) entries and \(limits.activeJournalBytes) bytes are allowed before \(what)"
        )
    }

    func setState(_ state: JournalEntry.State, of journal: JournalEntry) throws {
        guard journal.state != state else { return }
        let statement = try connection.statement(
            "UPDATE sync_journal SET state = ?2 WHERE number = ?1 RETURNING bytes")
        statement.bind(1, journal.number)
        statement.bind(2, state.rawValue)
        while try statement.step() {
            guard journal.state == .active else { continue }
            meta.outbox.activeJournalEntries -= 1
            meta.journal.activeBytes -= try statement.count(0, "the size of a journal entry")
        }
        change.touchesOutbox = true
        try deleteHandledEntries()
    }

    // MARK: Actions of the user

    func cancel(_ sequence: OutboxSequence, now: WallTime) throws {
        guard let entry = try entry(sequence.rawValue) else {
            throw StoreError(.missingEntry, "there is no transaction \(sequence) in the outbox")
        }
        guard entry.isUnsent else {
            throw StoreError(
                .entryIsFrozen,
                "transaction \(sequence) has been sent: the server may have it, so it cannot be cancelled")
        }
        let entries = try [entry] + waitingDependants(of: entry)
        for entry in entries { try note(cancelled: entry, now: now) }
        try removeAndRecompute(entries)
    }

    func dismiss(journal number: Int64) throws {
        let entry = try journalEntry(number)
        if entry.state == .active { try setState(.dismissed, of: entry) }
    }

    func dismissJournal(upTo number: Int64) throws -> Int {
        let statement = try connection.statement(
            "UPDATE sync_journal SET state = 'dismissed' WHERE number <= ?1 AND state = 'active' RETURNING bytes")
        statement.bind(1, number)
        var count = 0
        while try statement.step() {
            count += 1
            meta.journal.activeBytes -= try statement.count(0, "the size of a journal entry")
        }
        guard count > 0 else {
            rollsBack = true
            return 0
        }
        meta.outbox.activeJournalEntries -= count
        change.touchesOutbox = true
        try deleteHandledEntries()
        return count
    }

    func journalEntry(_ number: Int64) throws -> JournalEntry {
        guard let entry = try JournalReading.entry(number, connection) else {
            throw StoreError(.missingEntry, "there is no entry \(number) in the journal")
        }
        return entry
    }
}

/// The changes of a lost entry that this device wrote, as far as it knows. They stay when the account loses access to
/// the space.
enum OwnChanges: Hashable {
    case nothing
    /// Some of the changes, or parts of them.
    case part([Mutation])
    case all

    /// Returns the part of these changes.
    func among(_ changes: [Mutation]) -> OwnChanges {
        guard case .part(let own) = self else { return self }
        let byRecord = Dictionary(grouping: changes, by: \.address)
        let part = own.compactMap { mutation -> Mutation? in
            guard let changes = byRecord[mutation.address] else { return nil }
            if changes.contains(where: \.isCreate) { return mutation }
            // The others have been restored already.
            let fields = Set(changes.flatMap { $0.patch.map(\.field) })
            return mutation.part(where: fields.contains)
        }
        return part.isEmpty ? .nothing : .part(part)
    }
}

extension Mutation {
    fileprivate var isCreate: Bool { if case .create = intent { true } else { false } }
}

extension String {
    /// Returns the longest prefix of whole characters that fits into `limit` bytes of UTF-8.
    func clipped(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var result = ""
        var bytes = 0
        for character in self {
            bytes += character.utf8.count
            if bytes > limit { break }
            result.append(character)
        }
        return result
    }
}
