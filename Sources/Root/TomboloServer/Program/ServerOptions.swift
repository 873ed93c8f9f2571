import ArgumentParser
import Foundation
import SyncProgram
import SyncServerRules

/// The options of every command of a server.
struct ServerOptions: ParsableArguments {
    /// The names of this program, derived from the name of its executable.
    static let program = ProgramNames(
        (CommandLine.arguments.first ?? "").split(separator: "/").last?.lowercased() ?? "server")

    /// The list of settings, for the help texts.
    static var help: String { ConfigurationHelp.text(ServerKeys.settings, program) }

    @Option(help: ArgumentHelp("Read the configuration from this file.", valueName: "file"), completion: .file())
    var config: String?
    @Option(help: ArgumentHelp("production, staging, development or test.", valueName: "name"))
    var environment: String?
    @Option(help: ArgumentHelp("Folder of the database.", valueName: "folder"), completion: .directory)
    var folder: String?
    @Option(help: ArgumentHelp("File of the accepted tokens.", valueName: "file"), completion: .file())
    var tokenFile: String?
    @Option(
        help: ArgumentHelp("Serve the models of this file, instead of those of the program.", valueName: "file"),
        completion: .file())
    var catalog: String?
    @Option(help: ArgumentHelp("Show log messages of this level and above.", valueName: "level"))
    var logLevel: String?
    @Option(
        name: .customLong("set"),
        help: ArgumentHelp("Set any other configuration key.", valueName: "key=value"))
    var settings: [String] = []

    func configuration(
        adding more: (inout ConfigurationFlags) throws(ConfigurationError) -> Void = { _ in }
    ) throws(ConfigurationError) -> ResolvedConfiguration<ServerKeys> {
        var flags = try ConfigurationFlags(settings: settings)
        try flags.take(environment, for: "environment", flag: "--environment")
        try flags.take(folder, for: "authority.folder", flag: "--folder")
        try flags.take(tokenFile, for: "authority.token-file", flag: "--token-file")
        try flags.take(catalog, for: "authority.catalog", flag: "--catalog")
        try flags.take(logLevel, for: "log.level", flag: "--log-level")
        try more(&flags)
        let variables = ProcessInfo.processInfo.environment
        return try ResolvedConfiguration(
            ConfigurationSources(Self.program, flags: flags, variables: variables, fileNamed: config))
    }

    /// Returns the server that the configuration describes.
    func server(
        _ application: ServerApplication,
        adding more: (inout ConfigurationFlags) throws(ConfigurationError) -> Void = { _ in }
    ) throws(ConfigurationError) -> ServerComposition {
        let configuration = try configuration(adding: more)
        let recipes = try ServerRecipes.picked(by: configuration.values.environment)
        let settings = try ServerSettings(configuration)
        var application = application
        if let file = settings.catalogFile { application.catalog = try CatalogFile.read(file, rule: application.rule) }
        return ServerComposition(
            settings: settings, application: application, recipes: recipes,
            logger: ProgramLog.logger(label: Self.program.name, level: settings.logLevel))
    }
}

extension ServerOptions {
    /// Calls `body` with the server, and closes the server afterwards.
    func withServer<Result>(
        _ application: ServerApplication, _ body: (ServerComposition) throws -> Result
    ) throws -> Result {
        let server = try server(application)
        defer { server.close() }
        return try body(server)
    }
}
