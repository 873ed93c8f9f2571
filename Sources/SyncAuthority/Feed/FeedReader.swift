import SyncModel

/// Makes one page of a space, from one moment of the store.
struct FeedReader {
    let space: SpaceID
    let catalog: SchemaCatalog
    let now: WallTime
    let budget: PageBudget

    enum Answer {
        case reply(PullReply)
        /// The cursor stands where the space has never been.
        case future(Version, head: Version)
    }

    func read(from cursor: FeedCursor?, in view: some AuthorityView) throws(AuthorityStoreFailure) -> Answer {
        let state = try view.state()
        let extent = try view.extent(of: space)
        guard let cursor else {
            return .reply(.page(try rows(after: nil, begun: extent.head, state, extent, in: view)))
        }
        guard cursor.epoch == state.epoch else { return .reply(.mustReset(.epoch)) }
        let version = cursor.place.version
        if version > extent.head { return .future(version, head: extent.head) }
        // The commits after the cursor, or after the beginning of the snapshot, are needed and gone.
        if version < extent.horizon { return .reply(.mustReset(.horizon)) }
        switch cursor.place {
        case .log(let version):
            return .reply(.page(try commits(after: version, state, extent, in: view)))
        case .snapshot(let version, let last):
            // The collection is not served any more: what was shown of it is best forgotten.
            guard catalog[last.collection] != nil else { return .reply(.mustReset(.horizon)) }
            return .reply(.page(try rows(after: last, begun: version, state, extent, in: view)))
        }
    }

    // MARK: Commits

    private func commits(
        after version: Version, _ state: AuthorityState, _ extent: SpaceExtent, in view: some AuthorityView
    ) throws(AuthorityStoreFailure) -> PullPage {
        let commits = version == extent.head ? [] : try view.commits(in: space, after: version, budget: budget)
        var reached = version
        for commit in commits {
            guard commit.version == reached.next else {
                throw AuthorityStoreFailure(
                    .corrupt, "the feed of \(space) goes on at \(commit.version) after \(reached)")
            }
            reached = commit.version
        }
        guard reached > version || version == extent.head else {
            throw AuthorityStoreFailure(
                .corrupt, "the feed of \(space) ends at \(version), and its head is \(extent.head)")
        }
        return page(
            .commits(commits), at: .log(reached), version: reached, hasMore: reached < extent.head, state, extent)
    }

    // MARK: Rows

    /// Rows as they are now. The commits since `begun` are given afterwards, and bring everything to one version.
    private func rows(
        after last: RecordAddress?, begun: Version, _ state: AuthorityState, _ extent: SpaceExtent,
        in view: some AuthorityView
    ) throws(AuthorityStoreFailure) -> PullPage {
        var groups: [SnapshotRows] = []
        var shown = last
        var budget = budget
        var isLast = true
        let models = catalog.models.drop { last != nil && $0.collection != last?.collection }
        for model in models {
            guard budget.rows > 0, budget.bytes > 0 else {
                isLast = false
                break
            }
            let slice = try view.rows(
                in: space, of: model.collection, after: model.collection == last?.collection ? last?.id : nil,
                budget: budget)
            budget.rows -= slice.records.count
            budget.bytes -= slice.bytes
            if let end = slice.records.last {
                shown = end.address
                groups.append(
                    SnapshotRows(
                        collection: model.collection, records: slice.records.map { Record($0, schema: model) }))
            }
            guard slice.isComplete else {
                isLast = false
                break
            }
        }
        let content = PullPage.Content.snapshot(groups, isFirst: last == nil, isLast: isLast)
        guard !isLast, let shown else {
            return page(content, at: .log(begun), version: begun, hasMore: begun < extent.head, state, extent)
        }
        return page(content, at: .snapshot(begun, last: shown), version: begun, hasMore: true, state, extent)
    }

    private func page(
        _ content: PullPage.Content, at place: FeedCursor.Place, version: Version, hasMore: Bool,
        _ state: AuthorityState, _ extent: SpaceExtent
    ) -> PullPage {
        PullPage(
            space: space, epoch: state.epoch, serverTime: state.time(at: now), content: content,
            cursor: FeedCursor(epoch: state.epoch, space: space, place: place).text, version: version,
            head: extent.head, hasMore: hasMore)
    }
}

extension FeedCursor.Place {
    var version: Version {
        switch self {
        case .log(let version), .snapshot(let version, _): version
        }
    }
}
