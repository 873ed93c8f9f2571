import SyncCore
import SyncModel

/// Reads one collection of a space: pulls a snapshot, and then the change feed up to the server's newest version.
struct RemoteScan {
    let collection: CollectionName
    let schema: ModelSchema
    let space: SpaceID

    private var contents: SpaceRecords
    private(set) var isTooLarge = false
    private var cursor: Cursor?
    private var pages = 0
    private var isOver = false

    init(collection: CollectionName, schema: ModelSchema, space: SpaceID) {
        self.collection = collection
        self.schema = schema
        self.space = space
        contents = SpaceRecords(of: [schema])
    }

    var records: [RecordID: Record] { contents[collection] }

    /// The next request; nil when everything has been read.
    var next: PullRequest? {
        get throws(TransportError) {
            if isOver { return nil }
            guard pages < RemoteLimits.scanPages else {
                throw TransportError(.notUnderstood, "the server sent more pages than allowed for one snapshot")
            }
            return PullRequest(space: space, cursor: cursor, limit: RemoteLimits.pageRecords)
        }
    }

    mutating func take(_ response: PullResponse) throws(TransportError) {
        guard case .page(let page) = response else {
            throw TransportError(
                .serverFailed, "the server's history changed while \(collection) was read: try again")
        }
        pages += 1
        cursor = page.cursor
        isOver = !page.hasMore
        contents.apply(page)
        // The change feed after a snapshot reports what happened while the snapshot was read.
        if case .snapshot(_, _, let isLast) = page.content {
            isOver = isLast && !page.hasMore && page.version >= page.head
        }
        if contents.count > RemoteLimits.scanRecords {
            isTooLarge = true
            throw TransportError(.tooLarge, tooMuch.message)
        }
    }

    var tooMuch: ModelError {
        ModelError(
            .tooMuch,
            "the server has more than \(RemoteLimits.scanRecords) records of \(collection): ask by uid, or use a local cache"
        )
    }
}
