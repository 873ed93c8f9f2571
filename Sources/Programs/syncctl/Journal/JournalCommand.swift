import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// Shows the journal, and restores or dismisses its entries, so that no user input silently disappears.
struct JournalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract:
            "Show changes that were rejected, merged, overwritten, cancelled, or lost, and restore or dismiss them.",
        subcommands: [ListJournal.self, ShowJournal.self, RestoreJournal.self, DismissJournal.self],
        defaultSubcommand: ListJournal.self)
}

struct ListJournal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the open entries, newest first.")

    @OptionGroup var options: GlobalOptions
    @Flag(help: "Include entries that were restored or dismissed.") var all = false
    @Option(parsing: .unconditional, help: "Maximum number of entries to list.") var limit = 100
    @Option(parsing: .unconditional, help: ArgumentHelp("List only entries older than this one.", valueName: "entry"))
    var before: Int64?

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            let terminal = options.terminal
            var entries: [JournalEntry] = []
            while entries.count < limit {
                let page = try store.journal(
                    state: all ? nil : .active, after: entries.last?.number ?? before, limit: limit - entries.count)
                guard !page.isEmpty else { break }
                entries += page
            }
            if terminal.isJSON {
                let clients = try store.clients()
                for entry in entries {
                    terminal.say(JournalShape.line(entry, catalog: store.catalog, clients: clients))
                }
            } else if entries.isEmpty {
                let place: TerminalText = before.map { "the journal before entry \($0)" } ?? "the journal"
                terminal.note(all ? "\(place) is empty" : "no entry of \(place) needs attention")
            } else {
                var table = Table([
                    .init(title: "ENTRY", isNumber: true), .init(title: "WHEN"), .init(title: "WHAT"),
                    .init(title: "STATE"), .init(title: "WHY"),
                ])
                for entry in entries {
                    table.add([
                        String(entry.number), TimeText.text(entry.at), JournalShape.what(entry), entry.state.rawValue,
                        JournalShape.why(entry),
                    ])
                }
                table.print(to: terminal)
            }
        }
    }
}

struct ShowJournal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one entry with all its values.")

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Number of the entry.") var entry: Int64

    func run() async throws {
        try await options.withClient { client in
            let terminal = options.terminal
            let store = try client.store
            let found = try store.requiredEntry(entry)
            let (rows, clients) = (try JournalShape.serverRows(of: found, in: store), try store.clients())
            if terminal.isJSON {
                terminal.say(JournalShape.line(found, rows: rows, catalog: store.catalog, clients: clients))
            } else {
                for line in JournalShape.lines(found, rows: rows, catalog: store.catalog, clients: clients) {
                    terminal.say("\(line)")
                }
            }
        }
    }
}

