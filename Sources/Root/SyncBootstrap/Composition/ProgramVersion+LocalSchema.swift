public import SyncProgram
import SyncStoreSQLite

extension ProgramVersion {
    /// The version of the schema of a client's database.
    public static var localSchema: Int { SQLiteStore.schemaVersion }
}
