import SyncAuthority
import SyncModel
import SyncProgram

/// Formats a conflict on the server as one line for its operator.
enum ConflictText {
    /// Returns the columns, separated by tabs.
    static func line(_ recorded: RecordedConflict, _ catalog: SchemaCatalog) -> TerminalText {
        let conflict = recorded.conflict
        let schema = catalog[conflict.collection]?.field(named: conflict.field)
        let winner =
            conflict.rule == .deleteWins
            ? "deleted by \(author(of: conflict.winner))"
            : "\(conflict.winner.value.displayText(of: schema)) by \(author(of: conflict.winner))"
        let loser = "\(conflict.loser.value.displayText(of: schema)) by \(author(of: conflict.loser))"
        let field = "\(conflict.collection) \(conflict.record).\(conflict.field)"
        return
            "\(recorded.number)\tversion \(recorded.version)\t\(field)\t\(conflict.rule)\tkept: \(winner)\tlost: \(loser)"
    }

    private static func author(of side: Contender) -> String {
        side.account.map { "\($0) on \(side.stamp.client)" } ?? "\(side.stamp.client)"
    }
}
