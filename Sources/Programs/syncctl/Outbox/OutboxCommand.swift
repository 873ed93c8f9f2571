import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// Lists the transactions in the outbox, and cancels those that were never sent.
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox", abstract: "List the transactions in the outbox, or cancel one that was never sent.",
        subcommands: [ListOutbox.self, CancelOutbox.self], defaultSubcommand: ListOutbox.self)
}

struct ListOutbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the transactions in the outbox, oldest first.")

    @OptionGroup var options: GlobalOptions
    @Option(parsing: .unconditional, help: "Maximum number of entries to list.") var limit = 100
    @Option(parsing: .unconditional, help: ArgumentHelp("List only entries newer than this one.", valueName: "entry"))
    var after: Int64?

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            let terminal = options.terminal
            let entries = try store.outbox(after: after.map(OutboxSequence.init), limit: limit)
            let summary = try store.outboxSummary()
            if terminal.isJSON {
                for entry in entries { terminal.say(entry.line) }
            } else if entries.isEmpty {
                terminal.note(
                    summary.count == 0
                        ? "the outbox is empty"
                        : "no entries after entry \(after ?? 0); \(summary.count) in total")
            } else {
                var table = Table([
                    .init(title: "ENTRY", isNumber: true), .init(title: "STATE"), .init(title: "CHANGES"),
                ])
                for entry in entries {
                    table.add([
                        entry.sequence.description, entry.words, TransactionText.summary(entry.transaction),
                    ])
                }
                table.print(to: terminal)
                if let last = entries.last?.sequence, try !store.outbox(after: last, limit: 1).isEmpty {
                    terminal.note("\(entries.count) of \(summary.count); --after \(last) lists the next ones")
                }
            }
        }
    }
}

extension OutboxEntry {
    /// The entry as JSON for scripts.
    var line: JSONLine {
        var line = JSONLine()
        line.set("entry", sequence.rawValue)
        switch state {
        case .waiting: line.set("state", "waiting")
        case .sent(let number, let attempts):
            line.set("state", "sent")
            line.set("number", number.rawValue)
            line.set("attempts", attempts)
        case .answered(let number, let version):
            line.set("state", "answered")
            line.set("number", number.rawValue)
            line.set("version", version.rawValue)
        }
        line.set("held_for", heldFor)
        line.set("space", transaction.space.rawValue)
        line.set("changes", transaction.mutations.map(TransactionText.line))
        return line
    }

    /// The state of the entry, for people.
    var words: String {
        if let heldFor { return "held: the server does not know \(heldFor)" }
        return state.words
    }
}

extension OutboxEntry.State {
    var words: String {
        switch self {
        case .waiting: "waiting"
        case .sent(let number, let attempts): "sent as \(number), \(attempts) \(attempts == 1 ? "try" : "tries")"
        case .answered(_, let version): "applied at \(version)"
        }
    }
}

struct CancelOutbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel a transaction that was never sent.",
        discussion:
            "Transactions that depend on it are cancelled too. All of them stay in the journal, from which they can be restored."
    )

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Number of the entry to cancel.") var entry: Int64

    func run() async throws {
        try await options.withClient { client in
            try client.store.cancel(OutboxSequence(rawValue: entry), now: client.runtime.now())
            if options.json {
                var line = JSONLine()
                line.set("entry", entry)
                line.set("result", "cancelled")
                options.terminal.say(line, after: Terminal.saved)
            } else {
                options.terminal.say(
                    "cancelled entry \(entry); it is now in the journal (syncctl journal)", after: Terminal.saved)
            }
        }
    }
}
