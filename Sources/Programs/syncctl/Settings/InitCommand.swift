import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram
import TomboloCommunity

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Create the database of this device.",
        discussion: """
            Running it again keeps the device and all its records. With --catalog, it also adds the collections, fields, \
            and indexes of the file that the database does not have, and drops indexes that the file no longer has.
            """)

    @OptionGroup var options: GlobalOptions
    @Option(
        help: ArgumentHelp(
            "File of the models, as syncd catalog show prints it. Default: users, avatars, and profiles.",
            valueName: "file"), completion: .file())
    var catalog: String?

    func run() async throws {
        let models = try catalog.map { try CatalogFile.read($0, rule: FieldRule.named) }
        try await options.withClient(creating: true, catalog: models) { client in
            let session = try client.store.session()
            let terminal = options.terminal
            let effect = "the database is ready"
            if terminal.isJSON {
                var line = JSONLine()
                line.set("database", client.settings.store.file)
                line.set("client", session.identity.client.description)
                terminal.say(line, after: effect)
            } else {
                terminal.say("the database is \(client.settings.store.file)", after: effect)
                terminal.say(terminal.dim("this device is \(session.identity.client)"), after: effect)
                if client.settings.server == nil {
                    terminal.note("no server is configured yet: set server.url (syncctl config show)")
                }
            }
        }
    }
}
