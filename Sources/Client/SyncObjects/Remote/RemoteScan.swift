import SyncCore
import SyncModel

/// Reads one collection of a space by pulling a snapshot, and then the change feed until it has caught up.
struct RemoteScan {
    let collection: CollectionName
    let schema: ModelSchema
    let space: SpaceID

    private(set) var records: [RecordID: Record] = [:]
    private(set) var isTooLarge = false
    private var cursor: Cursor?
    private var pages = 0
    private var isOver = false

    init(collection: CollectionName, schema: ModelSchema, space: SpaceID) {
        self.collection = collection
        self.schema = schema
        self.space = space
    }

    /// The next request; nil when everything has been read.
    var next: PullRequest? {
        get throws(TransportFailure) {
            guard pages <= RemoteLimits.scanPages else {
                throw TransportFailure(.notUnderstood, "the server's pages do not end")
            }
            return isOver ? nil : PullRequest(space: space, cursor: cursor, limit: RemoteLimits.pageRecords)
        }
    }

    mutating func take(_ reply: PullReply) throws(TransportFailure) {
        guard case .page(let page) = reply else {
            throw TransportFailure(
                .serverFailed, "the server's history changed while \(collection) was read: try again")
        }
        pages += 1
        cursor = page.cursor
        isOver = !page.hasMore
        switch page.content {
        case .snapshot(let rows, _, let isLast):
            for row in rows where row.collection == collection {
                for record in row.records { records[record.id] = record }
            }
            // The change feed after a snapshot reports what happened while the snapshot was read.
            if isLast { isOver = !page.hasMore && page.version >= page.head } else { isOver = false }
        case .commits(let commits):
            for commit in commits {
                for change in commit.changes where change.collection == collection { take(change, at: commit.version) }
            }
        }
        if records.count > RemoteLimits.scanRecords {
            isTooLarge = true
            throw TransportFailure(.tooLarge, tooMuch.message)
        }
    }

    private mutating func take(_ change: RecordChange, at version: Version) {
        switch change.effect {
        case .created(let uid, let patch):
            // A page of the snapshot may have shown the record already, in a state later than this commit.
            if records[change.id] == nil {
                records[change.id] = Record(
                    id: change.id, uid: uid, version: version, creating: patch, schema: schema)
            }
        case .updated(let patch):
            records[change.id] = records[change.id]?.updated(by: patch, at: version, schema: schema)
        case .deleted: records[change.id] = nil
        }
    }

    var tooMuch: ModelFailure {
        ModelFailure(
            .tooMuch,
            "the server has more than \(RemoteLimits.scanRecords) records of \(collection): ask by uid, or use a local cache"
        )
    }
}
