import ArgumentParser
import LoopbackPage
import SyncBootstrap
import SyncConcurrency
import SyncCore
import SyncModel
import SyncProgram

/// Serves a page on which a person looks at the database of this device, and changes its records.
struct InspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show the database of this device in a browser.",
        discussion: """
            Prints the address of a page, and serves it until Ctrl-C. The page lists the records of every collection, the \
            outbox, the journal, and the status, and follows every change. It creates, changes, and deletes records as \
            syncctl record does. A client or a sync may run on the same database.

            Only browsers on this machine can open the page. The part of the address after # is a secret: everyone who \
            has it can read and change the records until the command ends. Open the address by hand: other users of \
            this machine can read the arguments of programs.
            """)

    @OptionGroup var options: GlobalOptions
    @OptionGroup var home: NewRecordSpace
    @Option(parsing: .unconditional, help: "Port of the page on 127.0.0.1. Default: a free one.") var port = 0

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535") }
    }

    func run() async throws {
        let space = try home.space.map { name throws(CommandError) in try SpaceID(argument: name) }
        try await options.withClient { client in
            let inspector = Inspector(
                store: try client.store, settings: client.settings, runtime: client.runtime, newRecordSpace: space,
                leasing: client.leasing)
            let secret = PageSecret(client.runtime)
            let endWatch = try client.watchOtherProcesses()
            defer { endWatch() }
            let (port, terminal) = (port, options.terminal)
            ProgramSignals.endProcess(afterDeadline: client.settings.stopDeadline)
            try await ProgramSignals.cancelling {
                do {
                    try await InspectCommand.serve(inspector, secret, port: port, terminal)
                } catch is CancellationError {
                    // Ctrl-C is the way to end this command.
                }
            }
        }
    }

    private static func serve(
        _ inspector: Inspector, _ secret: PageSecret, port: Int, _ terminal: Terminal
    ) async throws {
        // The subscription begins before the first read, so that no change is missed.
        let changes = inspector.store.changes.subscribe()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await inspector.news.follow(changes) }
            group.addTask {
                try await PageServer(InspectorPage(inspector: inspector), secret: secret).run(port: port) { address in
                    print(address: address, terminal)
                }
            }
            // The first failure ends both; `waitForAll` would wait for the other one.
            while try await group.next() != nil {}
        }
    }

    private static func print(address: String, _ terminal: Terminal) {
        if terminal.isJSON {
            var line = JSONLine()
            line.set("address", address)
            terminal.say(line)
        } else {
            terminal.say("\(address)")
            terminal.note("open this address in a browser of this machine; Ctrl-C ends the page")
        }
    }
}
