import AuthorityStoreSQLite
import Glibc
public import Logging
import ServiceLifecycle
public import SyncAuthority
public import SyncCore
public import SyncModel
public import SyncProgram
package import SyncServerHTTP
public import SyncServerRules
import UnixSignals

/// A server composed from its settings. Each part is created on first use and then kept.
///
/// Not `Sendable`, like `ClientComposition`: it belongs to the task that starts the program.
public final class ServerComposition {
    /// The settings of the server.
    public let settings: ServerSettings
    /// The models and the rules of the application.
    public let application: ServerApplication
    /// The logger of all parts.
    public let logger: Logger
    private let recipes: ServerRecipes
    private var openAuthority: OpenAuthority?

    /// Creates a composition without opening anything.
    public init(
        settings: ServerSettings, application: ServerApplication, recipes: ServerRecipes, logger: Logger
    ) {
        self.settings = settings
        self.application = application
        self.recipes = recipes
        self.logger = logger
    }

    /// The clocks, the random source, and the executors.
    public private(set) lazy var runtime: EngineRuntime = recipes.machine(settings)

    /// The metrics of the server; nil if `metrics.port` is not set.
    package private(set) lazy var metrics = settings.metrics.map { _ in
        PrometheusRegistry.ofServer(folder: settings.folder)
    }

    /// The registry of the tokens that the server accepts.
    public var tokens: TokenRegistry {
        TokenRegistry(
            path: settings.tokenFile, haveEffect: application.authentication == nil, random: runtime.random)
    }

    /// The authority. Its database is created if it is missing.
    public var authority: Authority {
        get throws(ConfigurationError) { try authority(.creatingIfMissing) }
    }

    private func authority(_ opening: ServerRecipes.StoreOpening) throws(ConfigurationError) -> Authority {
        if let openAuthority { return openAuthority.authority }
        let opened = try recipes.authority(settings, application, runtime, logger, opening)
        openAuthority = opened
        return opened.authority
    }

    /// The models with which the records were written; nil when the store has none yet, as in a folder in which no
    /// server has run.
    ///
    /// - Throws: `ConfigurationError` if the database cannot be opened; otherwise `AuthorityError`.
    public var storedCatalog: SchemaCatalog? {
        get throws {
            let isNew =
                settings.postgres == nil
                && [settings.file, settings.markFile].allSatisfy {
                    FileStatus($0, followsLinks: false) == nil && errno == ENOENT
                }
            if isNew { return nil }
            _ = try authority(.existing)
            return openAuthority?.catalog
        }
    }

    /// The name of the server's history.
    ///
    /// - Throws: `ConfigurationError` if the database cannot be opened or does not exist yet; otherwise
    ///   `AuthorityError`.
    public var epoch: String {
        get throws { try authority(.existing).epoch().rawValue }
    }

    /// Starts a new history, after the database was restored from a backup. No process may serve the database
    /// meanwhile.
    ///
    /// - Returns: the name of the new history.
    /// - Throws: the same errors as `epoch`.
    public func startNewEpoch() throws -> String {
        try authority(.existing).startNewEpoch().rawValue
    }

    /// Calls `body` with each conflict of a space after `number`, oldest first, as one line. Servers may be using the
    /// database meanwhile.
    ///
    /// - Returns: the number of conflicts.
    /// - Throws: the same errors as `epoch`, and those of `body`.
    public func conflicts(
        in space: SpaceID, after number: Int64, limit: Int, _ body: (TerminalText) throws -> Void
    ) throws -> Int {
        let source = try authority(.reading)
        let models = openAuthority?.catalog ?? application.catalog
        var (last, count) = (number, 0)
        // All conflicts of a space may have a gigabyte of values.
        while count < limit {
            // PostgreSQL sends all rows of a read, even those that exceed the bytes.
            let budget = PageBudget(rows: min(limit - count, 100), bytes: InspectLimits.bytes)
            let page = try source.conflicts(in: space, after: last, budget: budget)
            guard let end = page.last?.number else { break }
            for conflict in page { try body(ConflictText.line(conflict, models)) }
            (last, count) = (end, count + page.count)
        }
        return count
    }

    /// The state of the database. Servers may be using it meanwhile.
    ///
    /// - Throws: the same errors as `epoch`.
    var status: ServerStatus {
        get throws {
            let overview = try authority(.reading).overview()
            return ServerStatus(
                overview: overview, database: try ServerDatabase(settings), hasOwnRule: application.access != nil,
                environment: settings.environment)
        }
    }

