import SyncAuthority
import SyncCore
import SyncModel

extension Holdings {
    /// Reads the contents of a device's store.
    mutating func read(_ store: SimulatedDevice.Store) throws {
        let session = try store.session()
        add("identity", "\(session.identity)")
        add("epoch", session.epoch.map { "\($0)" } ?? "none yet")
        for stored in session.spaces {
            add("version of \(stored.space)", "\(stored.version)\(stored.isComplete ? "" : ", incomplete")")
            add("cursor of \(stored.space)", stored.cursor.map { "\($0)" } ?? "none")
        }
        for schema in store.catalog.models {
            add("records of \(schema.collection)", "\(try store.count(matching: RecordQuery(schema.collection)))")
        }
        let summary = try store.outboxSummary()
        add("outbox", "\(summary.waiting) waiting, \(summary.sent) sent, \(summary.answered) answered")
        let journal = try store.wholeJournal()
        for (name, count) in Self.counts(of: journal) { add(name, count) }
        let entries = try store.outbox(limit: SimulationLimits.recordedOutboxEntries)
        outbox = entries.map { "\($0.sequence) \($0.state.words): \($0.transaction.words)" }
        unlisted = summary.count - entries.count
    }

    /// Returns the number of journal entries by event, and how many of them are active.
    private static func counts(of journal: [JournalEntry]) -> [(String, String)] {
        ["rejected", "merged", "overwritten", "notices removed", "cancelled", "lost"].map { event in
            let entries = journal.filter { $0.event.word == event }
            let active = entries.count { $0.state == .active }
            return (
                "journal, \(event)", active == 0 ? "\(entries.count)" : "\(entries.count), \(active) of them active"
            )
        }
    }

    /// Reads the contents of an authority.
    mutating func read(_ authority: any AuthorityService, now: WallTime) throws {
        let reader = AccessOracle.reader
        add("epoch", "\(try authority.hello(for: reader, now: now).epoch)")
        let heads = try authority.heads(of: WorldSetting.allSpaces, for: reader, now: now).heads
        for (space, head) in heads.sorted(by: { $0.key < $1.key }) where space == .default || head > .zero {
            add("head of \(space)", "\(head)")
        }
    }
}

extension OutboxEntry.State {
    fileprivate var words: String {
        switch self {
        case .waiting: "waiting"
        case .sent(let number, let attempts): "sent as \(number), \(attempts) times"
        case .answered(let number, let version): "\(number) answered at \(version)"
        }
    }
}

extension JournalEntry.Event {
    fileprivate var word: String {
        switch self {
        case .rejected: "rejected"
        case .merged: "merged"
        case .overwritten: "overwritten"
        case .noticesRemoved: "notices removed"
        case .cancelled: "cancelled"
        case .lost: "lost"
        }
    }
}
