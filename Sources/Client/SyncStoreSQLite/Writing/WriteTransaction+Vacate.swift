import SQLiteDatabase
import SyncCore
import SyncModel

// Removes a space from the device when the account may no longer read it (I21).
extension WriteTransaction {
    func vacate(
        _ name: SpaceID, of epoch: Epoch, brake: DeleteBrake?, now: WallTime
    ) throws -> VacateResult {
        guard var space = try SpaceRow.find(name, connection) else {
            rollsBack = true
            return .vacated(
                VacatedSpace(stored: StoredSpace(unfollowed: name), outbox: meta.outbox, removedRecords: 0))
        }
        guard meta.epoch == epoch else {
            rollsBack = true
            return .vacated(
                VacatedSpace(stored: try stored(space), outbox: meta.outbox, removedRecords: 0))
        }
        if brake != nil {
            let unproven = try countUnproven(in: space)
            if unproven > 0 {
                rollsBack = true
                return .braked(deletes: unproven, of: unproven)
            }
        }
        let hadAccess = space.hasAccess
        if !space.showsItsVersion { try keepOwnLostValues(in: space, now: now) }
        let (removed, changes) = try overwritingDeletedData { try remove(space) }
        guard hadAccess || changes else {
            rollsBack = true
            return .vacated(
                VacatedSpace(stored: try stored(space), outbox: meta.outbox, removedRecords: 0))
        }
        try reset(space, inSameHistory: true)
        space = try SpaceRow.load(name, connection)
        space.hasAccess = false
        // If the account gets access again, the server sends all notices again, because the journal has lost their
        // entries.
        space.notice = 0
        space.noticeFingerprint = nil
        try space.save(connection)
        return .vacated(
            VacatedSpace(stored: try stored(space), outbox: meta.outbox, removedRecords: removed))
    }

    /// Calls `body` while SQLite overwrites the pages and parts of pages that become free. Otherwise, a deleted row
    /// could still be read in the file.
    func overwritingDeletedData<Value>(_ body: () throws -> Value) throws -> Value {
        let usual = try connection.integer(of: "PRAGMA secure_delete")
        try connection.execute("PRAGMA secure_delete = ON")
        defer { try? connection.execute("PRAGMA secure_delete = \(usual == 2 ? "FAST" : "\(usual)")") }
        return try body()
    }

    /// Removes everything that a server has shown of a space, the answered transactions, and the values of others in
    /// the journal.
    ///
    /// - Returns: The number of records that a server had shown, and whether transactions or entries of the journal
    ///   were removed.
    func remove(_ space: SpaceRow) throws -> (records: Int, changes: Bool) {
        var removed = 0
        if space.hasAccess {
            try storeBases()
            for table in tables { removed += try removeShown(in: table, of: space) }
            try vacateForeign(in: space)
        }
        let answered = try answeredEntries(in: space.space, upTo: nil)
        try rememberUnshown(answered, in: space)
        try removeAndRecompute(answered)
        let forgotten = try forgetWhatOthersWrote(in: space.space)
        return (removed, !answered.isEmpty || forgotten > 0)
    }

    /// Returns the number of records that only a lost history has shown; 0 once the current history has shown the whole
    /// space.
    ///
    /// Until then, nothing proves that the current history decides what may be read here.
    private func countUnproven(in space: SpaceRow) throws -> Int {
        guard !space.showsItsVersion else { return 0 }
        var count = 0
        for table in tables {
            let former = try connection.statement(
                composed:
                    """
                    SELECT (SELECT count(*) FROM \(table.quoted) AS live WHERE sync_space = ?1 AND version = 0 AND NOT EXISTS
                        (SELECT 1 FROM sync_pending WHERE collection = ?2 AND id = live.id AND link = 'changes'))
                    + (SELECT count(*) FROM sync_base
                        WHERE collection = ?2 AND is_deleted = 0 AND space = ?1 AND version = 0)
                    """)
            former.bind(1, space.key)
            former.bind(2, table.name)
            defer { former.reset() }
            if try former.step() { count += Int(former.integer(0)) }
        }
        // The current history has shown nothing yet. If the history before it had nothing of the space either, the lost
        // records exist only as offers in the journal.
        guard space.phase == .empty, space.completeAt == .zero else { return count }
        let offers = try connection.statement(
            "SELECT count(*) FROM sync_journal WHERE event = 'lost' AND own = 0 AND state = 'active' AND space = ?1")
        offers.bind(1, space.space.rawValue)
        defer { offers.reset() }
        return try offers.step() ? count + Int(offers.integer(0)) : count
    }

