import SyncCore
import SyncModel

/// What a sync did, and how it ended.
struct SyncReport {
    let ending: SyncEnding
    let before: OutboxSummary
    let after: OutboxSummary
    let session: StoredSession
    let elapsed: Duration

    /// - Throws: the exit status, where it is not success.
    func print(to terminal: Terminal) throws {
        let sent = max(0, before.count - after.count)
        let rejected = max(0, after.journal - before.journal)
        if terminal.isJSON { terminal.say(line(sent, rejected).text) }
        switch ending {
        case .inSync, .stopped:
            if !terminal.isJSON, case .inSync = ending { terminal.say(sentence(sent)) }
            guard rejected > 0 else { return }
            if !terminal.isJSON {
                terminal.note("\(rejected) new in the journal: something was rejected or merged (syncctl journal)")
            }
            throw CommandStatus.rejected
        case .failed(let failure): throw CommandFailure(failure)
        case .offline(let reason):
            throw CommandFailure(.notSynced, "offline: \(reason)", advice: Self.safe)
        case .blocked(let reason): throw CommandFailure(.notSynced, reason, advice: Self.safe)
        case .braked(let deletes, let total):
            throw CommandFailure(
                .failed,
                "the server's copy would delete \(deletes) of the \(total) records here, and nothing proves that it is right",
                advice: "if that is what you expect: syncctl sync --allow-deletes")
        case .syncedElsewhere(let process):
            throw CommandFailure(
                .syncedElsewhere,
                "process \(process.map(String.init) ?? "unknown") syncs this database, and \(after.count) transactions are still in the outbox",
                advice: "see what holds it up with syncctl status")
        case .interrupted: throw CommandFailure(.notSynced, "stopped before the end", advice: Self.safe)
        }
    }

    private static let safe = "what was written is safe in the outbox; try again later"

    private func sentence(_ sent: Int) -> String {
        let spaces = session.spaces.map { "\($0.space) at version \($0.version)" }.joined(separator: ", ")
        return
            "in sync: \(sent) \(sent == 1 ? "transaction" : "transactions") confirmed, \(spaces), in \(elapsed.shortText)"
    }

    private func line(_ sent: Int, _ rejected: Int) -> JSONLine {
        var line = JSONLine()
        line.set("result", word)
        line.set("confirmed", sent)
        line.set("outbox", after.count)
        line.set("journal", after.journal)
        line.set("new_in_journal", rejected)
        line.set(
            "spaces",
            session.spaces.map { space in
                var line = JSONLine()
                line.set("space", space.space.rawValue)
                line.set("version", space.version.rawValue)
                line.set("complete", space.isComplete)
                return line
            })
        return line
    }

    private var word: String {
        switch ending {
        case .inSync: "in_sync"
        case .failed: "failed"
        case .offline: "offline"
        case .blocked: "blocked"
        case .braked: "braked"
        case .syncedElsewhere: "synced_elsewhere"
        case .stopped: "stopped"
        case .interrupted: "interrupted"
        }
    }
}
