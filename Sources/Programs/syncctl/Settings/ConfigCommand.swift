import ArgumentParser
import SyncBootstrap
import SyncJSON
import SyncProgram

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show the configuration and its sources.",
        subcommands: [ShowConfig.self, ConfigSchemaCommand.self], defaultSubcommand: ShowConfig.self)
}

struct ShowConfig: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show every key with its value and the source of the value.",
        discussion: ConfigurationHelp.text(ClientKeys.settings, Syncctl.program))

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let configuration = try options.configuration()
        let terminal = options.terminal
        if terminal.isJSON {
            for entry in configuration.entries {
                var line = JSONLine()
                line.set("key", entry.name)
                line.set("value", entry.shownText)
                line.set("source", entry.source.description)
                terminal.say(line)
            }
            return
        }
        var table = Table([.init(title: "KEY"), .init(title: "VALUE"), .init(title: "SOURCE")])
        for entry in configuration.entries {
            table.add([entry.name, entry.shownText ?? "-", entry.source.description])
        }
        table.print(to: terminal)
    }
}

struct ConfigSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print the JSON Schema of the configuration file, for editors.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let schema = ConfigurationSchema.text(ClientKeys.settings)
        let text = options.json ? try JSONValue(Array(schema.utf8)).text : String(schema.dropLast())
        options.terminal.say(TerminalText(document: text))
    }
}
