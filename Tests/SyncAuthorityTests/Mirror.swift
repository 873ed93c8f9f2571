import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

/// A minimal client that stores the contents of the pages that it pulls.
struct Mirror {
    var cursor: Cursor?
    var records: [RecordAddress: Record] = [:]
    var version = Version.zero
    var isComplete = false
    var hasMore = true
    var largestPage = 0
    var shownRows = 0
    /// The records in the pages of the current snapshot so far.
    private var shown: Set<RecordAddress> = []

    init(cursor: Cursor? = nil) {
        self.cursor = cursor
        isComplete = cursor != nil
    }

    mutating func pullAll(from world: AuthorityWorld, limit: Int) throws {
        hasMore = true
        var pages = 0
        while !isComplete || hasMore {
            try pull(from: world, limit: limit)
            pages += 1
            try #require(pages < 1_000, "the server sends pages forever")
        }
    }

    mutating func pull(from world: AuthorityWorld, limit: Int, in space: SpaceID = .default) throws {
        guard case .page(let page) = try world.page(cursor, limit: limit, in: space) else {
            Issue.record("reset")
            throw AuthorityWorld.Unexpected()
        }
        #expect(page.version >= version || !isComplete)
        #expect(page.head >= page.version)
        switch page.content {
        case .snapshot(let groups, let isFirst, let isLast):
            #expect(isFirst == (cursor == nil))
            if isFirst { shown = [] }
            let rows = groups.flatMap { group in group.records.map { (RecordAddress(group.collection, $0.id), $0) } }
            largestPage = max(largestPage, rows.count)
            shownRows += rows.count
            for (address, record) in rows {
                records[address] = record
                shown.insert(address)
            }
            if isLast {
                records = records.filter { shown.contains($0.key) }
                isComplete = true
            }
        case .commits(let commits):
            for commit in commits {
                #expect(commit.version > version || !isComplete)
                #expect(!commit.changes.isEmpty, "an empty commit")
                for change in commit.changes { apply(change, at: commit.version) }
            }
        }
        version = page.version
        cursor = page.cursor
        hasMore = page.hasMore
    }

    private mutating func apply(_ change: RecordChange, at version: Version) {
        let address = RecordAddress(change.collection, change.id)
        guard let schema = AuthorityWorld.catalog[change.collection] else { return }
        records[address] = change.applied(to: records[address], at: version, schema: schema)
    }
}

extension AuthorityWorld {
    /// Returns the store's records, read without the feed.
    func liveRecords(in space: SpaceID = .default) throws -> [RecordAddress: Record] {
        try store.read { view in
            var result: [RecordAddress: Record] = [:]
            for model in Self.catalog.models {
                let slice = try view.rows(
                    in: space, of: model.collection, after: nil, budget: PageBudget(rows: .max, bytes: .max))
                for record in slice.records { result[record.address] = Record(record, schema: model) }
            }
            return result
        }
    }
}
