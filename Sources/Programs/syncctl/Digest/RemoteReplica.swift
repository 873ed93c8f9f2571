import SyncCore
import SyncModel

/// All records that the server shows, read from a snapshot and the change feed after it, and held in memory.
struct RemoteReplica {
    private var contents: SpaceRecords

    init(_ transport: any RemoteTransport, _ catalog: SchemaCatalog, _ progress: Progress) async throws {
        contents = SpaceRecords(of: catalog.models)
        var cursor: Cursor?
        var cursors: Set<Cursor> = []
        var resets = 0
        while true {
            let request = PullRequest(space: .default, cursor: cursor, limit: Self.page)
            switch try await transport.pull(request) {
            case .mustReset(let reason):
                resets += 1
                guard resets <= 3 else {
                    throw CommandError(
                        .notSynced, "the server asked for a new snapshot \(resets) times (\(reason.rawValue))")
                }
                contents = SpaceRecords(of: catalog.models)
                cursor = nil
                cursors = []
            case .noAccess:
                throw CommandError(
                    .refused, "the account may not read the space default, or the server does not have it",
                    advice: "check server.token-file (syncctl config show)")
            case .page(let page):
                contents.apply(page)
                let count = contents.count
                progress.show("reading the server: \(count) records")
                guard page.hasMore else { return }
                guard cursors.insert(page.cursor).inserted else {
                    throw CommandError(.notSynced, "the server announces more pages, but its cursor does not advance")
                }
                guard count <= Self.mostRecords else {
                    throw CommandError(
                        .notSynced, "the server has more than \(Self.mostRecords) records; expected at most that many")
                }
                cursor = page.cursor
            }
        }
    }

    private static let page = 1_000
    /// Maximum number of records. They are held in memory, so digesting more is not practical.
    private static let mostRecords = 5_000_000

    func records(of collection: CollectionName) -> [Record] {
        contents[collection].values.sorted { $0.id < $1.id }
    }
}
