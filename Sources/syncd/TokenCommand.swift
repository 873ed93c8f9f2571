import ArgumentParser
import Foundation
import SyncBootstrap

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Tokens that clients show this server.",
        discussion: "A server that runs takes note of changes by itself.",
        subcommands: [AddToken.self, ListTokens.self, RemoveTokens.self])
}

struct AddToken: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Make a token for a principal, and print it this once.")

    @OptionGroup var options: ServerOptions
    @Argument(help: "Whose token it is: the name that the server knows them by.") var name: String
    @Option(
        help: ArgumentHelp("Write the token into this new file instead of printing it.", valueName: "file"),
        completion: .file())
    var output: String?

    func run() async throws {
        let token = try options.server().tokens.add(name)
        if let output {
            try token.write(to: output)
        } else {
            FileHandle.standardOutput.write(Data((token.secret + "\n").utf8))
        }
    }
}

struct ListTokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Who has tokens, and how many.")

    @OptionGroup var options: ServerOptions

    func run() async throws {
        for entry in try options.server().tokens.principals() {
            FileHandle.standardOutput.write(Data("\(entry.name)\t\(entry.tokens)\n".utf8))
        }
    }
}

struct RemoveTokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take back all tokens of a principal.")

    @OptionGroup var options: ServerOptions
    @Argument(help: "Whose tokens.") var name: String

    func run() async throws {
        guard try options.server().tokens.remove(name) > 0 else {
            throw ConfigurationProblem("\(name) has no tokens", advice: "syncd token list shows who has")
        }
    }
}
