import ArgumentParser
import Foundation
import SyncProgram

struct ServeCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve until stopped. The default.",
        discussion: ServerOptions.help)

    @OptionGroup var options: ServerOptions
    @Option(help: ArgumentHelp("Address to listen on.", valueName: "address")) var host: String?
    @Option(help: "Port to listen on. 0 selects a free port.") var port: String?
    @Option(help: ArgumentHelp("File to write the port into.", valueName: "file"), completion: .file())
    var portFile: String?

    func run(_ application: ServerApplication) async throws {
        let server = try options.server(application) { (flags) throws(ConfigurationError) in
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
            // A server goes on without anybody who reads this.
            ProgramOutput.write("listening on \(scheme)://\(address):\(listening)\n")
        }
    }
}

/// How a script that started the server on a free port gets to know it.
enum Announcement {
    /// Whole or not at all: a reader never sees half a number.
    static func write(_ port: Int, to path: String) {
        do {
            try Data("\(port)\n".utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            ProgramOutput.note("\(ServerOptions.program.name): the port could not be written to \(path)\n")
        }
    }
}