    /// Returns the clients that have pushed and whose ids are greater than `client`, ordered by id. Servers may be
    /// using the database meanwhile.
    ///
    /// - Throws: the same errors as `epoch`.
    func clients(after client: ClientID?, limit: Int) throws -> [ClientSummary] {
        try authority(.reading).clients(after: client, limit: limit)
    }

    /// Stops counting a client as a device of its account, until it pushes again. A server may be using the database
    /// meanwhile.
    ///
    /// - Returns: the account of the client.
    func release(_ client: ClientID) throws -> Principal {
        guard let account = try authority(.shared).release(client) else {
            throw ConfigurationError(
                "no client \(client) has pushed", advice: "\(ServerOptions.program.name) clients lists those that have")
        }
        return account
    }

    /// The page of the database, which writes nothing. Servers may be using the database meanwhile.
    ///
    /// - Parameter command: the command that serves the page, for messages.
    /// - Throws: `ConfigurationError` if the database cannot be opened or does not exist yet.
    func page(command: String) throws(ConfigurationError) -> ServerPage {
        let store = try authority(.reading).store
        let inspector = ServerInspector(
            store: store, served: application.catalog, hasOwnRule: application.access != nil,
            isPostgres: settings.postgres != nil, runtime: runtime, command: command
        ) { [settings] in try ServerDatabase(settings) }
        return ServerPage(inspector: inspector, runtime: runtime, command: command)
    }

    /// The registry of the members of spaces. Servers may be using the database meanwhile.
    ///
    /// - Throws: `ConfigurationError` if the database cannot be opened or does not exist yet.
    public var members: MemberRegistry {
        get throws(ConfigurationError) {
            MemberRegistry(try authority(.shared), haveEffect: application.access == nil)
        }
    }

    /// The registry of the members of spaces, for lists. It takes no lock and writes nothing: every change fails.
    /// Servers may be using the database meanwhile.
    ///
    /// - Throws: `ConfigurationError` if the database cannot be opened or does not exist yet.
    var listedMembers: MemberRegistry {
        get throws(ConfigurationError) {
            MemberRegistry(try authority(.reading), haveEffect: application.access == nil)
        }
    }

    /// Copies the database into a new file, and checks the copy. A server may be using the database meanwhile.
    ///
    /// - Throws: `ConfigurationError` if the database is in PostgreSQL, if it cannot be read, or if the file cannot be
    ///   created. No file is left then, except a whole one whose name could not be flushed.
    func backUp(to file: String) throws -> BackupReport {
        guard settings.postgres == nil else {
            throw ConfigurationError(
                "backup: this server keeps its database in PostgreSQL, and only a SQLite database is copied",
                advice: "use pg_dump, with --schema=\(settings.postgresSchema)")
        }
        let backup = BackupFile(path: file)
        try backup.check(beside: settings.file)
        return try backup.create { temporary in
            do throws(AuthorityStoreError) {
                try SQLiteAuthorityStore.copy(settings.file, into: temporary)
            } catch {
                throw ConfigurationError(error, isPostgres: false)
            }
            return try checkedBackup(temporary, named: file)
        }
    }

    /// Returns the contents of a backup after a check of the whole file.
    ///
    /// - Throws: `ConfigurationError` if the file is not a server's database, or is damaged.
    func checkBackup(_ file: String) throws(ConfigurationError) -> BackupReport {
        try checkedBackup(file, named: file)
    }

    private func checkedBackup(_ file: String, named name: String) throws(ConfigurationError) -> BackupReport {
        do throws(AuthorityStoreError) {
            return try BackupReport(checking: file, name: name, hasOwnRule: application.access != nil)
        } catch {
            throw ConfigurationError("backup: \(error)", mayPass: ConfigurationError(error, isPostgres: false).mayPass)
        }
    }

