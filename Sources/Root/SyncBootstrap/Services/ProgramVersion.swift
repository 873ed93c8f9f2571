import SyncStoreSQLite

/// The version of the programs.
public enum ProgramVersion {
    public static let text = "0.1.0"

    /// The version of the schema of a client's database.
    public static var localSchema: Int { SQLiteStore.schemaVersion }
}
