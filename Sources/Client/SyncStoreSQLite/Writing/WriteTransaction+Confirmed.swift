import SQLiteDatabase
import SyncCore
import SyncModel

// Remembers which versions were this device's own commits, to tell its values from those of others when the server has
// lost its history (I15).
extension WriteTransaction {
    /// Remembers the version of a transaction that the server has applied and shown.
    ///
    /// The oldest version gives way to the newest (I19).
    func rememberConfirmed(_ entry: StoredEntry, in space: SpaceRow) throws {
        guard let version = entry.version else { return }
        let statement = try connection.statement(
            "INSERT OR REPLACE INTO sync_confirmed (slot, space, version) VALUES (?1, ?2, ?3)")
        statement.bind(1, entry.sequence % StoreLimits.confirmedVersions)
        statement.bind(2, space.key)
        statement.bind(3, version.rawValue)
        try statement.run()
    }

    /// Marks all remembered versions as those of a lost history.
    ///
    /// The versions of the history before it are forgotten, unless some records are still to be compared with it.
    func loseConfirmedVersions() throws {
        if try !followsLostHistory() { try connection.execute("DELETE FROM sync_confirmed WHERE is_former = 1") }
        try connection.execute("UPDATE sync_confirmed SET is_former = 1")
        lostVersions = [:]
    }

    /// Returns the versions of this device's own commits in a space of the lost history.
    func lostConfirmedVersions(of space: Int64) throws -> Set<Version> {
        if let known = lostVersions[space] { return known }
        let statement = try connection.statement(
            "SELECT version FROM sync_confirmed WHERE is_former = 1 AND space = ?1")
        statement.bind(1, space)
        defer { statement.reset() }
        var versions: Set<Version> = []
        while try statement.step() { versions.insert(Version(statement.integer(0))) }
        lostVersions[space] = versions
        return versions
    }
}
