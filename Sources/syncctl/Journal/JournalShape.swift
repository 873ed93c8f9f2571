import SyncCore
import SyncModel

/// A journal entry as an answer.
enum JournalShape {
    static func what(_ entry: JournalEntry) -> String {
        switch entry.event {
        case .rejected(let transaction, _): "rejected: " + TransactionText.summary(transaction)
        case .merged(let conflicts):
            "merged: " + conflicts.prefix(3).map { "\($0.collection.rawValue).\($0.field)" }.joined(separator: ", ")
                + (conflicts.count > 3 ? ", and \(conflicts.count - 3) more" : "")
        case .cancelled(let transaction): "cancelled: " + TransactionText.summary(transaction)
        case .forgotten(let transaction): "forgotten: " + TransactionText.summary(transaction)
        }
    }

    static func why(_ entry: JournalEntry) -> String {
        switch entry.event {
        case .rejected(_, let rejection): "\(rejection.code): \(rejection.message)"
        case .merged: "others had changed the same fields"
        case .cancelled: "taken back on this device"
        case .forgotten: "the server lost its history, and the one that replaced it does not have this"
        }
    }

    static func lines(_ entry: JournalEntry) -> [String] {
        var lines = [
            "entry    \(entry.number) (\(entry.state.rawValue))", "when     \(TimeText.text(entry.at))",
            "what     \(what(entry))", "why      \(why(entry))",
        ]
        switch entry.event {
        case .rejected(let transaction, _), .cancelled(let transaction), .forgotten(let transaction):
            for mutation in transaction.mutations {
                lines.append("")
                let verb =
                    switch mutation.intent {
                    case .create: "create"
                    case .update: "change"
                    case .delete: "delete"
                    }
                lines.append("\(verb) \(mutation.collection.rawValue) \(mutation.record)")
                for (field, value) in mutation.patch { lines.append("  \(field): \(TransactionText.text(value))") }
            }
        case .merged(let conflicts):
            for conflict in conflicts {
                lines.append("")
                lines.append(
                    "\(conflict.collection.rawValue) \(conflict.record), field \(conflict.field), by the rule \(conflict.rule.rawValue)"
                )
                lines.append(
                    "  kept: \(TransactionText.text(conflict.winner.value)), of \(conflict.winner.stamp.client)")
                lines.append("  lost: \(TransactionText.text(conflict.loser.value)), of \(conflict.loser.stamp.client)")
            }
        }
        return lines
    }

    static func line(_ entry: JournalEntry) -> JSONLine {
        var line = JSONLine()
        line.set("entry", entry.number)
        line.set("at", TimeText.text(entry.at))
        if let sequence = entry.sequence { line.set("outbox", sequence.rawValue) }
        line.set("state", entry.state.rawValue)
        switch entry.event {
        case .rejected(let transaction, let rejection):
            line.set("event", "rejected")
            line.set("code", rejection.code.rawValue)
            line.set("message", rejection.message)
            line.set("changes", transaction.mutations.map(TransactionText.line))
        case .cancelled(let transaction):
            line.set("event", "cancelled")
            line.set("changes", transaction.mutations.map(TransactionText.line))
        case .forgotten(let transaction):
            line.set("event", "forgotten")
            line.set("changes", transaction.mutations.map(TransactionText.line))
        case .merged(let conflicts):
            line.set("event", "merged")
            line.set("conflicts", conflicts.map(conflictLine))
        }
        return line
    }

    private static func conflictLine(_ conflict: FieldConflict) -> JSONLine {
        var line = JSONLine()
        line.set("type", conflict.collection.rawValue)
        line.set("id", conflict.record.description)
        line.set("field", conflict.field.rawValue)
        line.set("rule", conflict.rule.rawValue)
        line.set("kept", conflict.winner.value)
        line.set("lost", conflict.loser.value)
        return line
    }
}
