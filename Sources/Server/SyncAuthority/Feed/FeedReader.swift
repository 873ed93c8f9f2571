import SyncModel

/// Builds one page of a space from one snapshot of the store.
struct FeedReader {
    let space: SpaceID
    /// The models that this server serves.
    let catalog: SchemaCatalog
    let models: StoredModels
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
        guard let cursor else {
            return .response(
                .page(try rows(after: nil, begun: try point(extent.head, in: view), state, extent, in: view)))
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
        let start = Point(version: decoded.position.version, fingerprint: decoded.fingerprint)
        switch decoded.position {
        case .commits, .receipt:
            return .response(.page(try commits(after: start, state, extent, in: view)))
        case .snapshot(_, let last):
            // The store has no such collection. The client discards the rows that it has received.
            guard try models.catalog(at: state, in: view)[last.collection] != nil else {
                return .response(.mustReset(.horizon))
            }
            return .response(.page(try rows(after: last, begun: start, state, extent, in: view)))
        }
    }

    /// A version of the space with its fingerprint.
    private struct Point {
        let version: Version
        let fingerprint: HistoryFingerprint
    }

    private func point(
        _ version: Version, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> Point {
        guard let fingerprint = try view.fingerprint(at: version, in: space) else {
            throw AuthorityStoreError(.corrupt, "the feed of \(space) has no fingerprint at version \(version)")
        }
        return Point(version: version, fingerprint: fingerprint)
    }

    // MARK: Commits

    private func commits(
        after start: Point, _ state: AuthorityState, _ extent: SpaceExtent, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> PullPage {
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
        return page(.commits(commits), at: .commits(reached), end, hasMore: reached < extent.head, state, extent)
    }

    // MARK: Rows

    /// Returns rows in their current state. The commits since `begun` follow the snapshot, and bring all rows to one
    /// version.
    ///
    /// Collections are sorted by name, so that a snapshot can continue on a server that declares its models in another
    /// order.
    private func rows(
        after last: RecordAddress?, begun: Point, _ state: AuthorityState, _ extent: SpaceExtent,
        in view: some AuthorityView
    ) throws(AuthorityStoreError) -> PullPage {
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
            let slice = try view.rows(
                in: space, of: collection, after: collection == last?.collection ? last?.id : nil, budget: budget)
            budget.rows -= slice.records.count
            budget.bytes -= slice.bytes
            if let end = slice.records.last {
                shown = end.address
                let schema = catalog.schemaForReading(collection)
                groups.append(
                    SnapshotRows(collection: collection, records: slice.records.map { Record($0, schema: schema) }))
            }
            guard slice.isComplete else {
                isLast = false
                break
            }
        }
        let content = PullPage.Content.snapshot(groups, isFirst: last == nil, isLast: isLast)
        guard !isLast, let shown else {
            let hasMore = begun.version < extent.head
            return page(content, at: .commits(begun.version), begun, hasMore: hasMore, state, extent)
        }
        return page(content, at: .snapshot(begun.version, last: shown), begun, hasMore: true, state, extent)
    }

    private func page(
        _ content: PullPage.Content, at position: FeedCursor.Position, _ point: Point, hasMore: Bool,
        _ state: AuthorityState, _ extent: SpaceExtent
    ) -> PullPage {
        let cursor = FeedCursor(epoch: state.epoch, space: space, position: position, fingerprint: point.fingerprint)
        return PullPage(
            space: space, epoch: state.epoch, serverTime: state.time(at: now, permitting: permittedSkew),
            content: content,
            cursor: cursor.authenticated(with: state.history.key), version: point.version, head: extent.head,
            hasMore: hasMore)
    }
}
