import SyncAuthority
import SyncModel
import SyncProgram

/// The output of `status`.
struct ServerStatus {
    let overview: AuthorityOverview
    let database: ServerDatabase
    /// Whether a rule of the program decides about spaces, in place of members.
    let hasOwnRule: Bool
    let environment: DeploymentEnvironment

    /// Maximum number of spaces that the text shows. A server may have thousands.
    static let shownSpaces = 20

    /// The lines for people.
    var lines: [TerminalText] {
        var rows: [(String, TerminalText)] = []
        if case .sqlite(_, _, _, let isServed) = database {
            rows.append(("server", isServed ? "a server runs" : "no server runs"))
        }
        rows += OverviewText.rows(of: overview, hasOwnRule: hasOwnRule, shownSpaces: Self.shownSpaces)
        switch database {
        case .sqlite(let file, let bytes, let walBytes, _):
            let wal: TerminalText = walBytes > 0 ? ", and \(SizeText.text(walBytes)) in its WAL" : ""
            rows.append(("database", "\(file): \(SizeText.text(bytes))\(wal)"))
        case .postgres(let schema): rows.append(("database", "PostgreSQL, schema \(schema)"))
        }
        rows.append(("environment", "\(environment.rawValue)"))
        return OverviewText.aligned(rows)
    }

    /// The line for scripts.
    var line: JSONLine {
        var line = JSONLine()
        switch database {
        case .sqlite(_, _, _, let isServed): line.set("server_runs", isServed)
        case .postgres: line.set("server_runs", nil as String?)
        }
        line.set("epoch", overview.epoch.rawValue)
        line.set("collections", overview.collections.map(\.rawValue))
        line.set("models_revision", overview.catalogRevision)
        line.set("spaces", overview.spaces.map { $0.line(access: access(to: $0.summary)) })
        line.set("clients", overview.clients)
        switch database {
        case .sqlite(let file, let bytes, let walBytes, _):
            line.set("database", file)
            line.set("database_bytes", bytes)
            line.set("wal_bytes", walBytes)
        case .postgres(let schema): line.set("postgres_schema", schema)
        }
        line.set("environment", environment.rawValue)
        return line
    }

    private func access(to space: SpaceSummary) -> SpaceAccess { SpaceAccess(space, hasOwnRule: hasOwnRule) }
}

/// The accounts that have access to a space.
enum SpaceAccess: Hashable {
    /// A rule of the program decides.
    case rule
    /// Only this number of members.
    case members(Int)
    /// Every account.
    case open
    /// No account, because the space has no members.
    case closed

    init(_ space: SpaceSummary, hasOwnRule: Bool) {
        self =
            if hasOwnRule {
                .rule
            } else if space.members > 0 {
                .members(space.members)
            } else {
                space.space == .default ? .open : .closed
            }
    }

    /// The name of the case for scripts.
    var word: String {
        switch self {
        case .rule: "rule"
        case .members: "members"
        case .open: "open"
        case .closed: "closed"
        }
    }
}

extension SpaceOverview {
    /// The space for scripts.
    fileprivate func line(access: SpaceAccess) -> JSONLine {
        var byCollection = JSONLine()
        for (collection, count) in records.sorted(by: { $0.key < $1.key }) {
            byCollection.set(collection.rawValue, count)
        }
        var line = JSONLine()
        line.set("space", summary.space.rawValue)
        line.set("version", summary.head.rawValue)
        line.set("horizon", summary.extent.horizon.rawValue)
        line.set("records", recordCount)
        line.set("records_by_collection", byCollection)
        line.set("access", access.word)
        line.set("members", summary.members)
        line.set("conflicts", conflicts)
        return line
    }
}
