public import SyncModel

/// Reads for the operator of a server. They work beside running servers, and write nothing.
extension Authority {
    /// Returns an overview of the database, from one snapshot.
    ///
    /// The store counts records, conflicts, and clients row by row.
    public func overview() throws(AuthorityError) -> AuthorityOverview {
        try read { view in try AuthorityOverview(of: view) }
    }

    /// Returns the spaces that have members or commits, ordered by name.
    public func spaces() throws(AuthorityError) -> [SpaceSummary] {
        try read { view in try SpaceSummary.all(in: view) }
    }

    /// Returns the number of live records in a space by collection, without collections that have none.
    ///
    /// The store counts row by row.
    public func recordCounts(in space: SpaceID) throws(AuthorityError) -> [CollectionName: Int] {
        try read { view in try view.recordCounts(in: space) }
    }

    /// Returns the newest commits of a space with their authors, newest first. Trimmed commits are missing.
    ///
    /// - Parameters:
    ///   - version: only commits before this version are returned; nil begins with the newest commit.
    ///   - budget: the maximum numbers of changes and bytes. One commit is returned even if it exceeds them.
    public func recentCommits(
        in space: SpaceID, before version: Version? = nil, budget: PageBudget
    ) throws(AuthorityError) -> [RecordedCommit] {
        try read { view in try view.recentCommits(in: space, before: version, budget: budget) }
    }

    /// Returns the clients that have pushed and whose ids are greater than `client`, ordered by id.
    public func clients(after client: ClientID? = nil, limit: Int) throws(AuthorityError) -> [ClientSummary] {
        try read { view in
            try view.clients(after: client, limit: limit).map { client in try ClientSummary(client, in: view) }
        }
    }
}

/// A space as the operator of a server sees it.
public struct SpaceSummary: Hashable, Sendable {
    /// The name of the space.
    public let space: SpaceID
    /// The number of its members.
    public let members: Int
    /// The commits in its change feed; `.empty` before the first one.
    public let extent: SpaceExtent

    /// Creates a summary.
    public init(space: SpaceID, members: Int, extent: SpaceExtent) {
        self.space = space
        self.members = members
        self.extent = extent
    }

    /// The version of the newest commit; `.zero` before the first one.
    public var head: Version { extent.head }

    /// Returns the spaces that have members or commits, ordered by name.
    static func all(in view: some AuthorityView) throws(AuthorityStoreError) -> [SpaceSummary] {
        let members = Dictionary(try view.members().map { ($0.space, 1) }, uniquingKeysWith: +)
        let extents = try view.extents()
        return Set(extents.keys).union(members.keys).sorted().map { space in
            SpaceSummary(space: space, members: members[space] ?? 0, extent: extents[space] ?? .empty)
        }
    }
}

/// A space with the numbers of its records and conflicts.
public struct SpaceOverview: Hashable, Sendable {
    /// The members and commits of the space.
    public let summary: SpaceSummary
    /// The number of live records by collection, without collections that have none.
    public let records: [CollectionName: Int]
    /// The number of stored conflicts.
    public let conflicts: Int

    /// Creates an overview.
    public init(_ summary: SpaceSummary, records: [CollectionName: Int], conflicts: Int) {
        self.summary = summary
        self.records = records
        self.conflicts = conflicts
    }
}

/// The database of a server as its operator sees it.
public struct AuthorityOverview: Hashable, Sendable {
    /// The name of the history.
    public let epoch: Epoch
    /// Changes with the stored models; 0 while none are stored.
    public let catalogRevision: Int64
    /// The collections of the stored models, in their order.
    public let collections: [CollectionName]
    /// The spaces that have members or commits, ordered by name.
    public let spaces: [SpaceOverview]
    /// The number of clients that have pushed.
    public let clients: Int

    /// Creates an overview.
    public init(
        epoch: Epoch, catalogRevision: Int64, collections: [CollectionName], spaces: [SpaceOverview], clients: Int
    ) {
        self.epoch = epoch
        self.catalogRevision = catalogRevision
        self.collections = collections
        self.spaces = spaces
        self.clients = clients
    }

    /// Reads the overview of a store.
    package init(of view: some AuthorityView) throws(AuthorityStoreError) {
        let state = try view.state()
        var spaces: [SpaceOverview] = []
        for summary in try SpaceSummary.all(in: view) {
            spaces.append(
                SpaceOverview(
                    summary, records: try view.recordCounts(in: summary.space),
                    conflicts: try view.conflictCount(in: summary.space)))
        }
        self.init(
            epoch: state.epoch, catalogRevision: state.catalogRevision,
            collections: try view.catalog()?.models.map(\.collection) ?? [], spaces: spaces,
            clients: try view.clientCount())
    }
}

/// A client as the operator of a server sees it.
public struct ClientSummary: Hashable, Sendable {
    /// The client, its account, and its progress.
    public let client: StoredClient
    /// The outcome of that transaction; nil when there is none.
    public let lastOutcome: Outcome?
    /// The time at which that transaction was committed; nil when it changed nothing, or when its commit has been
    /// trimmed.
    public let lastCommit: WallTime?

    /// Creates a summary.
    public init(_ client: StoredClient, lastOutcome: Outcome?, lastCommit: WallTime?) {
        self.client = client
        self.lastOutcome = lastOutcome
        self.lastCommit = lastCommit
    }

    /// The number of the last transaction that has an outcome; nil when there is none.
    public var lastAnswered: TransactionNumber? { client.ledger.lastAnswered }

    /// Reads the outcome of the client's last transaction.
    package init(_ client: StoredClient, in view: some AuthorityView) throws(AuthorityStoreError) {
        guard let last = client.ledger.lastAnswered else {
            self.init(client, lastOutcome: nil, lastCommit: nil)
            return
        }
        let key = LedgerKey(principal: client.principal, identity: client.identity)
        let outcome = try view.outcome(of: key, last)?.outcome
        var time: WallTime?
        if case .applied(let version, _, _) = outcome {
            time = try view.commitTime(of: last, from: client.identity, at: version)
        }
        self.init(client, lastOutcome: outcome, lastCommit: time)
    }
}
