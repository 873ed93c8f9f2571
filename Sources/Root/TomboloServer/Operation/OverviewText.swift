import SyncAuthority
import SyncModel
import SyncProgram

/// Describes the contents of a server's database in lines of a name and a sentence.
enum OverviewText {
    /// Returns the rows about the history, the models, the spaces, and the clients.
    ///
    /// - Parameter shownSpaces: maximum number of spaces to describe; the others are counted.
    static func rows(
        of overview: AuthorityOverview, hasOwnRule: Bool, shownSpaces: Int
    ) -> [(String, TerminalText)] {
        var rows: [(String, TerminalText)] = [
            ("history", "\(overview.epoch)"), ("models", models(of: overview)),
        ]
        if overview.spaces.isEmpty { rows.append(("space", "none has members or commits")) }
        for space in overview.spaces.prefix(shownSpaces) {
            rows.append(("space", text(space, SpaceAccess(space.summary, hasOwnRule: hasOwnRule))))
        }
        let others = overview.spaces.count - shownSpaces
        if others > 0 { rows.append(("space", "and \(others) more (\(ServerOptions.program.name) status --json)")) }
        let clients: TerminalText =
            overview.clients == 0
            ? "none has pushed"
            : "\(overview.clients) \(overview.clients == 1 ? "has" : "have") pushed (\(ServerOptions.program.name) clients)"
        rows.append(("clients", clients))
        return rows
    }

    /// Returns the rows as lines, with their sentences in one column.
    static func aligned(_ rows: [(String, TerminalText)]) -> [TerminalText] {
        rows.map { name, text in "\(name)\(String(repeating: " ", count: 13 - name.count))\(text)\n" }
    }

    private static func models(of overview: AuthorityOverview) -> TerminalText {
        guard !overview.collections.isEmpty else { return "none are stored before a server has started" }
        let names = overview.collections.map(\.rawValue).sorted().joined(separator: ", ")
        let count = counted(overview.collections.count, "collection")
        return "\(count) (\(names)), revision \(overview.catalogRevision)"
    }

    private static func text(_ space: SpaceOverview, _ access: SpaceAccess) -> TerminalText {
        let summary = space.summary
        let position: TerminalText =
            summary.head == .zero ? "has no commits" : "at version \(summary.head), horizon \(summary.extent.horizon)"
        let parts = [
            "\(summary.space) \(position)", records(of: space), text(access),
            "\(counted(space.conflicts, "conflict"))",
        ]
        return parts.dropFirst().reduce(parts[0]) { "\($0); \($1)" }
    }

    private static func records(of space: SpaceOverview) -> TerminalText {
        let count = counted(space.recordCount, "record")
        guard !space.records.isEmpty else { return "\(count)" }
        let each = space.records.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return "\(count) (\(each.joined(separator: ", ")))"
    }

    private static func text(_ access: SpaceAccess) -> TerminalText {
        switch access {
        case .rule: "access by the rule of the program"
        case .members(let count): "\(counted(count, "member"))"
        case .open: "open to every account"
        case .closed: "closed, without members"
        }
    }

    static func counted(_ count: Int, _ noun: String) -> String {
        switch count {
        case 0: "no \(noun)s"
        case 1: "1 \(noun)"
        default: "\(count) \(noun)s"
        }
    }
}

extension SpaceOverview {
    /// The number of live records in all collections.
    var recordCount: Int { records.values.reduce(0, +) }
}

/// Formats numbers of bytes for people.
enum SizeText {
    /// Returns the size in the largest unit that keeps a digit before the point, such as `1.2 MB`.
    static func text(_ bytes: Int64) -> String {
        guard bytes >= 1_000 else { return "\(bytes) bytes" }
        var (tenths, unit) = (bytes / 100, "kB")
        for larger in ["MB", "GB", "TB"] where tenths >= 10_000 { (tenths, unit) = (tenths / 1_000, larger) }
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
