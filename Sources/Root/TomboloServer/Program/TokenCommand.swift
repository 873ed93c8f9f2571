import ArgumentParser
import Foundation
import SyncAuthority
import SyncProgram
import SyncServerRules

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Manage the bearer tokens of this server.",
        discussion: """
            A running server picks up changes by itself. A token file that it would not accept is not changed.
            """,
        subcommands: [AddToken.self, ListTokens.self, RemoveTokens.self])
}

struct AddToken: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Create a token for a principal, and print it once.")

    @OptionGroup var options: ServerOptions
    @Argument(help: "Name of the principal.", transform: ServerArgument.account) var principal: Principal
    @Option(
        help: ArgumentHelp("Write the token into this new file instead of printing it.", valueName: "file"),
        completion: .file())
    var output: String?

    func run(_ application: ServerApplication) async throws {
        let tokens = try options.server(application).tokens
        if let output {
            try tokens.add(principal.name, writingTo: output)
        } else {
            try tokens.add(principal.name) { token in try ServerOutput.write("\(token.secret)\n") }
        }
    }
}

struct ListTokens: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the principals and the number of their tokens.")

    @OptionGroup var options: ServerOptions

    func run(_ application: ServerApplication) async throws {
        for entry in try options.server(application).tokens.principals() {
            try ServerOutput.write("\(entry.name)\t\(entry.tokens)\n")
        }
    }
}

struct RemoveTokens: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Revoke all tokens of a principal.")

    @OptionGroup var options: ServerOptions
    @Argument(help: "Name of the principal.") var name: String

    func run(_ application: ServerApplication) async throws {
        guard try options.server(application).tokens.remove(name) > 0 else {
            throw ConfigurationError(
                "\(name) has no tokens",
                advice: "\(ServerOptions.program.name) token list shows the principals with tokens")
        }
    }
}
