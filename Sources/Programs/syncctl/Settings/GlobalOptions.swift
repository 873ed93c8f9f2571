import ArgumentParser
import Foundation
import Logging
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram
import TomboloCommunity

/// The options of every command.
struct GlobalOptions: ParsableArguments {
    @Option(
        name: .long, help: ArgumentHelp("Read the configuration from this file.", valueName: "file"),
        completion: .file())
    var config: String?

    @Option(name: .long, help: ArgumentHelp("production, staging, development or test.", valueName: "name"))
    var environment: String?

    @Option(name: .long, help: ArgumentHelp("Folder of the database.", valueName: "folder"), completion: .directory)
    var store: String?

    @Option(name: .long, help: ArgumentHelp("The server.", valueName: "url"))
    var server: String?

    @Option(
        name: .long, help: ArgumentHelp("File with the token for the server.", valueName: "file"), completion: .file()
    )
    var tokenFile: String?

    @Option(name: .long, help: ArgumentHelp("Show log messages of this level and above.", valueName: "level"))
    var logLevel: String?

    @Option(
        name: .customLong("set"), help: ArgumentHelp("Set any other configuration key.", valueName: "key=value"))
    var settings: [String] = []

    @Flag(name: .long, help: "Print JSON, one object per line.")
    var json = false

    var variables: [String: String] { Self.processVariables }

    static var processVariables: [String: String] { ProcessInfo.processInfo.environment }

    var terminal: Terminal { Terminal(isJSON: json, variables: variables) }

    private func flags() throws(ConfigurationError) -> ConfigurationFlags {
        var flags = try ConfigurationFlags(settings: settings)
        try flags.take(environment, for: "environment", flag: "--environment")
        try flags.take(store, for: "store.folder", flag: "--store")
        try flags.take(server, for: "server.url", flag: "--server")
        try flags.take(tokenFile, for: "server.token-file", flag: "--token-file")
        try flags.take(logLevel, for: "log.level", flag: "--log-level")
        return flags
    }

    func configuration() throws -> ResolvedConfiguration<ClientKeys> {
        try ResolvedConfiguration(
            ConfigurationSources(Syncctl.program, flags: flags(), variables: variables, fileNamed: config))
    }

    /// Returns the models that the database stores, or the models of the community if it stores none.
    ///
    /// If damage or a newer build makes the stored models unreadable, the error is returned beside the models of the
    /// community. Opening the database reports all other errors.
    private func models(of settings: ClientSettings) -> (catalog: SchemaCatalog, obstacle: StoreError?) {
        do throws(StoreError) {
            let stored = try ClientRecipes.storedCatalog(of: settings, rule: FieldRule.named)
            return (stored ?? CommunityCatalog.catalog, nil)
        } catch {
            return (CommunityCatalog.catalog, [.corrupt, .newerSchema].contains(error.code) ? error : nil)
        }
    }

    private func client(
        creating: Bool, catalog: SchemaCatalog?, requestTimeout: Duration?
    ) throws -> ClientComposition {
        let configuration = try configuration()
        // Before the settings, so that an environment without adapters in this program is reported first, and not a
        // setting that this environment lacks.
        let recipes = try ClientRecipes.picked(by: configuration.values.environment)
        var settings = try ClientSettings(configuration)
        if let requestTimeout, let server = settings.server {
            settings.server?.requestTimeout = min(server.requestTimeout, requestTimeout)
        }
        let stored = catalog.map { ($0, nil) } ?? models(of: settings)
        return ClientComposition(
            settings: settings, models: CommunityCatalog.registered, catalog: stored.0, catalogDamage: stored.1,
            recipes: recipes,
            logger: ProgramLog.logger(label: "syncctl", level: settings.logLevel), creatingStore: creating)
    }

    /// The request timeout of commands that only show a state: it is short, because a person waits for the result.
    static let quickTimeout = Duration.seconds(5)

    /// Calls `body` with the client that the configuration describes, and closes the client even if `body` throws.
    ///
    /// - Parameters:
    ///   - creating: whether to create the database if it is missing.
    ///   - requestTimeout: an upper bound for the request timeout; nil keeps the configured one.
    ///   - catalog: the models with which to open the database; nil for those that the database stores.
    func withClient<Result>(
        creating: Bool = false, catalog: SchemaCatalog? = nil, requestTimeout: Duration? = nil,
        _ body: (ClientComposition) async throws -> Result
    ) async throws -> Result {
        let client = try client(creating: creating, catalog: catalog, requestTimeout: requestTimeout)
        do {
            let result = try await body(client)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }
}
