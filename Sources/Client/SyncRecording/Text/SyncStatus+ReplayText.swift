package import SyncCore

extension SyncStatus {
    /// The status as text in a replay. It consists of codes, without messages.
    package var replayText: String {
        var parts = [connection.replayText, "push \(push.replayText)"]
        for space in spaces {
            let extent = space.hasAccess ? "\(space.version)/\(space.head)" : "no access"
            parts.append("\(space.space) \(extent) \(space.pull.replayText)")
        }
        return parts.joined(separator: ", ")
    }
}

extension SyncStatus.Connection {
    fileprivate var replayText: String {
        switch self {
        case .notRunning: "not running"
        case .offline: "offline"
        case .connecting: "connecting"
        case .online: "online"
        case .recovering(let failure, let delay):
            "recovering in \(SecondsText.text(delay)) s after \(failure.code.rawValue)"
        case .waiting(let failure, let delay): "waiting \(SecondsText.text(delay)) s after \(failure.code.rawValue)"
        case .paused(_, let delay): "paused \(SecondsText.text(delay)) s"
        case .storeFailed(let failure, let delay):
            "waiting \(SecondsText.text(delay)) s after \(failure.contactCode)"
        case .refused(let failure): "refused: \(failure.code.rawValue)"
        case .stopped: "stopped"
        }
    }
}

extension SyncStatus.Activity {
    fileprivate var replayText: String {
        switch self {
        case .idle: "idle"
        case .working: "working"
        case .waitingForConnection: "waiting for the connection"
        case .waiting(_, let delay): "waiting \(SecondsText.text(delay)) s"
        case .recovering(_, let delay): "recovering in \(SecondsText.text(delay)) s"
        case .braked(let deletes, let total): "braked before deleting \(deletes) of \(total)"
        }
    }
}
