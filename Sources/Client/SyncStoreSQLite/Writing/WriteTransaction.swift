import SyncCore
import SyncModel

/// One transaction of the writer: what the store's calls do, they do in here, wholly or not at all.
///
/// It lives for one call, on the writer's connection, inside `BEGIN IMMEDIATE` and `COMMIT`.
final class WriteTransaction {
    let connection: Connection
    let catalog: SchemaCatalog
    let tables: [RecordTable]
    let limits: StoreLimits
    var meta: Meta
    private let loadedMeta: Meta
    /// The news for the observers once the transaction is durable.
    var change = StoreChange()
    /// Whether a uid may stand at a record that got it from another history of the server.
    var mayHoldOldUIDs = false
    /// The key of the space whose fresh snapshot a page belongs to, taken beside rows that were here before.
    var freshSnapshot: Int64?
    /// Set by a call that has looked and decided to change nothing after all.
    var rollsBack = false
    private var spaceKeys: [SpaceID: Int64] = [:]
    /// Transactions decoded in here, by their place in the outbox.
    var decoded: [Int64: Transaction] = [:]

    init(
        on connection: Connection, catalog: SchemaCatalog, tables: [RecordTable], limits: StoreLimits
    ) throws(StoreFailure) {
        guard let meta = try Meta.load(connection) else {
            throw StoreFailure.withoutIdentity
        }
        self.connection = connection
        self.catalog = catalog
        self.tables = tables
        self.limits = limits
        self.meta = meta
        loadedMeta = meta
    }

    /// Writes down what has changed in `meta`; the last thing before the commit.
    func finish() throws(StoreFailure) {
        if meta != loadedMeta { try meta.save(connection) }
    }

    /// The table of a collection.
    func table(_ collection: CollectionName, orElse code: StoreFailure.Code = .unknownCollection) throws(StoreFailure)
        -> RecordTable
    {
        guard let table = tables.first(where: { $0.model.collection == collection }) else {
            let names = tables.map(\.name).joined(separator: ", ")
            throw StoreFailure(code, "there is no collection \(collection); there are: \(names)")
        }
        return table
    }

    /// The key of a space, which gets one when it is first used.
    func key(of space: SpaceID) throws(StoreFailure) -> Int64 {
        if let key = spaceKeys[space] { return key }
        let key = try SpaceRow.load(space, connection).key
        spaceKeys[space] = key
        return key
    }
}

/// One record of one table.
struct RecordPlace: Hashable, Comparable {
    /// The place of the table in the catalog.
    let table: Int
    let id: RecordID

    static func < (left: RecordPlace, right: RecordPlace) -> Bool {
        left.table == right.table ? left.id < right.id : left.table < right.table
    }
}
