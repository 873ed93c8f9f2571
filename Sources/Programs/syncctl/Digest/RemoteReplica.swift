import SyncCore
import SyncModel

/// All records that the server shows, read from a snapshot and the change feed after it, and held in memory.
struct RemoteReplica {
    private var records: [CollectionName: [RecordID: Record]] = [:]

    init(_ transport: any RemoteTransport, _ catalog: SchemaCatalog, _ progress: Progress) async throws {
        var cursor: Cursor?
        var cursors: Set<Cursor> = []
        var resets = 0
        while true {
            let request = PullRequest(space: .default, cursor: cursor, limit: Self.page)
            switch try await transport.pull(request) {
            case .mustReset(let reason):
                resets += 1
                guard resets <= 3 else {
                    throw CommandFailure(
                        .notSynced, "the server asked for a new start \(resets) times (\(reason.rawValue))")
                }
                records = [:]
                cursor = nil
                cursors = []
            case .noAccess:
                throw CommandFailure(
                    .refused, "the account may not read the space default, or the server has none",
                    advice: "check server.token-file (syncctl config show)")
            case .page(let page):
                apply(page, catalog)
                let count = records.values.reduce(0) { $0 + $1.count }
                progress.show("reading the server: \(count) records")
                guard page.hasMore else { return }
                guard cursors.insert(page.cursor).inserted else {
                    throw CommandFailure(.notSynced, "the server promises more and does not go on")
                }
                guard count <= Self.mostRecords else {
                    throw CommandFailure(.notSynced, "the server shows more than \(Self.mostRecords) records")
                }
                cursor = page.cursor
            }
        }
    }

    private static let page = 1_000
    /// Maximum number of records. They are held in memory, so digesting more is not practical.
    private static let mostRecords = 5_000_000

    func records(of collection: CollectionName) -> [Record] {
        (records[collection] ?? [:]).values.sorted { $0.id < $1.id }
    }

    private mutating func apply(_ page: PullPage, _ catalog: SchemaCatalog) {
        switch page.content {
        case .snapshot(let groups, _, _):
            for group in groups {
                for record in group.records { records[group.collection, default: [:]][record.id] = record }
            }
        case .commits(let commits):
            for commit in commits {
                for change in commit.changes { apply(change, at: commit.version, catalog) }
            }
        }
    }

    private mutating func apply(_ change: RecordChange, at version: Version, _ catalog: SchemaCatalog) {
        guard let schema = catalog[change.collection] else { return }
        let known = records[change.collection]?[change.id]
        switch change.effect {
        case .created(let uid, let patch):
            guard known == nil else { return }
            records[change.collection, default: [:]][change.id] = Record(
                id: change.id, uid: uid, version: version, creating: patch, schema: schema)
        case .updated(let patch):
            guard let known else { return }
            records[change.collection]?[change.id] = known.updated(by: patch, at: version, schema: schema)
        case .deleted:
            // The snapshot may not contain the record, or its page may be older than this commit.
            records[change.collection]?[change.id] = nil
        }
    }
}