struct RestoreJournal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Write the changes of entries again, over the current records.",
        discussion: """
            A rejected, cancelled, or lost transaction is written again as it was. For a merged or overwritten one, the \
            values that lost are written again. A deleted record is created again under a new id, together with the \
            deleted records that it requires, and entries that refer to the deleted record are changed to the new id.
            """)

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Numbers of the entries, in the order in which to restore them.") var entries: [Int64] = []
    @Flag(
        help: """
            Restore everything that was lost by a restored server or with a damaged database: all open entries listed as \
            lost. Of several values of one field, only one is restored, that of the newest entry or of the one that \
            creates the record. The others stay in the journal, and so do changes of fields that have been changed \
            since, and changes that would empty a field.
            """)
    var lost = false

    func validate() throws {
        guard lost != !entries.isEmpty else {
            throw ValidationError("expected the numbers of entries, or --lost")
        }
        guard Set(entries).count == entries.count else {
            throw ValidationError("an entry is named twice; expected each number once")
        }
    }

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            guard lost else {
                // Check all numbers first, so that one that is unknown or was restored before prevents all restores.
                for entry in entries { try store.requiredEntry(entry).requireNotRestored() }
                return try restore(entries, in: store, client)
            }
            let lost = try store.lostEntries().selection()
            if lost.isEmpty { options.terminal.note("the journal has no open entry about lost changes") }
            let selected = Dictionary(uniqueKeysWithValues: lost.map { ($0.entry, $0) })
            try restore(lost.filter { !$0.isLeft }.map(\.entry), of: selected, in: store, client)
            for entry in lost.filter(\.isLeft).sorted(by: { $0.entry < $1.entry }) {
                sayLeft(entry.entry, because: entry.left)
            }
        }
    }

    /// - Parameter selected: the changes of each lost entry that stay in the journal, with the reasons.
    private func restore(
        _ numbers: [Int64], of selected: [Int64: LostEntries.Selection] = [:],
        in store: any LocalStore, _ client: ClientComposition
    ) throws {
        var queue = RestoreQueue(numbers)
        let known = Set(try store.droppedReferences())
        // Some entries may be restored before one ends the command.
        let result = Result { try restoreEach(&queue, of: selected, in: store, client) }
        sayDropped(try store.droppedReferences().filter { !known.contains($0) })
        try result.get()
        guard let first = queue.failures.first else { return }
        guard numbers.count > 1 else { throw first.error }
        for failure in queue.failures.dropFirst() {
            options.terminal.note("entry \(failure.entry) was not restored: \(failure.error.message)")
        }
        throw StoreError(first.error.code, "entry \(first.entry) was not restored: \(first.error.message)")
    }

    private func restoreEach(
        _ queue: inout RestoreQueue, of selected: [Int64: LostEntries.Selection],
        in store: any LocalStore, _ client: ClientComposition
    ) throws {
        var saved = false
        while let number = queue.next() {
            do {
                let before = try store.journal(state: nil, limit: 1).first?.number ?? 0
                let sequences = try restore(
                    number, leaving: selected[number]?.leftChanges ?? [], in: store, client)
                if !sequences.isEmpty { saved = true }
                let rest = try store.lostEntry(after: before)
                if let selected = selected[number], sequences.isEmpty, rest == nil,
                    let reasons = try reasonsOfChange(selected, in: store)
                {
                    sayLeft(number, because: reasons)
                    continue
                }
                say(number, sequences, rest: rest?.number, isSaved: saved)
                if let rest, let reasons = try reasons(for: rest, selected[number], in: store) {
                    sayLeft(rest.number, because: reasons)
                }
            } catch {
                try queue.refused(error)
            }
        }
    }

    /// Returns why a restore has left changes of an entry; nil if they only need a record that is missing.
    private func reasons(
        for rest: JournalEntry, _ selected: LostEntries.Selection?, in store: any LocalStore
    ) throws(StoreError) -> [LostChange: LostEntries.Obstacle]? {
        if let left = selected?.left, !left.isEmpty { return left }
        // A sync may have brought other values since the entries were selected.
        guard selected != nil, case .lost(let changes) = rest.event else { return nil }
        let obstacles = try store.obstacles(to: changes)
        return obstacles.isEmpty ? nil : obstacles
    }

    /// Returns why an entry stays as it is, because of changes since it was selected; nil if it was restored.
    private func reasonsOfChange(
        _ selected: LostEntries.Selection, in store: any LocalStore
    ) throws(StoreError) -> [LostChange: LostEntries.Obstacle]? {
        guard let entry = try store.journalEntry(selected.entry), entry.state == .active,
            case .lost(let changes) = entry.event
        else { return nil }
        return try store.obstacles(to: changes)
    }

    /// Reports the references that the restored records lack.
    private func sayDropped(_ references: [DroppedReference]) {
        if options.json {
            for reference in references {
                var line = JSONLine()
                line.set("result", "reference_left_out")
                line.set("type", reference.record.collection.rawValue)
                line.set("id", reference.record.id.description)
                line.set("field", reference.field.rawValue)
                line.set("target", reference.target.id.description)
                options.terminal.say(line, after: nil)
            }
            return
        }
        for reference in references.prefix(Self.shownReferences) {
            options.terminal.note(
                "\(reference.record) is here without its \(reference.field), because \(reference.target) is not here; restoring an entry that creates it sets the reference"
            )
        }
        if references.count > Self.shownReferences {
            options.terminal.note("… and \(references.count - Self.shownReferences) more references were left out")
        }
    }

    private static let shownReferences = 10

    private func restore(
        _ entry: Int64, leaving left: LeftChanges, in store: any LocalStore, _ client: ClientComposition
    ) throws(StoreError) -> [OutboxSequence] {
        let runtime = client.runtime
        return try store.restore(journal: entry, leaving: left, now: runtime.now()) {
            var random = runtime.generator
            return RecordID.make(at: runtime.now(), random: &random)
        }
    }

    /// Reports an entry that stays in the journal.
    private func sayLeft(_ entry: Int64, because obstacles: [LostChange: LostEntries.Obstacle]) {
        var reasons: [TerminalText] = []
        if obstacles.values.contains(.outdated) {
            reasons.append("its fields have other values now, which may be newer")
        }
        if obstacles.values.contains(.emptiesField) { reasons.append("it would empty fields") }
        if obstacles.values.contains(.isElsewhere) { reasons.append("a record's id is in use in another space") }
        let others = Set(
            obstacles.values.compactMap { if case .otherEntry(let number) = $0 { number } else { nil } }
        ).sorted()
        switch others.count {
        case 0: break
        case 1: reasons.append("entry \(others[0]) has another value of the same field")
        default: reasons.append("other entries have other values of its fields")
        }
        if options.json {
            var line = JSONLine()
            line.set("entry", entry)
            line.set("result", "left")
            if others.count == 1 { line.set("selected", others[0]) }
            options.terminal.say(line, after: nil)
        } else {
            // The state of the records may have changed again.
            let first = reasons.first ?? "its records have changed since the command began"
            let reason = reasons.dropFirst().reduce(first) { "\($0), and \($1)" }
            let advice: TerminalText =
                obstacles.values.allSatisfy { $0 == .isElsewhere }
                ? "if you want its values, create a new record with them, and then dismiss the entry"
                : "restore it by its number if you want its values"
            options.terminal.say("entry \(entry) was left: \(reason); \(advice)")
        }
    }

    private func say(_ entry: Int64, _ sequences: [OutboxSequence], rest: Int64?, isSaved: Bool) {
        let effect = isSaved ? Terminal.saved : nil
        if options.json {
            var line = JSONLine()
            line.set("entry", entry)
            line.set("result", sequences.isEmpty ? "unchanged" : "restored")
            if let first = sequences.first { line.set("outbox", first.rawValue) }
            line.set("transactions", sequences.count)
            if let rest { line.set("rest", rest) }
            options.terminal.say(line, after: effect)
        } else {
            let answer: TerminalText =
                switch sequences.count {
                case 0: "entry \(entry) would change nothing: the records already have its values"
                case 1: "entry \(entry) was restored: it is in the outbox as transaction \(sequences[0])"
                default: "entry \(entry) was restored: it is in the outbox as \(sequences.count) transactions"
                }
            let left: TerminalText =
                if let rest { "; its other changes are entry \(rest) now" } else { "" }
            options.terminal.say("\(answer)\(left)", after: effect)
        }
    }
}

