import Logging
import SyncAuthority
import SyncCore
import SyncModel
public import SyncProgram
import SyncRuntimeLive
import SyncServerHTTP
import SyncServerRules

extension ServerRecipes {
    /// Returns the recipes for an environment.
    ///
    /// - Throws: when the adapters of the environment are not linked into this program.
    public static func picked(by environment: DeploymentEnvironment) throws(ConfigurationError) -> ServerRecipes {
        guard environment.choices.hasLiveAdapters else {
            throw ConfigurationError(
                "environment: \(environment) needs the test kit, which this program does not contain",
                advice: "use production, staging, development or test")
        }
        return live
    }

    /// The recipes for a real clock, disk, and network.
    public static let live = ServerRecipes(
        machine: { _ in .live(label: "tombolo.authority") },
        authority: { (settings, application, runtime, logger, opening) throws(ConfigurationError) in
            let histories = LiveHistories(runtime: runtime, logger: logger)
            if opening == .creatingIfMissing { try PrivateFolder.make(settings.folder, for: "authority.folder") }
            let opened = try OpenStore(settings, newHistory: histories.nextHistory(), opening)
            do throws(ConfigurationError) {
                // A command that only reads does not change the stored models.
                let stored = try storedCatalog(
                    of: opened.store, adopting: opening == .creatingIfMissing ? application.catalog : nil,
                    isPostgres: settings.postgres != nil, logger)
                let authority = Authority(
                    store: opened.store, catalog: application.catalog,
                    policy: AuthorityPolicy(access: application.access ?? .everyoneInDefaultSpace),
                    histories: histories)
                return OpenAuthority(
                    authority, catalog: stored, follow: opened.follow(authority, logger), close: opened.close)
            } catch {
                opened.close()
                throw error
            }
        },
        authentication: { (settings, application, runtime, logger) throws(ConfigurationError) in
            if let authenticate = application.authentication {
                let timeout = application.timeout
                return .asynchronous { token in
                    try await RuleCall.run("who holds a token", timeout, runtime, logger) {
                        try await authenticate(AuthenticationRequest(bearerToken: token))
                    }
                }
            }
            do throws(TokenFileError) {
                return .blocking(try TokenFile(path: settings.tokenFile, logger: logger))
            } catch {
                throw ConfigurationError(
                    "authority.token-file: \(error)",
                    advice: error.hasNoToken ? "\(ServerOptions.program.name) token add NAME makes a token" : nil)
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
            configuration.requestsPerSecond = settings.requestsPerSecond
            configuration.bytesPerSecond = settings.bytesPerSecond
            return ServerListener { [configuration] listening in
                do {
                    try await SyncServer(
                        configuration: configuration, authority: service.authority,
                        catalog: service.application.catalog,
                        authentication: service.authentication,
                        review: ApplicationReview(service.application, service.runtime, service.logger),
                        metrics: service.metrics, now: service.runtime.now, logger: service.logger,
                        onRunning: listening
                    ).run()
                } catch let error as SyncServerConfigurationError {
                    throw ConfigurationError(
                        error.description, advice: "see the listen keys: syncd config shows their values and sources",
                        mayPass: error.mayPass)
                }
            }
        })
}

extension ServerRecipes {
    /// Stores the models to serve, and returns the stored models; nil when none are stored.
    ///
    /// - Parameter catalog: the models to serve; nil to leave the stored models unchanged.
    /// - Throws: when the models to serve are invalid or do not fit the stored ones, or when the store fails.
    private static func storedCatalog(
        of store: any CatalogStore, adopting catalog: SchemaCatalog?, isPostgres: Bool, _ logger: Logger
    ) throws(ConfigurationError) -> SchemaCatalog? {
        let stored: SchemaCatalog?
        do throws(AuthorityStoreError) { stored = try store.storedCatalog() } catch {
            throw ConfigurationError(error, isPostgres: isPostgres)
        }
        guard let catalog, catalog != stored else { return stored }
        if let problem = catalog.nameProblem {
            throw ConfigurationError(
                "the models cannot be served: \(problem)", advice: "choose another name in the models")
        }
        if let stored {
            let change = CatalogChange(from: stored, to: catalog)
            try change.requireCompatible()
            logger.notice(
                "The models have changed.",
                metadata: ["added": "\(change.additions)", "changed": "\(change.adjustments)"])
        }
        do throws(AuthorityStoreError) { try store.remember(catalog) } catch {
            throw ConfigurationError(error, isPostgres: isPostgres)
        }
        return catalog
    }
}
