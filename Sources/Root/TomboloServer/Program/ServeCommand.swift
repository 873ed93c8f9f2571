import ArgumentParser
import CoreMetrics
import Foundation
import SyncProgram
import SyncServerRules

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
        let (settings, runtime) = (server.settings, server.runtime)
        let scheme = settings.tls == nil ? "http" : "https"
        let file = settings.portFile.map { path in
            PortFile(path: path, serverFiles: [settings.file, settings.postgresMark, settings.tokenFile])
        }
        try file?.check()
        defer { file?.remove() }
        let manager = ServiceManager(variables: ProcessInfo.processInfo.environment)
        // The metrics of the application and of its packages appear beside those of the server.
        if let metrics = server.metrics { MetricsSystem.bootstrap(metrics) }
        // The server continues even if nobody reads these lines.
        try await server.serve { port in
            let host = (settings.metrics?.host).map(Self.inURL) ?? ""
            ProgramOutput.write("metrics on http://\(host):\(port)/metrics\n")
        } listening: { port in
            try file?.write(port)
            Self.report(.ready, to: manager)
            ProgramOutput.write("listening on \(scheme)://\(Self.inURL(settings.host)):\(port)\n")
        } stopping: {
            Self.report(.stopping, to: manager)
            StopDeadline.set(settings.shutdownDeadline, runtime)
        }
    }

    /// The server continues even if its manager cannot be told.
    private static func report(_ state: ServiceManager.State, to manager: ServiceManager?) {
        do throws(ServiceManagerError) {
            try manager?.report(state)
        } catch {
            ProgramOutput.note("\(ServerOptions.program.name): \(error)\n")
        }
    }

    /// Returns a host as a URL contains it: an IPv6 address in brackets.
    private static func inURL(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}
