import SyncCore
import SyncModel
import SyncProgram

/// The result of a sync.
struct SyncReport {
    let ending: SyncEnding
    let after: OutboxSummary
    let session: StoredSession
    let elapsed: Duration
    /// The number of new journal entries.
    let newEntries: Int
    /// The number of those entries that are rejected or cancelled transactions.
    let rejected: Int
    /// The number of transactions that were in the outbox at the beginning and that the server has applied.
    ///
    /// This is a lower bound: the outbox may contain transactions that were written during the sync.
    let confirmed: Int

    /// The state before the sync.
    struct Start {
        let outbox: OutboxSummary
        /// The number of the newest entry of the journal; 0 when there was none.
        let journal: Int64

        init(_ store: any LocalStore) throws(StoreError) {
            outbox = try store.outboxSummary()
            journal = try store.journal(state: nil, limit: 1).first?.number ?? 0
        }
    }

    init(ending: SyncEnding, since start: Start, store: any EngineStore & LocalStore, elapsed: Duration)
        throws(StoreError)
    {
        let before = start.outbox
        self.ending = ending
        self.elapsed = elapsed
        after = try store.outboxSummary()
        session = try store.session()
        // New entries are found by their numbers, not by a difference of counts: when the account loses access to a
        // space, entries with other users' data are deleted.
        var (newEntries, rejected) = (0, 0)
        try store.forEachJournalEntry(state: nil) { entry in
            guard entry.number > start.journal else { return false }
            newEntries += 1
            switch entry.event {
            case .rejected, .cancelled: rejected += 1
            case .merged, .overwritten, .noticesRemoved, .lost: break
            }
            return true
        }
        (self.newEntries, self.rejected) = (newEntries, rejected)
        confirmed = max(0, before.count - after.count - rejected)
    }

    /// Returns the words for the process that syncs the database.
    ///
    /// - Parameter process: its id; nil if unknown.
    private static func name(of process: Int32?) -> String { process.map { "process \($0)" } ?? "another process" }

    /// Prints the report.
    ///
    /// - Throws: `CommandExitStatus` or `CommandError`, unless the exit status is 0.
    func print(to terminal: Terminal) throws {
        let effect: String? = if case .inSync = ending { "the sync is complete" } else { nil }
        if terminal.isJSON {
            terminal.say(line, after: effect)
        } else {
            if let sentence { terminal.say("\(sentence)", after: effect) }
            if newEntries > 0 {
                terminal.note("\(newEntries) new in the journal (syncctl journal)")
            }
        }
        try checkOutcome()
    }

    /// - Throws: `CommandExitStatus` or `CommandError`, unless the exit status is 0.
    private func checkOutcome() throws {
        switch ending {
        case .inSync, .syncedByOther, .stopped:
            if let failure = missingAccess { throw failure }
            if newEntries > 0 { throw CommandExitStatus.rejected }
        case .held:
            // The operator can give the access back, but an upgrade cannot.
            if let failure = missingAccess { throw failure }
            let held =
                after.held == 1
                ? "1 transaction waits until the server knows the collections and fields in it"
                : "\(after.held) transactions wait until the server knows the collections and fields in them"
            throw CommandError(
                .held, "\(held); everything else is in sync",
                advice: "ask the server's operator to upgrade it; syncctl outbox lists the waiting transactions")
        case .failed(let failure): throw CommandError(failure)
        case .offline(let reason):
            throw CommandError(
                .notSynced, "this device is offline: \(reason)", advice: "connect it, then sync; \(CommandError.safe)"
            )
        case .blocked(let reason):
            throw CommandError(
                .notSynced, reason, advice: "syncctl status shows what is waiting; \(CommandError.safe)")
        case .storeFailed(let failure): throw CommandError(failure)
        case .braked(let held):
            let count = after.count
            let unconfirmed =
                count == 0 ? "" : "; \(count) \(count == 1 ? "transaction is" : "transactions are") still in the outbox"
            throw CommandError(
                .unhealthy,
                "the sync would delete \(Self.words(held)) on this device, which may be a mistake of the server\(unconfirmed)",
                advice: "if you expect that, run syncctl sync --allow-deletes")
        case .brakedElsewhere(let process, let message):
            throw CommandError(
                .unhealthy, message,
                advice:
                    "if you expect that, stop \(Self.name(of: process)), which syncs this database, and run syncctl sync --allow-deletes"
            )
        case .syncedElsewhere(let process, let lack):
            let left = after.count == 1 ? "1 transaction is" : "\(after.count) transactions are"
            throw CommandError(
                .syncedElsewhere,
                "\(Self.name(of: process)) syncs this database, and \(after.count == 0 ? lack ?? "has not ended" : "\(left) still in the outbox")",
                advice: "syncctl status shows the reason")
        case .interrupted: throw CommandError(.notSynced, "the sync was interrupted", advice: CommandError.safe)
        }
    }

