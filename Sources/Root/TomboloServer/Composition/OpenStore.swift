import AuthorityStorePostgres
import AuthorityStoreSQL
import AuthorityStoreSQLite
import Logging
import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncProgram
import SyncServerHTTP

/// The store that the settings select, opened.
struct OpenStore {
    let store: any TransferableStore
    let close: @Sendable () -> Void
    private let postgres: PostgresConfiguration?

    init(
        _ settings: ServerSettings, newHistory: HistoryIdentity, _ opening: ServerRecipes.StoreOpening
    ) throws(ConfigurationError) {
        let isCreating = opening == .creatingIfMissing
        // A server that has lost its setting must not begin an empty history: its devices would remove their records.
        if settings.postgres == nil, !Self.exists(settings.file), Self.exists(settings.postgresMark) {
            throw ConfigurationError(
                "authority.postgres is not set, but \(settings.postgresMark) shows that this server keeps its data in PostgreSQL",
                advice: "set authority.postgres, or give a new server a folder of its own")
        }
        let marks = [settings.postgresMark, settings.fileMark]
        postgres = settings.postgres.map { connection in
            PostgresConfiguration(
                connection: connection, schema: settings.postgresSchema, durability: settings.durability,
                mark: marks.first(where: Self.exists))
        }
        do throws(AuthorityStoreError) {
            if let postgres {
                let opened = try PostgresAuthorityStore(postgres, newHistory: newHistory, creating: isCreating)
                (store, close) = (opened, { opened.close() })
            } else {
                let configuration = SQLiteAuthorityConfiguration(durability: settings.durability)
                let opened =
                    switch opening {
                    case .creatingIfMissing, .existing:
                        try SQLiteAuthorityStore(
                            at: settings.file, newHistory: newHistory, creating: isCreating,
                            configuration: configuration)
                    case .shared:
                        try SQLiteAuthorityStore(
                            visiting: settings.file, newHistory: newHistory, configuration: configuration)
                    case .reading: try SQLiteAuthorityStore(reading: settings.file, configuration: configuration)
                    }
                (store, close) = (opened, { try? opened.close() })
            }
        } catch {
            throw ConfigurationError(error, isPostgres: settings.postgres != nil)
        }
    }

    private static func exists(_ path: String) -> Bool { FileStatus(path, followsLinks: false) != nil }

    /// Returns a closure that begins to publish the commits of other servers; nil for SQLite, which has one server.
    func follow(_ authority: Authority, _ logger: Logger) -> (@Sendable () throws -> @Sendable () -> Void)? {
        guard let postgres else { return nil }
        return {
            let listener = CommitListener(postgres) { heads in
                authority.commits.publish(SpaceHeads(heads: heads))
            } note: { words in
                logger.warning("\(words)")
            }
            try listener.start()
            return { listener.stop() }
        }
    }
}

extension ConfigurationError {
    init(_ failure: AuthorityStoreError, isPostgres: Bool) {
        self.init(
            "\(isPostgres ? "authority.postgres" : "authority.folder"): \(failure)",
            advice: isPostgres ? failure.postgresAdvice : failure.advice, mayPass: failure.code.mayPass)
    }
}

extension AuthorityStoreError.Code {
    /// Whether the cause may end by itself: another process ends, a database starts, a disk gets room.
    var mayPass: Bool {
        switch self {
        case .inUse, .busy, .diskFull, .readOnly, .inputOutput, .unreachable: true
        case .notADatabase, .newerSchema, .otherSchema, .corrupt, .unsafePermissions, .missingFile, .noDatabase, .moved,
            .notDurable, .unstorable:
            false
        }
    }
}

extension AuthorityStoreError {
    private static let adviceAfterMove = "that move is complete: start the server with the database to which it went"

    /// The advice to the operator, where the message alone is not enough.
    fileprivate var advice: String? {
        switch code {
        case .noDatabase: "\(ServerOptions.program.name) serve makes one"
        case .moved: Self.adviceAfterMove
        case .notADatabase, .corrupt:
            "restore the database from a backup, and move its files -wal, -shm, and -journal away first"
        case .newerSchema, .otherSchema: "use the build of \(ServerOptions.program.name) that made it, or a newer one"
        case .missingFile, .readOnly: "check authority.folder (\(ServerOptions.program.name) config) and its owner"
        case .diskFull: "free space on that disk, or raise the limit that the message names"
        case .unsafePermissions, .inUse, .notDurable, .unstorable, .busy, .inputOutput, .unreachable: nil
        }
    }

    fileprivate var postgresAdvice: String? {
        switch code {
        case .moved: Self.adviceAfterMove
        case .noDatabase:
            "run createdb NAME if the database is missing; \(ServerOptions.program.name) serve then creates the schema"
        case .newerSchema: "use the build of \(ServerOptions.program.name) that made it, or a newer one"
        case .otherSchema: "give authority.postgres-schema a name that no other program uses"
        case .corrupt, .notADatabase:
            "check authority.postgres and authority.postgres-schema, or restore the database from a backup"
        case .diskFull: "free space on the disk of the database"
        case .readOnly: "name the primary, or add target_session_attrs=read-write"
        case .unsafePermissions: "check the user, and its password in the file that PGPASSFILE names"
        case .notDurable: "turn the setting on in PostgreSQL, or set authority.durability to normal"
        case .unreachable, .inputOutput: "check that the database runs, and the connection string"
        case .busy: "other sessions hold its locks or all its connections: try again, or see pg_stat_activity"
        case .missingFile, .inUse, .unstorable: nil
        }
    }
}