    /// Removes the records of a collection that the server has shown. A record with pending changes keeps only those
    /// changes.
    ///
    /// - Returns: the number of records that a server had shown.
    private func removeShown(in table: RecordTable, of space: SpaceRow) throws -> Int {
        if try followsLostHistory() {
            let former = try connection.statement(
                composed:
                    """
                    DELETE FROM sync_former WHERE collection = ?2 AND id IN
                        (SELECT id FROM \(table.quoted) WHERE sync_space = ?1
                        UNION ALL SELECT id FROM sync_base WHERE collection = ?2 AND space = ?1)
                    """)
            former.bind(1, space.key)
            former.bind(2, table.name)
            try former.run()
        }

        // The base of a deleted record stays while edits of the record wait. It keeps the record from coming back, and
        // its values are cleared.
        let bases = try connection.statement(
            "SELECT id FROM sync_base WHERE space = ?1 AND collection = ?2 AND is_deleted = 0 ORDER BY id")
        bases.bind(1, space.key)
        bases.bind(2, table.name)
        let pending = try places(in: table, from: bases)
        for place in pending {
            try dropBase(place)
            try recompute(place)
        }
        let deleted = try connection.statement(
            "UPDATE sync_base SET fields = '{}' WHERE space = ?1 AND collection = ?2 AND is_deleted = 1")
        deleted.bind(1, space.key)
        deleted.bind(2, table.name)
        try deleted.run()
        let kept = try connection.statement("DELETE FROM sync_deleted WHERE space = ?1 AND collection = ?2")
        kept.bind(1, space.key)
        kept.bind(2, table.name)
        try kept.run()

        let settled = try connection.statement(
            composed:
                """
                SELECT id FROM \(table.quoted) AS live WHERE sync_space = ?1 AND NOT EXISTS
                    (SELECT 1 FROM sync_pending WHERE collection = ?2 AND id = live.id AND link = 'changes')
                ORDER BY id
                """)
        settled.bind(1, space.key)
        settled.bind(2, table.name)
        let gone = try places(in: table, from: settled)
        for place in gone { try deleteRow(place) }
        return pending.count + gone.count
    }

    /// Deletes the journal entries that hold the server's data: conflicts, with both of their sides, and offers of a
    /// lost history. Offers of what this device wrote stay.
    ///
    /// - Returns: the number of deleted or reduced entries.
    private func forgetWhatOthersWrote(in space: SpaceID) throws -> Int {
        let reduced = try reduceToOwnPart(in: space)
        let conflicts = try connection.statement(
            """
            DELETE FROM sync_conflict WHERE journal IN
                (SELECT number FROM sync_journal
                    WHERE event IN ('merged', 'overwritten', 'lost') AND own = 0 AND coalesce(space, ?1) = ?1)
            """)
        conflicts.bind(1, space.rawValue)
        try conflicts.run()
        let entries = try connection.statement(
            """
            DELETE FROM sync_journal
            WHERE event IN ('merged', 'overwritten', 'notices_removed', 'lost') AND own = 0 AND coalesce(space, ?1) = ?1
            RETURNING state = 'active', bytes
            """)
        entries.bind(1, space.rawValue)
        var count = 0
        while try entries.step() {
            count += 1
            meta.journal.entries -= 1
            meta.journal.bytes -= try entries.count(1, "the size of a journal entry")
            if entries.integer(0) != 0 {
                meta.outbox.activeJournalEntries -= 1
                meta.journal.activeBytes -= try entries.count(1, "the size of a journal entry")
            }
            change.touchesOutbox = true
        }
        try forgetRecords(in: space)
        return count + reduced
    }

    /// Reduces each offer of which this device wrote only a part to that part.
    ///
    /// - Returns: the number of reduced entries.
    private func reduceToOwnPart(in space: SpaceID) throws -> Int {
        let entries = try connection.statement(
            """
            SELECT number, state = 'active', bytes, length(CAST(own_part AS BLOB)) FROM sync_journal
            WHERE own_part IS NOT NULL AND coalesce(space, ?1) = ?1
            """)
        entries.bind(1, space.rawValue)
        var count = 0
        while try entries.step() {
            count += 1
            let saved = try entries.count(2, "the size of a journal entry") - entries.integer(3)
            meta.journal.bytes -= saved
            if entries.integer(1) != 0 { meta.journal.activeBytes -= saved }
            change.touchesOutbox = true
        }
        entries.reset()
        guard count > 0 else { return 0 }
        let update = try connection.statement(
            """
            UPDATE sync_journal SET payload = own_part, own_part = NULL, own = 1, records = NULL,
                bytes = length(CAST(own_part AS BLOB))
            WHERE own_part IS NOT NULL AND coalesce(space, ?1) = ?1
            """)
        update.bind(1, space.rawValue)
        try update.run()
        return count
    }

    /// Clears the records in the remaining journal entries, because they contain values that others wrote.
    private func forgetRecords(in space: SpaceID) throws {
        let sizes = try connection.statement(
            """
            SELECT number, state = 'active', length(CAST(records AS BLOB)) FROM sync_journal
            WHERE records IS NOT NULL AND coalesce(space, ?1) = ?1
            """)
        sizes.bind(1, space.rawValue)
        while try sizes.step() {
            meta.journal.bytes -= try sizes.count(2, "the size of a journal entry")
            if sizes.integer(1) != 0 { meta.journal.activeBytes -= try sizes.count(2, "the size of a journal entry") }
        }
        sizes.reset()
        let records = try connection.statement(
            """
            UPDATE sync_journal SET bytes = bytes - length(CAST(records AS BLOB)), records = NULL
            WHERE records IS NOT NULL AND coalesce(space, ?1) = ?1
            """)
        records.bind(1, space.rawValue)
        try records.run()
    }
}
