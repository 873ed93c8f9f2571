import AuthorityStoreSQLite
import SyncAuthority
import SyncCore
import SyncModel
public import SyncProgram
import SyncRuntimeLive
import SyncServerHTTP

extension ServerRecipes {
    /// Returns the recipes for an environment.
    ///
    /// - Throws: when the adapters of the environment are not linked into this program.
    public static func picked(by environment: Environment) throws(ConfigurationProblem) -> ServerRecipes {
        guard environment.choices.hasLiveAdapters else {
            throw ConfigurationProblem(
                "environment: \(environment) needs the adapters of the test kit, which are not linked into this program",
                advice: "use production, staging, development or test")
        }
        return live
    }

    /// The recipes for a real clock, disk, and network.
    public static let live = ServerRecipes(
        machine: { _ in .live(label: "tombolo.authority") },
        authority: { (settings, application, runtime, logger, opening) throws(ConfigurationProblem) in
            let configuration = SQLiteAuthorityConfiguration(durability: settings.durability)
            let histories = LiveHistories(runtime: runtime, logger: logger)
            if opening == .makingIfMissing { try PrivateFolder.make(settings.folder) }
            do throws(AuthorityStoreFailure) {
                let store = try SQLiteAuthorityStore(
                    at: settings.file, newHistory: histories.nextHistory(), creating: opening == .makingIfMissing,
                    configuration: configuration)
                let authority = Authority(store: store, catalog: application.catalog, histories: histories)
                return OpenAuthority(authority) { try? store.close() }
            } catch {
                throw ConfigurationProblem("authority.folder: \(error)", advice: error.advice)
            }
        },
        authenticator: { (settings, logger) throws(ConfigurationProblem) in
            do throws(TokenFileError) {
                return try TokenFile(path: settings.tokenFile, logger: logger)
            } catch {
                throw ConfigurationProblem(
                    "authority.token-file: \(error)",
                    advice: error.fileIsMissing ? "syncd token add NAME makes a token" : nil)
            }
        },
        listener: { service in
            let settings = service.settings
            var configuration = SyncServerConfiguration(
                host: settings.host, port: settings.port,
                tls: settings.tls.map { .init(certificateChain: $0.certificateFile, privateKey: $0.keyFile) },
                drain: settings.shutdownDeadline)
            // Connections beyond this number would be accepted but not served, because neither the database nor the
            // tokens could be opened.
            let room = OpenFiles.raiseLimit() - OpenFiles.reserve
            configuration.maximumConnections = min(settings.connections, max(room, 1))
            configuration.maximumConnectionsPerAddress = settings.connectionsPerAddress
            return ServerListener { [configuration] listening in
                do {
                    try await SyncServer(
                        configuration: configuration, authority: service.authority,
                        catalog: service.application.catalog,
                        authenticator: service.authenticator, now: service.runtime.now, logger: service.logger,
                        onRunning: listening
                    ).run()
                } catch let error as SyncServerConfigurationError {
                    throw ConfigurationProblem(
                        error.description, advice: "see the listen keys: syncd config shows their values and sources")
                }
            }
        })
}

extension AuthorityStoreFailure {
    /// The advice to the operator, where the message alone is not enough.
    fileprivate var advice: String? {
        switch code {
        case .noDatabase: "syncd serve makes one"
        case .notADatabase, .corrupt:
            "put the database back from a backup, without the files -wal and -shm of the present one"
        case .newerSchema, .otherSchema: "use the build of syncd that made it, or a newer one"
        case .missingFile, .readOnly: "check authority.folder (syncd config), and who owns it"
        case .diskFull: "free some room on that disk"
        case .unsafePermissions, .inUse, .notDurable, .unstorable, .busy, .inputOutput: nil
        }
    }
}
