import SQLiteDatabase
import SyncCore
import SyncModel

// Changes the set of spaces that the device keeps in sync.
extension WriteTransaction {
    func follow(_ space: SpaceID) throws -> Bool {
        guard try SpaceRow.find(space, connection) == nil else {
            rollsBack = true
            return false
        }
        _ = try SpaceRow.load(space, connection)
        change.touchesSpaces = true
        return true
    }

    func unfollow(_ name: SpaceID) throws -> Int? {
        guard name != .default else {
            throw StoreError(.invalidValue, "every device follows the space \(name); only others can be unfollowed")
        }
        guard var space = try SpaceRow.find(name, connection) else {
            rollsBack = true
            return nil
        }
        try requireNothingUnconfirmed(in: name)
        try requireShown(space)
        return try overwritingDeletedData {
            let removed = try remove(space).records
            try forgetDeletedBases(in: space)
            try forgetMarks(of: &space)
            try space.delete(connection)
            cache.spaceKeys[name] = nil
            change.touchesSpaces = true
            change.touchesOutbox = true
            return removed
        }
    }

    /// Throws if only this device has something of the space.
    private func requireNothingUnconfirmed(in name: SpaceID) throws {
        let pending = try count("SELECT count(*) FROM sync_outbox WHERE space = ?1 AND version IS NULL", name)
        guard pending == 0 else {
            let isOne = pending == 1
            throw StoreError(
                .unsentWrites,
                "\(pending) \(isOne ? "transaction" : "transactions") in the space \(name) \(isOne ? "is" : "are") not confirmed by the server: sync first, or cancel \(isOne ? "it if it was" : "those that were") not sent"
            )
        }
        let lost = try count(
            "SELECT count(*) FROM sync_journal WHERE event = 'lost' AND state = 'active' AND coalesce(space, ?1) = ?1",
            name)
        guard lost == 0 else {
            throw StoreError(
                .unsentWrites,
                "the journal offers \(lost) lost \(lost == 1 ? "transaction" : "transactions") of the space \(name) to restore: restore or dismiss \(lost == 1 ? "it" : "them") first"
            )
        }
        // The server may not be able to send their notices again when the space is followed again.
        let open = try count(
            """
            SELECT count(*) FROM sync_journal WHERE event IN ('merged', 'overwritten', 'notices_removed') AND state = 'active'
                AND coalesce(space, ?1) = ?1
            """, name)
        guard open == 0 else {
            throw StoreError(
                .unsentWrites,
                "the journal has \(open) open \(open == 1 ? "entry" : "entries") about values of the space \(name) that gave way to others: restore or dismiss \(open == 1 ? "it" : "them") first"
            )
        }
    }

    /// Throws if the device still has records that its server's current history has not shown. If that history has lost
    /// them, the next snapshot offers them in the journal.
    private func requireShown(_ space: SpaceRow) throws {
        for table in tables {
            let select = try connection.statement(
                composed:
                    """
                    SELECT 1 FROM sync_former AS former JOIN \(table.quoted) AS live ON live.id = former.id
                    WHERE former.collection = ?2 AND live.sync_space = ?1 AND live.version = 0 LIMIT 1
                    """)
            select.bind(1, space.key)
            select.bind(2, table.name)
            defer { select.reset() }
            guard try select.step() else { continue }
            throw StoreError(
                .unsentWrites,
                "since the database was repaired or the server's history changed, the server has not shown all records of the space \(space.space): sync first, with --allow-deletes if the sync waits for it"
            )
        }
    }

    private func count(_ sql: StaticString, _ space: SpaceID) throws -> Int {
        let select = try connection.statement(sql)
        select.bind(1, space.rawValue)
        defer { select.reset() }
        return try select.step() ? Int(select.integer(0)) : 0
    }

    /// Forgets that the server has deleted records whose ids have pending changes in another space.
    private func forgetDeletedBases(in space: SpaceRow) throws {
        for table in tables {
            let bases = try connection.statement(
                "SELECT id FROM sync_base WHERE space = ?1 AND collection = ?2 ORDER BY id")
            bases.bind(1, space.key)
            bases.bind(2, table.name)
            for place in try places(in: table, from: bases) {
                try dropBase(place)
                try recompute(place)
            }
        }
    }
}
