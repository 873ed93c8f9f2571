import ArgumentParser
import SyncBootstrap

struct ServerConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show every key with its value and the source of the value.",
        discussion: ConfigurationHelp.text(for: .syncd))

    @OptionGroup var options: ServerOptions

    func run() async throws {
        for entry in try options.configuration().entries {
            let line: TerminalText = "\(entry.key.name)\t\(entry.shownText ?? "-")\t\(entry.source)\n"
            try Answer.write(line)
        }
    }
}
