import SyncAuthority
import SyncModel
import SyncProgram

/// Formats a conflict on the server as one line for its operator.
enum ConflictText {
    /// Returns the columns, separated by tabs.
    static func line(_ recorded: RecordedConflict) -> TerminalText {
        let conflict = recorded.conflict
        let winner =
            conflict.rule == .deleteWins
            ? "deleted by \(author(of: conflict.winner))"
            : "\(text(conflict.winner.value)) by \(author(of: conflict.winner))"
        let loser = "\(text(conflict.loser.value)) by \(author(of: conflict.loser))"
        let field = "\(conflict.collection) \(conflict.record).\(conflict.field)"
        return
            "\(recorded.number)\tversion \(recorded.version)\t\(field)\t\(conflict.rule)\tkept: \(winner)\tlost: \(loser)"
    }

    private static func author(of side: Contender) -> String {
        side.account.map { "\($0) on \(side.stamp.client)" } ?? "\(side.stamp.client)"
    }

    private static func text(_ value: FieldValue) -> String {
        switch value {
        case .null: "nothing"
        case .boolean(let bool): "\(bool)"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text), .json(let text): "'\(text)'"
        case .reference(let id): "\(id)"
        }
    }
}