    /// Gives the space of deleted rows back to the file system. A server may be using the database meanwhile.
    ///
    /// - Throws: `ConfigurationError` if the database is in PostgreSQL, if it cannot be opened or does not exist yet,
    ///   or if it cannot be written again; it is unchanged then.
    func compact() throws(ConfigurationError) -> CompactReport {
        guard settings.postgres == nil else {
            throw ConfigurationError(
                "compact: this server keeps its database in PostgreSQL, which reuses free space by itself",
                advice: "use its command VACUUM FULL if the space must be given back")
        }
        let histories = LiveHistories(runtime: runtime, logger: logger)
        do throws(AuthorityStoreError) {
            let store = try SQLiteAuthorityStore(
                visiting: settings.file, newHistory: histories.nextHistory(),
                configuration: SQLiteAuthorityConfiguration(durability: settings.durability))
            defer { try? store.close() }
            let (before, after) = try store.compact()
            try store.close()
            return CompactReport(
                file: settings.file, before: before, after: after,
                isServed: try SQLiteAuthorityStore.isServed(settings.file))
        } catch {
            throw ConfigurationError(error, isPostgres: false)
        }
    }

    /// Moves the database to another one, and takes the former one out of use.
    ///
    /// - Parameter progress: called with the number of copied rows from time to time.
    /// - Throws: `ConfigurationError`; see `DatabaseMove`.
    func move(
        to target: DatabaseMove.Target, progress: @escaping @Sendable (_ rows: Int) -> Void
    ) throws -> DatabaseMove.Report {
        let histories = LiveHistories(runtime: runtime, logger: logger)
        return try DatabaseMove(settings: settings, target: target, newHistory: histories.nextHistory())
            .run(progress: progress)
    }

    /// Serves and keeps the change feeds within their bound until SIGTERM or SIGINT, and then finishes open requests,
    /// up to the deadline.
    ///
    /// - Parameters:
    ///   - metricsListening: called with the port once the server serves metrics.
    ///   - listening: called with the port once the server accepts requests. An error that it throws ends the server.
    ///   - stopping: called once the server takes no more connections, before it finishes open requests.
    public func serve(
        metricsListening: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
        listening: @escaping @Sendable (_ port: Int) async throws -> Void,
        stopping: @escaping @Sendable () -> Void = {}
    ) async throws {
        if let problem = application.problemOfRules { throw problem }
        // The cheap check comes first: without tokens, no request could be authorized.
        let authentication = try recipes.authentication(settings, application, runtime, logger)
        let authority = try authority
        let mark = MarkService(
            authority: authority, file: MarkFile(path: settings.markFile),
            former: MarkFile(path: settings.formerMarkFile), runtime: runtime, logger: logger)
        // This comes before serving, because a restored database starts a new history here.
        try mark.compare()
        let listener = try recipes.listener(
            ServerRecipes.Service(
                settings: settings, application: application, authority: authority, authentication: authentication,
                runtime: runtime, metrics: metrics, logger: logger))
        let unfollow = try openAuthority?.follow?()
        defer { unfollow?() }
        var configuration = ServiceGroupConfiguration(
            services: [
                // This service stops last, when there are no more commits.
                mark,
                // The upkeep may be in the middle of a long read of the database. Requests must not wait for its end.
                UpkeepService(
                    authority: authority,
                    kept: FeedBound(commits: settings.keptCommits, bytes: settings.keptBytes), runtime: runtime,
                    logger: logger),
                ListenerService(listener: listener, listening: listening, stopping: stopping),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        if let metrics, let address = settings.metrics {
            configuration.services.append(
                .init(
                    service: MetricsService(
                        address: address, registry: metrics, logger: logger, listening: metricsListening),
                    // The listener then ends without errors of its own.
                    failureTerminationBehavior: .gracefullyShutdownGroup))
        }
        // The listener closes open connections at the deadline by itself. This limit applies if it fails to.
        configuration.maximumGracefulShutdownDuration = settings.shutdownDeadline + .seconds(2)
        try await ServiceGroup(configuration: configuration).run()
    }

    /// Closes the authority, if it is open.
    public func close() {
        openAuthority?.close()
        openAuthority = nil
    }
}

private struct ListenerService: Service {
    let listener: ServerListener
    let listening: @Sendable (_ port: Int) async throws -> Void
    let stopping: @Sendable () -> Void

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await listen()
        } onGracefulShutdown: {
            stopping()
        }
    }

    private func listen() async throws {
        let (failures, failed) = AsyncStream<any Error>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { failed.finish() }
                try await listener.run { port in
                    do { try await listening(port) } catch { failed.yield(error) }
                }
            }
            group.addTask {
                for await failure in failures { throw failure }
            }
            // The first error cancels the other task.
            while try await group.next() != nil {}
        }
    }
}