    /// Lists names or sentences about spaces, of which there may be hundreds.
    private static func list(_ items: [String]) -> String {
        let rest = items.count - shownSpaces
        return items.prefix(shownSpaces).joined(separator: ", ") + (rest > 0 ? ", and \(rest) more" : "")
    }

    private static let shownSpaces = 10

    /// Describes all deletions to which `--allow-deletes` consents.
    private static func words(_ held: [HeldDeletes]) -> String {
        let total = held.reduce(0) { $0 + $1.deletes }
        let parts = held.map { "\($0.deletes) of \($0.total) in the space \($0.space)" }
        return "\(total) \(total == 1 ? "record" : "records") (\(parts.joined(separator: ", ")))"
    }

    /// The error if the account may not read a space that this device follows; nil if it may read all of them.
    private var missingAccess: CommandError? {
        let names = session.spaces.filter { !$0.hasAccess }.map(\.space.rawValue)
        guard !names.isEmpty else { return nil }
        let it = names.count == 1 ? "it" : "them"
        let inJournal = rejected > 0 ? "; your rejected changes are in the journal" : ""
        return CommandError(
            .refused,
            "the account may not read \(Self.list(names)), or the server does not have \(it): the server's records of \(it) were removed from this device\(inJournal)",
            advice:
                "check server.token-file (syncctl config show)"
                + (names == [SpaceID.default.rawValue]
                    ? " or ask the server's operator: every device follows this space"
                    : ", ask the server's operator, or give the space up with syncctl space unfollow")
        )
    }

    private var sentence: String? {
        switch ending {
        case .inSync:
            var parts = ["\(confirmed) \(confirmed == 1 ? "transaction" : "transactions") confirmed"]
            if rejected > 0 { parts.append("\(rejected) rejected or cancelled") }
            parts.append(
                Self.list(session.spaces.filter(\.hasAccess).map { "\($0.space) at version \($0.version)" }))
            return "\(verdict): " + parts.filter { !$0.isEmpty }.joined(separator: ", ") + ", in \(elapsed.shortText)"
        case .syncedByOther(let process):
            let rest = missingAccess == nil ? "everything" : "everything else"
            return "\(verdict): \(Self.name(of: process)) has sent and downloaded \(rest)"
        default: return nil
        }
    }

    /// The beginning of the sentence for a completed sync. It must agree with the exit status.
    private var verdict: String { missingAccess == nil ? "in sync" : "synced as far as the server allows" }

    private var line: JSONLine {
        var line = JSONLine()
        line.set("result", word)
        line.set("confirmed", confirmed)
        line.set("rejected", rejected)
        line.set("outbox", after.count)
        line.set("held", after.held)
        line.set("journal", after.activeJournalEntries)
        line.set("new_in_journal", newEntries)
        line.set("spaces", session.spaces.map(\.line))
        return line
    }

    private var word: String {
        switch ending {
        case .inSync: "in_sync"
        case .held: "held"
        case .syncedByOther: "synced_by_other"
        case .failed: "failed"
        case .offline: "offline"
        case .blocked: "blocked"
        case .storeFailed: "store_failed"
        case .braked, .brakedElsewhere: "braked"
        case .syncedElsewhere: "synced_elsewhere"
        case .stopped: "stopped"
        case .interrupted: "interrupted"
        }
    }
}
