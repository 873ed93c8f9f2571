import ArgumentParser
import SyncProgram

struct ServerConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show the configuration and its sources.",
        subcommands: [ShowServerConfig.self, ServerConfigSchema.self], defaultSubcommand: ShowServerConfig.self)
}

struct ShowServerConfig: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show every key with its value and the source of the value.",
        discussion: ServerOptions.help)

    @OptionGroup var options: ServerOptions

    func run() async throws {
        for entry in try options.configuration().entries {
            try ServerOutput.write("\(entry.name)\t\(entry.shownText ?? "-")\t\(entry.source)\n")
        }
    }
}

struct ServerConfigSchema: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print the JSON Schema of the configuration file, for editors.")

    func run() async throws {
        try ServerOutput.write(TerminalText(document: ConfigurationSchema.text(ServerKeys.settings)))
    }
}
