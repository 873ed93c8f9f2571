import RecordImport
import SyncModel
import SyncProgram

/// Formats transactions for output.
enum TransactionText {
    /// Returns the first three mutations and the number of the others, such as
    /// `create user Ned, change avatar ID (image_url)`.
    ///
    /// A created record is shown by its name, if it has one. All other records are shown by their ids.
    static func summary(_ transaction: Transaction) -> String {
        let shown = transaction.mutations.prefix(3).map(words).joined(separator: ", ")
        let more = transaction.mutations.count - 3
        return more > 0 ? "\(shown), and \(more) more" : shown
    }

    private static func words(_ mutation: Mutation) -> String {
        let word = mutation.collection.rawValue
        switch mutation.intent {
        case .create(let patch):
            guard let name = RecordNames.nameField(of: mutation.collection), case .text(let text)? = patch[name] else {
                return "create \(word) \(mutation.record)"
            }
            return "create \(word) \(text)"
        case .update(let edits):
            return "change \(word) \(mutation.record) (" + edits.map(\.field.rawValue).joined(separator: ", ") + ")"
        case .delete: return "delete \(word) \(mutation.record)"
        }
    }

    static func line(_ mutation: Mutation) -> JSONLine {
        var line = JSONLine()
        switch mutation.intent {
        case .create: line.set("intent", "create")
        case .update: line.set("intent", "update")
        case .delete: line.set("intent", "delete")
        }
        line.set("type", mutation.collection.rawValue)
        line.set("id", mutation.record.description)
        for (field, value) in mutation.patch { line.set(field.rowKey, value) }
        return line
    }
}
