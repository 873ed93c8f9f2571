package import SyncCore

/// Text of a session's status, made of codes only.
package enum StatusWords {
    package static func text(_ status: SyncStatus) -> String {
        var parts = [connection(status.connection), "push \(activity(status.push))"]
        for space in status.spaces {
            let extent = space.hasAccess ? "\(space.version)/\(space.head)" : "no access"
            parts.append("\(space.space) \(extent) \(activity(space.pull))")
        }
        return parts.joined(separator: ", ")
    }

    private static func connection(_ connection: SyncStatus.Connection) -> String {
        switch connection {
        case .notRunning: "not running"
        case .offline: "offline"
        case .connecting: "connecting"
        case .online: "online"
        case .waiting(let failure, let delay): "waiting \(DurationWords.text(delay)) s after \(failure.code.rawValue)"
        case .refused(let failure): "refused: \(failure.code.rawValue)"
        case .stopped: "stopped"
        }
    }

    private static func activity(_ activity: SyncStatus.Activity) -> String {
        switch activity {
        case .idle: "idle"
        case .working: "working"
        case .held: "held"
        case .waiting(_, let delay): "waiting \(DurationWords.text(delay)) s"
        case .braked(let deletes, let total): "braked before deleting \(deletes) of \(total)"
        }
    }
}
