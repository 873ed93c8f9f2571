import SyncCore
import SyncModel
import SyncProgram

/// Formats the engine's status for output.
enum StatusText {
    static func connection(_ status: SyncStatus) -> String {
        switch status.connection {
        case .notRunning: "not running"
        case .offline(let reason): "offline: \(reason)"
        case .connecting: "connecting"
        case .online: "online"
        case .waiting(let failure, _), .recovering(let failure, _): "offline: \(failure.message)"
        case .paused(let failure, _): "\(pause(until: status.pausedUntil)): \(failure.message)"
        case .storeFailed(let failure, _): failure.statusMessage
        case .refused(let failure): "refused: \(failure.message)"
        case .stopped: "stopped"
        }
    }

    /// Returns the name of the connection's state in JSON output.
    static func word(_ connection: SyncStatus.Connection) -> String {
        switch connection {
        case .notRunning: "not_running"
        case .offline, .waiting, .recovering: "offline"
        case .paused: "paused"
        case .storeFailed: "store_failed"
        case .connecting: "connecting"
        case .online: "online"
        case .refused: "refused"
        case .stopped: "stopped"
        }
    }

    /// Returns a text about the pause that the server asked for. The time is nil if the server named none.
    static func pause(until time: WallTime?) -> String {
        "the server asked for a pause" + (time.map { " until \(TimeText.text($0))" } ?? "")
    }

    /// The text for a person while the journal has no room for notices of overwritten values.
    static let noticesWait =
        "it is full; the server keeps further notices of overwritten values until you restore or dismiss entries"

    /// Returns a text about the work that is left, for the progress display of `syncctl sync`.
    static func progress(_ status: SyncStatus) -> String {
        guard case .online = status.connection else { return connection(status) }
        var parts: [String] = []
        if status.outbox.count > 0 { parts.append("\(status.outbox.count) to send") }
        for space in status.spaces where !space.hasCaughtUp && space.hasAccess {
            parts.append(space.isComplete ? "fetching \(space.version) of \(space.head)" : "downloading a snapshot")
        }
        return parts.isEmpty ? "finishing" : parts.joined(separator: ", ")
    }

    /// Returns the whole status as one line of text.
    static func sentence(_ status: SyncStatus) -> String {
        var parts = [connection(status)]
        if status.outbox.count > 0 { parts.append("\(status.outbox.count) to send") }
        if status.outbox.held > 0 { parts.append("\(status.outbox.held) of them wait for a server upgrade") }
        if let reason = status.push.obstacle { parts.append("sending waits: \(reason)") }
        if case .online = status.connection, status.isPaused { parts.append(pause(until: status.pausedUntil)) }
        for space in status.spaces {
            var words = "\(space.space)" + (space.hasAccess ? " at \(space.version)" : ": no access")
            if space.head > space.version { words += " of \(space.head)" }
            switch space.pull {
            case .waiting(let reason, _): words += ", waiting: \(reason)"
            case .recovering(let reason, _): words += ", recovering: \(reason)"
            case .braked(let deletes, let total): words += ", paused before deleting \(deletes) of \(total) records"
            case .idle, .working, .waitingForConnection: break
            }
            parts.append(words)
        }
        if status.outbox.activeJournalEntries > 0 {
            parts.append("\(status.outbox.activeJournalEntries) in the journal")
        }
        if status.spaces.contains(where: \.noticesWait) { parts.append("the journal: \(noticesWait)") }
        if case .online = status.connection, status.isInSync { parts.append("in sync") }
        return parts.joined(separator: "; ")
    }

    /// Returns the whole status as a JSON object.
    static func line(_ status: SyncStatus) -> JSONLine {
        var line = JSONLine()
        line.set("connection", word(status.connection))
        line.set("reason", reason(status.connection))
        line.set("paused_until", status.pausedUntil.map(TimeText.text))
        line.set("in_sync", status.isInSync)
        line.set("outbox", status.outbox.count)
        line.set("held", status.outbox.held)
        line.set("journal", status.outbox.activeJournalEntries)
        line.set(
            "spaces",
            status.spaces.map { space in
                var line = JSONLine()
                line.set("space", space.space.rawValue)
                line.set("version", space.version.rawValue)
                line.set("head", space.head.rawValue)
                line.set("complete", space.isComplete)
                line.set("access", space.hasAccess)
                line.set("notices_wait", space.noticesWait)
                return line
            })
        return line
    }

    private static func reason(_ connection: SyncStatus.Connection) -> String? {
        switch connection {
        case .offline(let reason): reason
        case .waiting(let failure, _), .recovering(let failure, _), .paused(let failure, _), .refused(let failure):
            failure.message
        case .storeFailed(let failure, _): failure.message
        case .notRunning, .connecting, .online, .stopped: nil
        }
    }
}
