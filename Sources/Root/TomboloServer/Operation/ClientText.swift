import SyncAuthority
import SyncModel
import SyncProgram

/// Formats a client as one line for its operator.
enum ClientText {
    /// Returns the columns, separated by tabs. A column without a value is `-`.
    static func line(_ summary: ClientSummary) -> TerminalText {
        let identity = summary.client.identity
        let number = summary.lastAnswered?.description ?? "-"
        let outcome = summary.lastOutcome?.word ?? "-"
        let time = summary.lastCommit.map(TimeText.text) ?? "-"
        return
            "\(identity.client)\t\(summary.client.principal.name)\t\(identity.incarnation)\t\(number)\t\(outcome)\t\(time)"
    }

    /// Returns the line for scripts.
    static func json(_ summary: ClientSummary) -> JSONLine {
        let client = summary.client
        var line = JSONLine()
        line.set("client", client.identity.client.description)
        line.set("account", client.principal.name)
        line.set("incarnation", client.identity.incarnation)
        line.set("replaced", client.isReplaced)
        line.set("last_answered", summary.lastAnswered?.rawValue)
        line.set("acknowledged_below", client.ledger.acknowledged.rawValue)
        line.set("outcome", summary.lastOutcome?.word)
        line.set("committed_at", summary.lastCommit.map(TimeText.text))
        return line
    }
}

extension JSONLine {
    fileprivate mutating func set(_ key: String, _ value: Int64?) {
        if let value { set(key, value) } else { set(key, nil as String?) }
    }
}
