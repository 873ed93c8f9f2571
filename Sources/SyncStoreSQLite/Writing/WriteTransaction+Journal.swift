import SyncCore
import SyncModel

// The journal: what was refused, cancelled, merged or forgotten, kept until the user has seen it.
extension WriteTransaction {
    func note(
        rejected entry: StoredEntry, _ rejection: Rejection, now: WallTime
    ) throws(StoreFailure) {
        try insert(event: "rejected", entry: entry, rejection: rejection, now: now)
    }

    func note(cancelled entry: StoredEntry, now: WallTime) throws(StoreFailure) {
        try insert(event: "cancelled", entry: entry, rejection: nil, now: now)
    }

    func note(merged entry: StoredEntry, _ conflicts: [FieldConflict], now: WallTime) throws(StoreFailure) {
        let journal = try insert(event: "merged", entry: entry, rejection: nil, now: now)
        let statement = try connection.statement(
            """
            INSERT INTO sync_conflict (journal, position, collection, id, field, rule, base,
                winner, winner_time, winner_client, loser, loser_time, loser_client)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            """)
        for (position, conflict) in conflicts.enumerated() {
            statement.bind(1, journal)
            statement.bind(2, Int64(position))
            statement.bind(3, conflict.collection.rawValue)
            statement.bind(4, conflict.record)
            statement.bind(5, conflict.field.rawValue)
            statement.bind(6, conflict.rule.rawValue)
            statement.bind(7, text: try StoredForm.bytes(of: [conflict.field: conflict.base]))
            statement.bind(8, text: try StoredForm.bytes(of: [conflict.field: conflict.winner.value]))
            statement.bind(9, Int64(bitPattern: conflict.winner.stamp.time.rawValue))
            statement.bind(10, conflict.winner.stamp.client.description)
            statement.bind(11, text: try StoredForm.bytes(of: [conflict.field: conflict.loser.value]))
            statement.bind(12, Int64(bitPattern: conflict.loser.stamp.time.rawValue))
            statement.bind(13, conflict.loser.stamp.client.description)
            try statement.run()
        }
    }

    /// What only a lost history of the server had, as what would bring it back.
    func note(forgotten transaction: Transaction, now: WallTime) throws(StoreFailure) {
        try insert(
            event: "forgotten", in: transaction.space, sequence: nil, payload: try StoredForm.bytes(of: transaction),
            rejection: nil, now: now)
    }

    @discardableResult
    private func insert(
        event: String, entry: StoredEntry, rejection: Rejection?, now: WallTime
    ) throws(StoreFailure) -> Int64 {
        let payload = event == "merged" ? nil : try StoredForm.bytes(of: entry.transaction)
        return try insert(
            event: event, in: entry.space, sequence: entry.sequence, payload: payload, rejection: rejection, now: now)
    }

    @discardableResult
    private func insert(
        event: String, in space: SpaceID, sequence: Int64?, payload: [UInt8]?, rejection: Rejection?, now: WallTime
    ) throws(StoreFailure) -> Int64 {
        let statement = try connection.statement(
            """
            INSERT INTO sync_journal (at, sequence, event, state, payload, code, message, mutation, space)
            VALUES (?1, ?2, ?3, 'active', ?4, ?5, ?6, ?7, ?8) RETURNING number
            """)
        statement.bind(1, now.milliseconds)
        statement.bind(2, sequence)
        statement.bind(3, event)
        if let payload { statement.bind(4, text: payload) } else { statement.bind(4, nil as String?) }
        statement.bind(5, rejection?.code.rawValue)
        statement.bind(6, rejection?.message)
        statement.bind(7, rejection?.mutation.map(Int64.init))
        statement.bind(8, space.rawValue)
        var number: Int64 = 0
        while try statement.step() { number = statement.integer(0) }
        meta.outbox.journal += 1
        change.touchesOutbox = true
        try forgetOldest(below: number)
        return number
    }

    /// Keeps the journal within its limit; what nobody has seen stays, whatever the limit says.
    private func forgetOldest(below number: Int64) throws(StoreFailure) {
        let oldest = number - Int64(limits.journalEntries)
        guard oldest > 0 else { return }
        let settled = try connection.statement(
            """
            UPDATE sync_meta SET forgotten_up_to = max(forgotten_up_to, coalesce(
                (SELECT max(sequence) FROM sync_journal
                WHERE number <= ?1 AND state <> 'active' AND event IN ('rejected', 'cancelled')), 0))
            """)
        settled.bind(1, oldest)
        try settled.run()
        let conflicts = try connection.statement(
            """
            DELETE FROM sync_conflict WHERE journal IN
                (SELECT number FROM sync_journal WHERE number <= ?1 AND state <> 'active')
            """)
        conflicts.bind(1, oldest)
        try conflicts.run()
        let entries = try connection.statement("DELETE FROM sync_journal WHERE number <= ?1 AND state <> 'active'")
        entries.bind(1, oldest)
        try entries.run()
    }

    func setState(_ state: JournalEntry.State, of journal: JournalEntry) throws(StoreFailure) {
        guard journal.state != state else { return }
        let statement = try connection.statement("UPDATE sync_journal SET state = ?2 WHERE number = ?1")
        statement.bind(1, journal.number)
        statement.bind(2, state.rawValue)
        try statement.run()
        if journal.state == .active { meta.outbox.journal -= 1 }
        change.touchesOutbox = true
    }

    // MARK: What people do with it

    func cancel(_ sequence: OutboxSequence, now: WallTime) throws(StoreFailure) {
        guard let entry = try entry(sequence.rawValue) else {
            throw StoreFailure(.missingEntry, "there is no transaction \(sequence) in the outbox")
        }
        guard entry.number == nil else {
            throw StoreFailure(
                .entryIsFrozen,
                "transaction \(sequence) has been sent: the server may have it, so it cannot be cancelled")
        }
        let entries = try [entry] + waitingDependants(of: entry)
        for entry in entries { try note(cancelled: entry, now: now) }
        try removeAndRecompute(entries)
    }

    func dismiss(journal number: Int64) throws(StoreFailure) {
        let entry = try journalEntry(number)
        if entry.state == .active { try setState(.dismissed, of: entry) }
    }

    func resend(journal number: Int64, now: WallTime) throws(StoreFailure) -> [OutboxSequence] {
        let entry = try journalEntry(number)
        let plan = try ResendPlan(of: entry, catalog: catalog) { (collection, id) throws(StoreFailure) in
            try connection.table(try table(collection).position).space(of: id, on: connection)
        }
        var sequences: [OutboxSequence] = []
        for edits in plan.transactions {
            // Nothing was left to say; or edits of one record have joined.
            guard let sequence = try commit(edits, in: plan.space, now: now), sequences.last != sequence else {
                continue
            }
            sequences.append(sequence)
        }
        if !plan.left.isEmpty { try note(forgotten: Transaction(space: plan.space, mutations: plan.left), now: now) }
        try setState(.resent, of: entry)
        return sequences
    }

    private func journalEntry(_ number: Int64) throws(StoreFailure) -> JournalEntry {
        guard let entry = try JournalReading.entry(number, connection) else {
            throw StoreFailure(.missingEntry, "there is no entry \(number) in the journal")
        }
        return entry
    }
}
