import ArgumentParser
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
        let file = settings.portFile.map { PortFile(path: $0) }
        try file?.check()
        try await server.serve { @Sendable (listening: Int) in
            try file?.write(listening)
            // The server continues even if nobody reads this line.
            ProgramOutput.write("listening on \(scheme)://\(address):\(listening)\n")
        }
    }
}
