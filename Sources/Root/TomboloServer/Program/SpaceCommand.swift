import ArgumentParser
import SyncAuthority
import SyncModel
import SyncProgram
import SyncServerRules

struct SpaceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "space", abstract: "Manage who may read and write in which space.",
        discussion: """
            A space with members is open to its members only. A reader reads, and a writer reads and writes. Without \
            members, the space default is open to every account, and any other space to nobody.

            The commands work while servers run, over SQLite and over PostgreSQL. A change takes effect with the next \
            request of the account. Devices of an account that loses a space remove the space from their databases, and \
            keep unconfirmed changes in their journals.
            """,
        subcommands: [SetMember.self, RemoveMember.self, ListSpaces.self, ListMembers.self])
}

struct SetMember: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Make an account a reader or a writer of a space.",
        discussion: """
            The role replaces the former one. The account needs no token yet, and the space no record. Account names are \
            those of tokens, and the subjects of JSON Web Tokens.
            """)

    @OptionGroup var options: ServerOptions
    @Argument(help: "Name of the space.", transform: ServerArgument.space) var space: SpaceID
    @Argument(help: "Name of the account.", transform: ServerArgument.account) var account: Principal
    @Argument(help: "reader or writer. A writer also reads.", transform: ServerArgument.role) var role: SpaceRole
    @Flag(help: "Agree that the first member of the space default closes it to all other accounts.")
    var closeDefault = false

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let text = try server.members.set(account, in: space, to: role, closingDefault: closeDefault)
            try ServerOutput.write(text, after: "\(account.name) is a \(role.rawValue) of \(space)")
        }
    }
}

struct RemoveMember: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an account from a space.")

    @OptionGroup var options: ServerOptions
    @Argument(help: "Name of the space.", transform: ServerArgument.space) var space: SpaceID
    @Argument(help: "Name of the account.", transform: ServerArgument.account) var account: Principal
    @Flag(help: "Agree that the space default, without its last member, is open to every account.")
    var openDefault = false

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let text = try server.members.remove(account, from: space, openingDefault: openDefault)
            try ServerOutput.write(text, after: "\(account.name) was removed from \(space)")
        }
    }
}

struct ListSpaces: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the spaces that have members or records.",
        discussion: """
            Each line has three columns, separated by tabs: the name of the space, the number of its members, and the \
            version of its newest commit, which is 0 before the first one.
            """)

    @OptionGroup var options: ServerOptions

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            for line in try server.listedMembers.spaces() { try ServerOutput.write(line) }
        }
    }
}

struct ListMembers: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "members", abstract: "List the members of a space and their roles.",
        discussion: "Each line has two columns, separated by a tab: the account, and reader or writer.")

    @OptionGroup var options: ServerOptions
    @Argument(help: "Name of the space.", transform: ServerArgument.space) var space: SpaceID

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let lines = try server.listedMembers.lines(of: space)
            for line in lines { try ServerOutput.write(line) }
            // On standard error, so that a script sees only members.
            if lines.isEmpty { ProgramOutput.note("\(space) has no members\n") }
        }
    }
}
