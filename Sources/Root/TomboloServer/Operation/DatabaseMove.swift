import AuthorityStorePostgres
import AuthorityStoreSQL
import AuthorityStoreSQLite
import Foundation
import SyncAuthority
import SyncConcurrency
import SyncProgram
import SyncServerHTTP

/// The move of a server's database to another one, with all of its history, so that devices notice nothing.
struct DatabaseMove {
    /// The database that receives the data.
    enum Target: Hashable {
        case postgres(connection: String, schema: String)
        case folder(String)
    }

    let settings: ServerSettings
    let target: Target
    /// The history of the new database until it receives the copy.
    let newHistory: HistoryIdentity

    /// Copies the database, and takes the former one out of use: no program can open it any more.
    ///
    /// - Throws: `ConfigurationError` if a server uses the file, if the target has other data, or if one of the
    ///   databases fails. See `StoreTransfer` for what each of them has then.
    func run(progress: @escaping @Sendable (_ rows: Int) -> Void) throws -> Report {
        try checkTarget()
        let source = try OpenStore(settings, newHistory: newHistory, .existing)
        let transfer: StoreTransfer
        do {
            defer { source.close() }
            let copy = try openTarget()
            defer { copy.close() }
            transfer = try StoreTransfer(from: source.store, to: copy.store, progress: progress)
        } catch let error as AuthorityStoreError {
            throw ConfigurationError("move: \(error)", mayPass: error.code.mayPass)
        }
        return Report(
            rows: Dictionary(transfer.rows.map { ($0.table, $0.count) }) { first, _ in first },
            wasComplete: transfer.wasComplete, former: formerName, target: target,
            tokenFile: tokenFileLeftBehind)
    }

    /// Throws if the target is the database itself.
    private func checkTarget() throws(ConfigurationError) {
        let isSame =
            switch target {
            case .postgres(let connection, let schema):
                settings.postgres == connection && settings.postgresSchema == schema
            case .folder(let folder): settings.postgres == nil && FileStatus.areSame(folder, settings.folder)
            }
        guard !isSame else {
            throw ConfigurationError("move: the database is there already; expected another schema or folder")
        }
    }

    /// The copy must outlast a power loss before the former database is taken out of use, whatever the settings are.
    private func openTarget() throws -> (store: any TransferableStore, close: () -> Void) {
        switch target {
        case .postgres(let connection, let schema):
            let store = try PostgresAuthorityStore(
                receivingCopyIn: PostgresConfiguration(connection: connection, schema: schema, durability: .full),
                newHistory: newHistory)
            return (store, { store.close() })
        case .folder(let folder):
            try PrivateFolder.make(folder, for: "move")
            let store = try SQLiteAuthorityStore(
                at: folder + "/authority.sqlite", newHistory: newHistory,
                configuration: SQLiteAuthorityConfiguration(durability: .full))
            // The copy is durable in the WAL, even if it cannot be moved into the file now.
            return (store, { try? store.close() })
        }
    }

    /// The token file in the former folder, which a server in the target folder does not look for; nil if there is
    /// none.
    private var tokenFileLeftBehind: String? {
        guard case .folder(let folder) = target,
            settings.tokenFile == ServerSettings.usualTokenFile(in: settings.folder),
            FileStatus(settings.tokenFile, followsLinks: true) != nil, !FileStatus.areSame(folder, settings.folder)
        else { return nil }
        return settings.tokenFile
    }

    private var formerName: String {
        settings.postgres == nil ? settings.file : "the schema \(settings.postgresSchema)"
    }
}

extension DatabaseMove {
    /// A description of the moved data, and of the next steps of the operator.
    struct Report {
        /// The number of rows of each table.
        let rows: [String: Int]
        let wasComplete: Bool
        let former: String
        let target: Target
        /// The token file to copy into the target folder; nil if there is none.
        let tokenFile: String?

        var lines: [TerminalText] {
            let counts = [("space", "space"), ("record", "live or deleted record"), ("change_feed", "commit")]
                .map { table, noun in OverviewText.counted(rows[table] ?? 0, noun) }.joined(separator: ", ")
            let settings =
                switch target {
                case .postgres(_, let schema): "authority.postgres, and authority.postgres-schema=\(schema)"
                case .folder(let folder):
                    "authority.folder=\(Self.absolute(folder)), and without authority.postgres and authority.postgres-schema"
                }
            return OverviewText.aligned([
                ("moved", "\(counts)\(wasComplete ? "; the copy was complete already" : "")"),
                (
                    "former",
                    "\(former), with which no server starts any more: delete it once the new database has a backup"
                ),
                ("next", "\(copyOfTokens)start the server with \(settings)"),
            ])
        }

        /// The first step of the operator. A server without the tokens refuses every device.
        private var copyOfTokens: String {
            guard case .folder(let folder) = target, let tokenFile else { return "" }
            let copy = ServerSettings.usualTokenFile(in: Self.absolute(folder))
            return "copy \(Self.absolute(tokenFile)) to \(copy), and "
        }

        private static func absolute(_ path: String) -> String { URL(filePath: path).absoluteURL.path }
    }
}
