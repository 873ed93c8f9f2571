import SyncModel

/// Builds one page of a space from one snapshot of the store.
struct FeedReader {
    let space: SpaceID
    /// The models that this server serves.
    let catalog: SchemaCatalog
    let models: StoredModels
    let pages: PageCache
    let now: WallTime
    let budget: PageBudget
    let permittedSkew: Duration

    enum Response {
        case response(PullResponse)
        /// The client has proved that the store was restored from an older copy.
        case lost(LostHistory)
    }

    func read(
        from cursor: Cursor?, receipt: Cursor?, for principal: Principal, _ state: AuthorityState,
        in view: some AuthorityView
    ) throws(AuthorityStoreError) -> Response {
        let check = HistoryCheck(history: state.history, witness: .client(principal))
        if let receipt, case .lost(let lost) = try check.examine(receipt, in: view) { return .lost(lost) }
        let extent = try view.extent(of: space)
        let head = try point(extent.head, in: view)
        guard let cursor else {
            let page = try page(after: nil, head, state) { () throws(AuthorityStoreError) in
                try rows(after: nil, begun: head, state, extent, in: view)
            }
            return .response(.page(page))
        }
        let decoded: FeedCursor
        switch try check.examine(cursor, in: view) {
        case .held(let cursor): decoded = cursor
        case .lost(let lost): return .lost(lost)
        case .otherEpoch: return .response(.mustReset(.epoch))
        case .unreadable: return .response(.mustReset(.cursor))
        // The commits after the cursor, or after the beginning of the snapshot, have been trimmed.
        case .trimmed: return .response(.mustReset(.horizon))
        }
        guard decoded.space == space else { return .response(.mustReset(.cursor)) }
        let start = FeedPoint(version: decoded.position.version, fingerprint: decoded.fingerprint)
        switch decoded.position {
        case .commits, .receipt:
            let page = try page(after: .commits(start.version), head, state) {
                () throws(AuthorityStoreError) in
                try commits(after: start, extent, in: view)
            }
            return .response(.page(page))
        case .snapshot(_, let last):
            // The store has no such collection. The client discards the rows that it has received.
            guard try models.catalog(at: state, in: view)[last.collection] != nil else {
                return .response(.mustReset(.horizon))
            }
            let page = try page(after: decoded.position, head, state) { () throws(AuthorityStoreError) in
                try rows(after: last, begun: start, state, extent, in: view)
            }
            return .response(.page(page))
        }
    }

    private func point(
        _ version: Version, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> FeedPoint {
        guard let fingerprint = try view.fingerprint(at: version, in: space) else {
            throw AuthorityStoreError(.corrupt, "the feed of \(space) has no fingerprint at version \(version)")
        }
        return FeedPoint(version: version, fingerprint: fingerprint)
    }

    // MARK: Commits

    private func commits(
        after start: FeedPoint, _ extent: SpaceExtent, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> PageCache.Page {
        let version = start.version
        let commits = version == extent.head ? [] : try view.commits(in: space, after: version, budget: budget)
        var reached = version
        for commit in commits {
            guard commit.version == reached.next else {
                throw AuthorityStoreError(
                    .corrupt, "the feed of \(space) continues at \(commit.version) after \(reached)")
            }
            reached = commit.version
        }
        guard reached > version || version == extent.head else {
            throw AuthorityStoreError(
                .corrupt, "the feed of \(space) ends at \(version), but its head is \(extent.head)")
        }
        let end = reached == version ? start : try point(reached, in: view)
        return PageCache.Page(
            content: .commits(commits), position: .commits(reached), end: end, hasMore: reached < extent.head)
    }

    // MARK: Rows

    /// Returns rows in their current state. The commits since `begun` follow the snapshot, and bring all rows to one
    /// version.
    ///
    /// Collections are sorted by name, so that a snapshot can continue on a server that declares its models in another
    /// order.
    private func rows(
        after last: RecordAddress?, begun: FeedPoint, _ state: AuthorityState, _ extent: SpaceExtent,
        in view: some AuthorityView
    ) throws(AuthorityStoreError) -> PageCache.Page {
        var groups: [SnapshotRows] = []
        var shown = last
        var budget = budget
        var isLast = true
        let collections = try models.catalog(at: state, in: view).models.map(\.collection).sorted()
        for collection in collections where last.map({ $0.collection <= collection }) ?? true {
            guard budget.rows > 0, budget.bytes > 0 else {
                isLast = false
                break
            }
            let slice = try view.records(
                in: space, of: catalog.schemaForReading(collection),
                after: collection == last?.collection ? last?.id : nil, budget: budget)
            budget.rows -= slice.rows.count
            budget.bytes -= slice.bytes
            if let last = slice.rows.lastRecord {
                shown = RecordAddress(collection, last)
                groups.append(slice.rows)
            }
            guard slice.isComplete else {
                isLast = false
                break
            }
        }
        let content = PullPage.Content.snapshot(groups, isFirst: last == nil, isLast: isLast)
        guard !isLast, let shown else {
            let hasMore = begun.version < extent.head
            return PageCache.Page(content: content, position: .commits(begun.version), end: begun, hasMore: hasMore)
        }
        return PageCache.Page(
            content: content, position: .snapshot(begun.version, last: shown), end: begun, hasMore: true)
    }

    /// Returns the page after a position, with a cursor of this history.
    private func page(
        after position: FeedCursor.Position?, _ head: FeedPoint, _ state: AuthorityState,
        make: () throws(AuthorityStoreError) -> PageCache.Page
    ) throws(AuthorityStoreError) -> PullPage {
        let key = PageCache.Key(
            epoch: state.epoch, space: space, position: position, head: head, catalogRevision: state.catalogRevision,
            budget: budget)
        let page = try pages.page(key, make: make)
        let cursor = FeedCursor(
            epoch: state.epoch, space: space, position: page.position, fingerprint: page.end.fingerprint)
        return PullPage(
            space: space, epoch: state.epoch, serverTime: state.time(at: now, permitting: permittedSkew),
            content: page.content, cursor: cursor.authenticated(with: state.history.key), version: page.end.version,
            head: head.version, hasMore: page.hasMore, sharedForm: page.sharedForm)
    }
}