extension LocalStore {
    fileprivate func requiredEntry(_ number: Int64) throws -> JournalEntry {
        guard let entry = try journalEntry(number) else {
            throw CommandError(
                .failed, "there is no entry \(number) in the journal", advice: "syncctl journal list --all shows all")
        }
        return entry
    }

    /// Returns the newest active entry if it is about lost changes, and newer than `number`; nil otherwise.
    /// A restore adds such an entry for changes that require a missing record.
    fileprivate func lostEntry(after number: Int64) throws(StoreError) -> JournalEntry? {
        guard let newest = try journal(state: .active, limit: 1).first, newest.number > number,
            case .lost = newest.event
        else { return nil }
        return newest
    }
}

struct DismissJournal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss", abstract: "Mark entries as dismissed. They stay in the journal.")

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Numbers of the entries.") var entries: [Int64] = []
    @Flag(help: "Dismiss all open entries.") var all = false

    func validate() throws {
        guard all != !entries.isEmpty else { throw ValidationError("expected the numbers of entries, or --all") }
    }

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            var count = 0
            var handled: [JournalEntry] = []
            if all {
                count = try store.dismissJournal(upTo: .max)
            } else {
                let found = try Set(entries).sorted().map(store.requiredEntry)
                handled = found.filter { $0.state != .active }
                for entry in found where entry.state == .active {
                    try store.dismiss(journal: entry.number)
                    count += 1
                }
            }
            if options.json {
                var line = JSONLine()
                line.set("dismissed", count)
                options.terminal.say(line, after: Terminal.saved)
            } else {
                options.terminal.say(
                    "dismissed \(count) \(count == 1 ? "entry" : "entries")", after: Terminal.saved)
                for entry in handled {
                    options.terminal.note("entry \(entry.number) is \(entry.state.rawValue) already")
                }
            }
        }
    }
}
