import LoopbackPage
import SyncAuthority
import SyncCore
import SyncModel
import SyncProgram

/// Answers the calls of the page of a server's database: reads the store, and returns JSON.
///
/// It writes nothing, and each call reads one snapshot. It shows records and accounts, and neither tokens nor the key
/// of the history.
actor ServerInspector {
    private let store: any AuthorityStore
    /// Looks at the database on this machine.
    private let look: @Sendable () throws -> ServerDatabase
    /// The models of this program, for a database that has none yet.
    private let served: SchemaCatalog
    /// Whether a rule of the program decides about spaces, in place of members.
    let hasOwnRule: Bool
    private let isPostgres: Bool
    private let runtime: EngineRuntime
    private let command: String
    private nonisolated let executor: ActorExecutor

    private var news = ServerNews()
    /// The time of the last look for news.
    private var lastLook: Duration?
    private var catalog: (revision: Int64, catalog: SchemaCatalog)?
    private var members: (revision: Int64, bySpace: [SpaceID: [SpaceMember]])?
    private var counts: [SpaceID: SpaceCounts] = [:]
    /// The earliest uptime at which counts that were given although the state has changed are counted again.
    private var nextCount: Duration?

    /// - Parameters:
    ///   - command: the command that serves the page, for messages.
    ///   - look: looks at the database on this machine.
    init(
        store: any AuthorityStore, served: SchemaCatalog, hasOwnRule: Bool, isPostgres: Bool, runtime: EngineRuntime,
        command: String, look: @escaping @Sendable () throws -> ServerDatabase
    ) {
        self.store = store
        self.served = served
        self.hasOwnRule = hasOwnRule
        self.isPostgres = isPostgres
        self.runtime = runtime
        self.command = command
        self.look = look
        executor = ActorExecutor(runtime)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.unownedExecutor }

    /// Returns the result of a call. A call for news returns at once.
    func answer(_ call: ServerPageCall, _ arguments: PageArguments) throws(PageError) -> JSONLine {
        do {
            switch call {
            case .summary: return try summary(arguments)
            case .news: return try news(arguments)
            case .spaces: return try spaces(arguments)
            case .list: return try list(arguments)
            case .record: return try record(arguments)
            case .commits: return try commits(arguments)
            case .commit: return try commit(arguments)
            case .conflicts: return try conflicts(arguments)
            case .members: return try members(arguments)
            case .clients: return try clients(arguments)
            }
        } catch {
            throw PageError(wrapping: error, command: command, isPostgres: isPostgres)
        }
    }

    // MARK: Snapshots

    /// Calls `body` with one snapshot of the database.
    func read<Result>(_ body: (InspectSnapshot) throws -> Result) throws -> Result {
        // A store converts the errors of a read to its own, so a refusal leaves the read as a value.
        let result = try store.read { view -> Swift.Result<Result, PageError> in
            let state = try view.state()
            do {
                let snapshot = InspectSnapshot(view: view, state: state, catalog: try catalog(at: state, in: view))
                return .success(try body(snapshot))
            } catch let refusal as PageError {
                return .failure(refusal)
            }
        }
        return try result.get()
    }

    private func catalog(at state: AuthorityState, in view: any AuthorityView) throws -> SchemaCatalog {
        if let catalog, catalog.revision == state.catalogRevision { return catalog.catalog }
        let stored = try view.catalog() ?? served
        catalog = (state.catalogRevision, stored)
        return stored
    }

    /// Returns the members of each space, ordered by account.
    func membersBySpace(in snapshot: InspectSnapshot) throws -> [SpaceID: [SpaceMember]] {
        if let members, members.revision == snapshot.state.memberRevision { return members.bySpace }
        let all = Dictionary(grouping: try snapshot.view.members(), by: \.space)
        members = (snapshot.state.memberRevision, all)
        return all
    }

    /// Returns the numbers of records and conflicts of a space. They are counted again only after some time.
    func counts(of space: SpaceID, in snapshot: InspectSnapshot) throws -> SpaceCounts {
        let start = runtime.uptime()
        if let known = counts[space] {
            if known.state == snapshot.state { return known }
            if start < known.validUntil {
                nextCount = min(nextCount ?? known.validUntil, known.validUntil)
                return known
            }
        }
        let records = try snapshot.view.recordCounts(in: space)
        let conflicts = try snapshot.view.conflictCount(in: space)
        let end = runtime.uptime()
        let pause = max(InspectLimits.countInterval, (end - start) * InspectLimits.countPause)
        let counted = SpaceCounts(
            records: records, conflicts: conflicts, state: snapshot.state, validUntil: end + pause)
        if counts.count >= InspectLimits.countedSpaces { counts = [:] }
        counts[space] = counted
        return counted
    }

    // MARK: News

    /// Returns the number of the latest change. Within the interval, the last look counts, however many pages wait.
    func newsNumber() throws(PageError) -> Int64 {
        let now = runtime.uptime()
        if let lastLook, now - lastLook < InspectLimits.newsInterval { return news.latest }
        do {
            try read { try note($0) }
        } catch {
            throw PageError(wrapping: error, command: command, isPostgres: isPostgres)
        }
        lastLook = now
        // Without this, a page would show old numbers until the next commit.
        if let due = nextCount, due <= now {
            nextCount = nil
            news.noteDueCount()
        }
        return news.latest
    }

    private func note(_ snapshot: InspectSnapshot) throws {
        try news.note(snapshot.state) { try snapshot.view.extents() }
    }

    private func news(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "since")
        let parts = news.parts(since: try arguments.requiredNumber("since"))
        var line = JSONLine()
        line.set("news", news.latest)
        line.set("everything", parts.map { $0.spaces == nil } ?? false)
        line.set("spaces", (parts?.spaces ?? []).map(\.rawValue))
        line.set("members", parts?.members ?? false)
        line.set("models", parts?.models ?? false)
        line.set("database", Self.line(try look()))
        return line
    }

    // MARK: Summary

    /// Returns the state of the database, its models, and the numbers of one space.
    private func summary(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "space")
        let database = try look()
        return try read { snapshot in
            // The number belongs to this snapshot, so that no change is missed.
            try note(snapshot)
            let extents = try snapshot.view.extents()
            let members = try membersBySpace(in: snapshot)
            let names = Set(extents.keys).union(members.keys)
            var line = JSONLine()
            line.set("news", news.latest)
            line.set("history", snapshot.state.epoch.rawValue)
            line.set("database", Self.line(database))
            line.set("spaces", names.count)
            line.set("clients", try snapshot.view.clientCount())
            line.set("conflicts", try snapshot.view.conflictAmount().conflicts)
            line.set("collections", snapshot.catalog.models.map(Self.line))
            let space =
                try arguments.space("space") ?? (names.contains(.default) ? .default : names.min() ?? .default)
            line.set(
                "space", try spaceLine(space, extents[space] ?? .empty, members[space] ?? [], in: snapshot))
            return line
        }
    }

    private static func line(_ database: ServerDatabase) -> JSONLine {
        var line = JSONLine()
        switch database {
        case .sqlite(let file, let bytes, let walBytes, let isServed):
            line.set("name", file)
            line.set("bytes", bytes)
            line.set("walBytes", walBytes)
            line.set("isServed", isServed)
        case .postgres(let schema): line.set("name", "PostgreSQL, schema \(schema)")
        }
        return line
    }

    private static func line(_ model: ModelSchema) -> JSONLine {
        var line = JSONLine()
        line.set("name", model.collection.rawValue)
        line.set("nameField", InspectSnapshot.nameField(of: model)?.name.rawValue)
        line.set(
            "fields",
            model.fields.map { field in
                var line = JSONLine()
                line.set("name", field.name.rawValue)
                line.set("type", field.type.rawValue)
                line.set("target", field.target?.rawValue)
                return line
            })
        return line
    }
}

/// The numbers of records and conflicts of a space, which the store counts row by row.
struct SpaceCounts: Sendable {
    /// The number of live records by collection, without collections that have none.
    let records: [CollectionName: Int]
    let conflicts: Int
    /// The state of the database when they were counted.
    fileprivate let state: AuthorityState
    /// The uptime at which they are counted again if the state has changed.
    fileprivate let validUntil: Duration
}

extension PageError {
    /// Creates the refusal for any error of a call.
    ///
    /// - Parameter command: the command that serves the page.
    fileprivate init(wrapping error: any Error, command: String, isPostgres: Bool) {
        switch error {
        case let refusal as PageError: self = refusal
        case let failure as AuthorityStoreError where failure.code == .missingFile:
            self.init(
                500, "the database was moved, deleted, or replaced while it was open",
                advice: "end \(command), and start it again")
        case let failure as AuthorityStoreError:
            let problem = ConfigurationError(failure, isPostgres: isPostgres)
            self.init(problem.mayPass ? 503 : 500, failure.message, advice: problem.advice)
        case let problem as ConfigurationError:
            self.init(problem.mayPass ? 503 : 500, problem.message, advice: problem.advice)
        default: self.init(500, "an unexpected error: \(error)", advice: "report this")
        }
    }
}
