import SyncCore
import SyncModel

/// Digests of all records of a space on the server, computed while a snapshot is read. No record is kept in memory.
struct RemoteDigests {
    private var digests: [CollectionName: RecordDigest] = [:]
    private let space: SpaceID
    private let schemas: [CollectionName: ModelSchema]
    /// The version of the snapshot; nil before its first page.
    private var start: Version?
    /// The rows so far; nil once the snapshot is complete.
    private var extent: SnapshotExtent? = SnapshotExtent()
    private var version = Version.zero
    private var run = PullRun()
    /// The server's hello, from before the first page.
    private let hello: ServerHello

    private init(of space: SpaceID, _ models: [ModelSchema], at hello: ServerHello) {
        self.space = space
        self.hello = hello
        schemas = Dictionary(models.map { ($0.collection, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads all records of a space from the server.
    ///
    /// The rows of a snapshot are read at different times. If the change feed after it changes any record, everything
    /// is read again.
    ///
    /// - Parameter account: The owner of the database; nil when it has not contacted a server yet.
    /// - Throws: `TransportError` when a request fails, or when the server refuses the account or the protocol, as a
    ///   sync does; `CommandError` when no attempt gets a complete and valid snapshot.
    static func read(
        _ space: SpaceID, from transport: PatientTransport, as account: AccountID?, _ catalog: SchemaCatalog,
        _ progress: Progress
    ) async throws -> [CollectionName: RecordDigest] {
        var reset: ResetReason?
        var otherEpoch = false
        for _ in 1...attempts {
            let hello = try await transport.hello()
            if let refusal = hello.refusal(for: account) { throw refusal }
            var reading = RemoteDigests(of: space, catalog.models, at: hello)
            (reset, otherEpoch) = (nil, false)
            switch try await reading.readAll(from: transport, progress) {
            case .complete: return reading.digests
            case .changed: break
            case .otherEpoch: otherEpoch = true
            case .reset(let reason): reset = reason
            }
        }
        if otherEpoch {
            throw CommandError(
                .notSynced,
                "the server sent records of a different history than that in its hello, in each of \(attempts) attempts",
                advice: "check that server.url is that of one sync server, and tell its operator")
        }
        if let reset {
            throw CommandError(
                .notSynced,
                "the server asked for a new snapshot of space \(space) \(attempts) times (\(reset.rawValue))")
        }
        throw CommandError(
            .notSynced,
            "the server's records of space \(space) changed while they were read, in each of \(attempts) attempts",
            advice: "run the command again while fewer devices write")
    }

    private enum Ending {
        case complete
        /// Records changed while they were read.
        case changed
        /// A page is of another history than the hello.
        case otherEpoch
        case reset(ResetReason)
    }

    private static let attempts = 3
    private static let page = 1_000

    private mutating func readAll(
        from transport: PatientTransport, _ progress: Progress
    ) async throws -> Ending {
        var cursor: Cursor?
        while true {
            let request = PullRequest(
                space: space, cursor: cursor, limit: Self.page, account: hello.account)
            switch try await transport.pull(request) {
            case .mustReset(let reason): return .reset(reason)
            case .noAccess:
                let orUnfollow =
                    space == .default
                    ? "" : ", ask the server's operator, or give the space up with syncctl space unfollow \(space)"
                throw CommandError(
                    .refused, "the account may not read the space \(space), or the server does not have it",
                    advice: "check server.token-file (syncctl config show)\(orUnfollow)")
            case .page(let page):
                guard page.epoch == hello.epoch else { return .otherEpoch }
                guard try take(page, after: cursor) else { return .changed }
                progress.show(
                    "reading space \(space) of the server: \(digests.values.reduce(0) { $0 + $1.count }) records")
                guard page.hasMore || extent != nil || page.version < page.head else { return .complete }
                cursor = page.cursor
            }
        }
    }

    /// Adds the rows of a page.
    ///
    /// - Returns: whether all rows so far are of one version.
    private mutating func take(_ page: PullPage, after cursor: Cursor?) throws -> Bool {
        guard page.space == space else { throw contradiction("answered with a page of space \(page.space)") }
        let changed: Int
        switch page.content {
        case .snapshot(let groups, let isFirst, let isLast):
            guard isFirst || cursor != nil else {
                throw contradiction("sent the continuation of a snapshot, although its start was requested")
            }
            guard !isFirst || cursor == nil, var extent else {
                throw contradiction("restarted the snapshot, although its continuation was requested")
            }
            let start = start ?? page.version
            self.start = start
            version = page.version
            guard page.version == start else {
                throw contradiction("began a snapshot at version \(start), and continued it at \(page.version)")
            }
            do throws(StoreError) {
                for group in groups { try extent.extend(by: group, of: page.space, head: page.head) }
            } catch {
                throw contradiction("sent an invalid snapshot: \(error.message)")
            }
            for group in groups { add(group) }
            changed = groups.reduce(0) { $0 + $1.records.count }
            self.extent = isLast ? nil : extent
        case .commits(let commits):
            guard extent == nil else { throw contradiction("sent changes in place of a snapshot") }
            if commits.contains(where: { !$0.changes.isEmpty }) { return false }
            guard !page.hasMore || page.version > version else {
                throw contradiction("announces more changes, but stayed at version \(version)")
            }
            guard page.version >= page.head || page.version > version else {
                throw contradiction(
                    "says that space \(page.space) is at version \(page.head), but sends nothing after version \(version)"
                )
            }
            version = page.version
            changed = 0
        }
        if page.hasMore, page.cursor == cursor { throw contradiction("announces more, but its cursor did not advance") }
        if let excess = run.pageArrived(changed: changed, of: Self.page) { throw contradiction(excess) }
        return true
    }

    private mutating func add(_ group: SnapshotRows) {
        guard let schema = schemas[group.collection] else { return }
        var digest = digests[group.collection] ?? RecordDigest(of: schema)
        for record in group.records { digest.add(record) }
        digests[group.collection] = digest
    }

    private func contradiction(_ what: String) -> CommandError {
        CommandError(
            .notSynced, "the server \(what)",
            advice: "check that server.url is that of a sync server, and tell its operator")
    }
}
