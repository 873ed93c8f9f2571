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
                    policy: AuthorityPolicy(accounts: settings.accounts, access: application.access ?? .members),
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
                guard settings.webTokens == nil else {
                    throw ConfigurationError(
                        "jwt.keys: this program authenticates tokens by its own rule, so the keys would have no effect",
                        advice: "remove the jwt keys from the configuration")
                }
                let timeout = application.timeout
                return .asynchronous { token in
                    try await RuleCall.run("who holds a token", timeout, runtime, logger) {
                        try await authenticate(AuthenticationRequest(bearerToken: token))
                    }
                }
            }
            let tokens: TokenFile
            do throws(TokenFileError) {
                tokens = try TokenFile(
                    path: settings.tokenFile, mayHaveNoToken: settings.webTokens != nil, logger: logger)
            } catch {
                throw ConfigurationError(
                    "authority.token-file: \(error)",
                    advice: error.hasNoToken ? "\(ServerOptions.program.name) token add NAME makes a token" : nil)
            }
            guard let web = settings.webTokens else { return .blocking(tokens) }
            do throws(WebTokenKeysError) {
                let rules = WebTokenRules(issuer: web.issuer, audience: web.audience, clockSkew: web.clockSkew)
                return .webTokens(
                    try WebTokens(keys: web.keys, rules: rules, now: runtime.now, logger: logger), or: tokens)
            } catch {
                throw ConfigurationError(
                    "jwt.keys: \(error)", advice: "expected a JSON Web Key Set with the public keys of jwt.issuer")
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
            let room = ProcessLimits.raiseFiles() - ProcessLimits.reservedFiles
            configuration.maximumConnections = min(settings.connections, max(room, 1))
            configuration.maximumConnectionsPerAddress = settings.connectionsPerAddress
            configuration.requestsPerSecond = settings.requestsPerSecond
            configuration.bytesPerSecond = settings.bytesPerSecond
            configuration.folder = settings.postgres == nil ? settings.folder : nil
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
                    let program = ServerOptions.program.name
                    throw ConfigurationError(
                        error.description,
                        advice: "see the listen keys: \(program) config shows their values and sources",
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
        of store: any AuthorityStore, adopting catalog: SchemaCatalog?, isPostgres: Bool, _ logger: Logger
    ) throws(ConfigurationError) -> SchemaCatalog? {
        do {
            guard let catalog else { return try store.read { view in try view.catalog() } }
            if let problem = catalog.nameProblem {
                throw ConfigurationError(
                    "the models cannot be served: \(problem)", advice: "choose another name in the models")
            }
            if let problem = catalog.models.lazy.compactMap(\.lengthProblem).first {
                throw ConfigurationError(
                    "the models cannot be served: \(problem)", advice: "shorten the maximum lengths in the models")
            }
            // Comparing and storing are one transaction: another server may start with further models at the same time.
            let change = try store.write { transaction -> Result<CatalogChange?, ConfigurationError> in
                guard let stored = try transaction.catalog() else {
                    try transaction.set(catalog)
                    return .success(nil)
                }
                guard stored != catalog else { return .success(nil) }
                let change = CatalogChange(from: stored, to: catalog)
                do throws(ConfigurationError) { try change.requireCompatible() } catch { return .failure(error) }
                try transaction.set(catalog)
                return .success(change)
            }
            if let change = try change.get() {
                logger.notice(
                    "The models have changed.",
                    metadata: ["added": "\(change.additions)", "changed": "\(change.adjustments)"])
            }
            return catalog
        } catch let error as ConfigurationError {
            throw error
        } catch {
            let failure = error as? AuthorityStoreError ?? AuthorityStoreError(.inputOutput, "\(error)")
            throw ConfigurationError(failure, isPostgres: isPostgres)
        }
    }
}
