import ArgumentParser
import SyncModel
import SyncProgram
import SyncServerRules

struct CatalogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalog", abstract: "Show the models of this server, or check a file of models.",
        discussion: """
            A server remembers the models with which its records were written. At its next start, new collections and new \
            optional fields apply by themselves. A server whose models lack a stored collection or field, change the type \
            or the target of a field, add a required field to a stored collection, or make an optional field required does \
            not start, and names each of them.
            """,
        subcommands: [ShowCatalog.self, CheckCatalog.self])
}

struct ShowCatalog: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print the models of this server, as a file for --catalog.",
        discussion: """
            Prints the models of the program, or those of the configured catalog (--catalog). With the flag --folder and \
            no configured catalog, prints the models that are stored in that folder, while its server is stopped.
            """)

    @OptionGroup var options: ServerOptions

    func run(_ application: ServerApplication) async throws {
        let catalog = try options.withServer(application) { server in
            guard let folder = options.folder, server.settings.catalogFile == nil else {
                return server.application.catalog
            }
            guard let stored = try server.storedCatalog else {
                throw ConfigurationError(
                    "no models are stored in \(folder) yet", advice: "a server stores its models when it starts")
            }
            return stored
        }
        try ServerOutput.write(TerminalText(document: try CatalogFile.text(catalog)))
    }
}

struct CheckCatalog: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Compare a file of models with the stored ones, while the server is stopped.",
        discussion: "Changes nothing. Exits with status 78 if a server with these models would not start.")

    @OptionGroup var options: ServerOptions
    @Argument(help: "File of the models, as JSON.", completion: .file()) var file: String

    func run(_ application: ServerApplication) async throws {
        let catalog = try CatalogFile.read(file, rule: application.rule)
        let stored = try options.withServer(application) { server in try server.storedCatalog }
        guard let stored else {
            try ServerOutput.write("no models are stored yet, so any models fit\n")
            return
        }
        let change = CatalogChange(from: stored, to: catalog)
        try change.requireCompatible()
        for name in change.additions { try ServerOutput.write("adds \(name)\n") }
        for words in change.adjustments { try ServerOutput.write("changes \(words)\n") }
        try ServerOutput.write("the models fit the stored ones\n")
    }
}
