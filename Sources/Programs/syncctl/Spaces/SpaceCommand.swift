import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// Lists the spaces that this device follows, and follows or unfollows one.
struct SpaceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "space", abstract: "Show the spaces that this device keeps in sync, and change them.",
        discussion: """
            A device keeps the space default in sync, and each space that it follows. It also follows a space when \
            something is written there. A sync that is running takes over each change by itself.
            """,
        subcommands: [ListSpaces.self, FollowSpace.self, UnfollowSpace.self], defaultSubcommand: ListSpaces.self)
}

struct ListSpaces: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the spaces that this device keeps in sync.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await options.withClient { client in
            let terminal = options.terminal
            let spaces = try client.store.followedSpaces()
            guard !terminal.isJSON else {
                for space in spaces { terminal.say(space.line) }
                return
            }
            var table = Table([
                .init(title: "SPACE"), .init(title: "VERSION", isNumber: true), .init(title: "STATE"),
            ])
            for space in spaces {
                table.add([space.space.rawValue, space.version.description, space.state])
            }
            table.print(to: terminal)
        }
    }
}

struct FollowSpace: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow", abstract: "Keep a space in sync from now on.",
        discussion: "The next sync downloads its records. The account needs the right to read it.")

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Name of the space.") var name: String

    func run() async throws {
        try await options.withClient { client in
            let space = try SpaceID(argument: name)
            let isNew = try client.store.follow(space)
            if options.json {
                var line = JSONLine()
                line.set("space", space.rawValue)
                line.set("result", isNew ? "followed" : "unchanged")
                options.terminal.say(line, after: isNew ? Terminal.saved : nil)
            } else if isNew {
                options.terminal.say(
                    "following \(space); syncctl sync downloads its records", after: Terminal.saved)
            } else {
                options.terminal.say("this device follows \(space) already")
            }
        }
    }
}

struct UnfollowSpace: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unfollow", abstract: "Remove a space and its records from this device.",
        discussion: """
            Nothing changes on the server and on other devices. The command fails, and changes nothing, while the \
            outbox has unanswered transactions of the space, while the journal has open entries about lost, merged, or \
            overwritten values of the space, or while a restored server or a repaired database has not shown all records of \
            the space again. Rejected transactions stay in the journal.
            """)

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Name of the space.") var name: String

    func run() async throws {
        try await options.withClient { client in
            let space = try SpaceID(argument: name)
            let removed = try client.store.unfollow(space)
            if options.json {
                var line = JSONLine()
                line.set("space", space.rawValue)
                line.set("result", removed == nil ? "unchanged" : "unfollowed")
                if let removed { line.set("removed", removed) }
                options.terminal.say(line, after: removed == nil ? nil : Terminal.saved)
            } else if let removed {
                options.terminal.say(
                    "unfollowed \(space): removed \(removed) \(removed == 1 ? "record" : "records") from this device",
                    after: Terminal.saved)
            } else {
                options.terminal.say("this device does not follow \(space)")
            }
        }
    }
}

extension StoredSpace {
    /// The state of the space for the table.
    fileprivate var state: String {
        guard hasAccess else { return "no access" }
        return isComplete ? "complete" : "not complete"
    }
}
