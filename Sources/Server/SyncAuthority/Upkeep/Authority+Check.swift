public import SyncModel

extension Authority {
    /// Checks the store as a whole, and then reads each live record and each commit.
    ///
    /// The check of a database finds damaged pages, but no damaged values in them. Each read is of one page, so that
    /// none keeps a snapshot of the database open for long.
    public func checkStore(now: WallTime) throws(AuthorityError) {
        do { try store.check() } catch { throw AuthorityError(storeError: error) }
        let (extents, collections) = try read { view in
            let catalog = try models.catalog(at: try view.state(), in: view)
            return (try view.extents(), catalog.models.map(\.collection))
        }
        for (space, extent) in extents.sorted(by: { $0.key < $1.key }) {
            for collection in collections { try checkRecords(of: collection, in: space) }
            try checkCommits(of: space, after: extent.horizon)
        }
    }

    public func takesWrites() throws(AuthorityError) -> Bool {
        do { return try store.takesWrites() } catch { throw AuthorityError(storeError: error) }
    }

    private static let budget = PageBudget(rows: 1_000, bytes: 1_024 * 1_024)

    private func checkRecords(of collection: CollectionName, in space: SpaceID) throws(AuthorityError) {
        var last: RecordID?
        while true {
            let after = last
            let slice = try read { view in
                try view.rows(in: space, of: collection, after: after, budget: Self.budget)
            }
            last = slice.records.last?.address.id
            if slice.isComplete { return }
        }
    }

    private func checkCommits(of space: SpaceID, after horizon: Version) throws(AuthorityError) {
        var last = horizon
        while true {
            let after = last
            let commits = try read { view in try view.commits(in: space, after: after, budget: Self.budget) }
            guard let newest = commits.last else { return }
            last = newest.version
        }
    }
}
