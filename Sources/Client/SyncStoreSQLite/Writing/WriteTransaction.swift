import SQLiteDatabase
import SyncCore
import SyncModel

/// One transaction of the writer, in which a call of the store makes all its changes or none.
///
/// The object lives for one call, on the writer's connection, inside `BEGIN IMMEDIATE` and `COMMIT`, or in a savepoint
/// of them.
final class WriteTransaction {
    let connection: Connection
    let catalog: SchemaCatalog
    let tables: [RecordTable]
    let limits: StoreLimits
    var meta: Meta
    private let loadedMeta: Meta
    /// The change to publish to observers after the commit.
    var change = StoreChange()
    /// Whether a record may hold a uid that a lost history of the server gave it.
    var mayHoldOldUIDs = false
    /// The key of the space whose snapshot is being applied over existing rows; nil otherwise.
    var freshSnapshot: Int64?
    /// For each space, by its key: the number of records that a page of another space has taken away from it. A lost
    /// history had these records in the space.
    var takenAway: [Int64: Int] = [:]
    /// Set by a call that decides to change nothing. The transaction is then rolled back.
    var rollsBack = false
    let cache: WriterCache
    /// The newest journal entry before this transaction offered anything; nil until it is asked for.
    var newestBeforeOffers: Int64?
    /// The result of `recordsReferredToByPending()`; nil until a page deletes a record.
    var referredToByPending: Set<RecordPlace>?

    init(
        on connection: Connection, catalog: SchemaCatalog, tables: [RecordTable], limits: StoreLimits,
        cache: WriterCache = WriterCache()
    ) throws {
        try cache.prepare(connection)
        guard let meta = try cache.meta ?? Meta.load(connection) else {
            throw StoreError.withoutIdentity
        }
        self.connection = connection
        self.catalog = catalog
        self.tables = tables
        self.limits = limits
        self.meta = meta
        loadedMeta = meta
        self.cache = cache
    }

    /// Saves `meta` if it has changed. Must be the last step before the commit.
    func finish() throws {
        try meta.save(over: loadedMeta, connection)
        cache.meta = meta
    }

    /// Returns the table of a collection, or throws `code` when there is none.
    func table(_ collection: CollectionName, orElse code: StoreError.Code = .unknownCollection) throws
        -> RecordTable
    {
        guard let table = tables.first(where: { $0.model.collection == collection }) else {
            let names = tables.map(\.name).joined(separator: ", ")
            throw StoreError(code, "there is no collection \(collection); there are: \(names)")
        }
        return table
    }

    /// Returns the key of a space, and follows the space on first use.
    func key(of space: SpaceID) throws -> Int64 {
        if let key = cache.spaceKeys[space] { return key }
        let known = try SpaceRow.find(space, connection)
        if known == nil { change.touchesSpaces = true }
        let key = try (known ?? SpaceRow.load(space, connection)).key
        cache.spaceKeys[space] = key
        return key
    }
}

/// The address of a record in this database: its table and its id.
struct RecordPlace: Hashable, Comparable {
    /// The index of the table in the catalog.
    let table: Int
    let id: RecordID

    static func < (left: RecordPlace, right: RecordPlace) -> Bool {
        left.table == right.table ? left.id < right.id : left.table < right.table
    }
}
