import AuthorityStoreSQLite
import SyncAuthority
import SyncProgram
import SyncServerHTTP

/// The database of a server, as its operator finds it on the machine.
enum ServerDatabase: Hashable, Sendable {
    /// A file, with its size and that of its WAL in bytes.
    case sqlite(file: String, bytes: Int64, walBytes: Int64, isServed: Bool)
    /// A schema in PostgreSQL, which any number of servers may use.
    case postgres(schema: String)

    /// Looks at the database that the settings select.
    init(_ settings: ServerSettings) throws(ConfigurationError) {
        guard settings.postgres == nil else {
            self = .postgres(schema: settings.postgresSchema)
            return
        }
        do throws(AuthorityStoreError) {
            self = .sqlite(
                file: settings.file, bytes: Self.size(of: settings.file),
                walBytes: Self.size(of: settings.file + "-wal"),
                isServed: try SQLiteAuthorityStore.isServed(settings.file))
        } catch {
            throw ConfigurationError(error, isPostgres: false)
        }
    }

    /// Returns the size of a file in bytes; 0 for a missing one, as the WAL of a server that has stopped.
    static func size(of file: String) -> Int64 {
        FileStatus(file, followsLinks: false)?.size ?? 0
    }
}
