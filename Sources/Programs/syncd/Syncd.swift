import ArgumentParser
import Foundation
import SyncBootstrap

/// The server program.
@main struct Syncd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncd", abstract: "Run the sync server.",
        discussion: """
            SIGTERM and SIGINT stop it gracefully. Exit status: 0 after a graceful stop, 1 if it could not serve, 64 if the \
            command line is invalid, 78 if the configuration is invalid.
            """,
        version: ProgramVersion.text,
        subcommands: [
            ServeCommand.self, TokenCommand.self, EpochCommand.self, ConflictsCommand.self, ServerConfigCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)

    static func main() async {
        // With SIGPIPE ignored, writing to a closed pipe returns an error instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        do {
            try OpenFiles.demandEnough()
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            report(error)
        }
    }

    private static func report(_ error: any Error) -> Never {
        // Help and the version are normal output. The parser's error messages quote the command line, so they are
        // escaped.
        let code = exitCode(for: error)
        if code == .success { exit(withError: error) }
        if code == .validationFailure {
            ProgramOutput.note("\(TerminalText(document: fullMessage(for: error)))\n")
            Foundation.exit(code.rawValue)
        }
        ProgramOutput.note("syncd: \(error)\n")
        if let problem = error as? TooFewFiles { ProgramOutput.note("  \(problem.advice)\n") }
        guard let problem = error as? ConfigurationProblem else { Foundation.exit(1) }
        if let advice = problem.advice { ProgramOutput.note("  \(advice)\n") }
        Foundation.exit(78)
    }
}

/// The result of a command, on standard output.
enum Answer {
    /// Writes a part of the result. Exits quietly when the reader has closed the pipe (`| head`), as other programs do.
    ///
    /// - Throws: `AnswerFailure` for any other error.
    static func write(_ text: TerminalText) throws(AnswerFailure) {
        guard let code = ProgramOutput.answer(text) else { return }
        if code == EPIPE { Foundation.exit(ProgramOutput.brokenPipeStatus) }
        throw AnswerFailure(description: "the answer cannot be written: \(String(cString: strerror(code)))")
    }
}

struct AnswerFailure: Error, CustomStringConvertible {
    let description: String
}

struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Read the configuration from this file.", valueName: "file"), completion: .file())
    var config: String?
    @Option(help: ArgumentHelp("production, staging, development or test.", valueName: "name"))
    var environment: String?
    @Option(help: ArgumentHelp("The folder of the database.", valueName: "folder"), completion: .directory)
    var folder: String?
    @Option(help: ArgumentHelp("The file of the accepted tokens.", valueName: "file"), completion: .file())
    var tokenFile: String?
    @Option(help: ArgumentHelp("Show log messages from this level on.", valueName: "level"))
    var logLevel: String?
    @Option(
        name: .customLong("set"),
        help: ArgumentHelp("Set any other key of the configuration.", valueName: "key=value"))
    var settings: [String] = []

    func configuration(
        adding more: (inout ConfigurationFlags) throws(ConfigurationProblem) -> Void = { _ in }
    ) throws(ConfigurationProblem) -> ResolvedConfiguration {
        let variables = ProcessInfo.processInfo.environment
        var flags = try ConfigurationFlags(settings: settings)
        try flags.take(environment, for: "environment", flag: "--environment")
        try flags.take(folder, for: "authority.folder", flag: "--folder")
        try flags.take(tokenFile, for: "authority.token-file", flag: "--token-file")
        try flags.take(logLevel, for: "log.level", flag: "--log-level")
        try more(&flags)
        let file = try ConfigurationFile.find(named: config, variables: variables)
        let sources = try ConfigurationSources(flags: flags.values, variables: variables, file: file)
        return try ResolvedConfiguration(sources, for: .syncd)
    }

    /// Returns the server that the configuration describes.
    func server(
        adding more: (inout ConfigurationFlags) throws(ConfigurationProblem) -> Void = { _ in }
    ) throws(ConfigurationProblem) -> ServerComposition {
        let settings = try ServerSettings(configuration(adding: more))
        return ServerComposition(
            settings: settings, recipes: try .picked(by: settings.environment),
            logger: ProgramLog.logger(label: "syncd", level: settings.logLevel))
    }
}

extension ServerOptions {
    /// Calls `body` with the server, and then closes the server.
    func withServer<Result>(_ body: (ServerComposition) throws -> Result) throws -> Result {
        let server = try server()
        defer { server.close() }
        return try body(server)
    }
}

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve until stopped. The default.",
        discussion: ConfigurationHelp.text(for: .syncd))

    @OptionGroup var options: ServerOptions
    @Option(help: ArgumentHelp("The address to listen on.", valueName: "address")) var host: String?
    @Option(help: "Port to listen on. 0 selects a free port.") var port: String?
    @Option(help: ArgumentHelp("Write the port into this file.", valueName: "file"), completion: .file())
    var portFile: String?

    func run() async throws {
        let server = try options.server { (flags) throws(ConfigurationProblem) in
            try flags.take(host, for: "listen.host", flag: "--host")
            try flags.take(port, for: "listen.port", flag: "--port")
            try flags.take(portFile, for: "listen.port-file", flag: "--port-file")
        }
        defer { server.close() }
        let settings = server.settings
        let scheme = settings.tls == nil ? "http" : "https"
        let address = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
        try await server.serve { @Sendable (listening: Int) in
            if let file = settings.portFile { Announcement.write(listening, to: file) }
            // A failure is ignored, because the server does not depend on a reader of its output.
            ProgramOutput.answer("listening on \(scheme)://\(address):\(listening)\n")
        }
    }
}

/// The port file, by which a script learns the port of a server that it started on a free port.
enum Announcement {
    /// Writes the port atomically, so that a reader never sees a part of the number.
    static func write(_ port: Int, to path: String) {
        do {
            try Data("\(port)\n".utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            ProgramOutput.note("syncd: the port could not be written to \(path)\n")
        }
    }
}
