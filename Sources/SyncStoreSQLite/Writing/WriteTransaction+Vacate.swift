import SyncCore
import SyncModel

// What the server has shown of a space leaves the device when the account may not read it any more (I21).
extension WriteTransaction {
    func vacate(_ name: SpaceID) throws(StoreFailure) -> VacatedSpace {
        var space = try SpaceRow.load(name, connection)
        let answered = try answeredEntries(in: name, upTo: nil)
        guard space.hasAccess || !answered.isEmpty else {
            rollsBack = true
            return VacatedSpace(stored: space.stored, outbox: meta.outbox, removedRecords: 0)
        }
        // Pages that become free, and parts of pages, are overwritten: a row that is only unlinked can still be read in the file.
        try connection.execute("PRAGMA secure_delete = ON")
        defer { try? connection.execute("PRAGMA secure_delete = OFF") }
        var removed = 0
        for table in tables { removed += try removeShown(in: table, of: space) }
        try removeAndRecompute(answered)
        try forgetWhatOthersWrote(in: name)
        try reset(space, inSameHistory: true)
        space = try SpaceRow.load(name, connection)
        space.hasAccess = false
        try space.save(connection)
        return VacatedSpace(stored: space.stored, outbox: meta.outbox, removedRecords: removed)
    }

    /// Takes away what the server has shown of a collection. Of records with pending changes only these are left.
    ///
    /// - Returns: how many records a server had shown.
    private func removeShown(in table: RecordTable, of space: SpaceRow) throws(StoreFailure) -> Int {
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

        // That a record was deleted stays known while something waits for it: it holds nothing, and keeps it from coming back.
        let bases = try connection.statement(
            "SELECT id FROM sync_base WHERE space = ?1 AND collection = ?2 AND is_deleted = 0 ORDER BY id")
        bases.bind(1, space.key)
        bases.bind(2, table.name)
        let pending = try places(in: table, from: bases)
        for place in pending {
            try dropBase(place)
            try recompute(place)
        }

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

    /// Takes out of the journal what is not this device's own: both sides of conflicts, and what a lost history had.
    private func forgetWhatOthersWrote(in space: SpaceID) throws(StoreFailure) {
        let conflicts = try connection.statement(
            """
            DELETE FROM sync_conflict WHERE journal IN
                (SELECT number FROM sync_journal WHERE event IN ('merged', 'forgotten') AND coalesce(space, ?1) = ?1)
            """)
        conflicts.bind(1, space.rawValue)
        try conflicts.run()
        let entries = try connection.statement(
            """
            DELETE FROM sync_journal WHERE event IN ('merged', 'forgotten') AND coalesce(space, ?1) = ?1
            RETURNING state = 'active'
            """)
        entries.bind(1, space.rawValue)
        while try entries.step() {
            if entries.integer(0) != 0 { meta.outbox.journal -= 1 }
            change.touchesOutbox = true
        }
    }
}
