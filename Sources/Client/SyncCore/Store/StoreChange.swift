public import SyncConcurrency
public import SyncModel

/// The records that a commit to the local store may have changed, whether it changed the outbox or the journal, and
/// whether another process asks for a sync.
///
/// It contains record ids but no values: observers read the records again.
public struct StoreChange: Coalescing, Hashable, Sendable {
    /// The changed records by collection. A collection that is missing has not changed.
    public var extents: [CollectionName: Extent]
    /// Whether the outbox or the journal may have changed, including the states of their entries.
    public var touchesOutbox: Bool
    /// Whether a transaction was written that the engine must send.
    public var addsToOutbox: Bool
    /// Whether a transaction has left the outbox, so that its fate is settled.
    public var removesFromOutbox: Bool
    /// Whether the device has begun or stopped following a space.
    public var touchesSpaces: Bool
    /// Whether another process asks the engine to sync now.
    public var requestsSync: Bool

    /// The records of a collection that may have changed.
    public enum Extent: Hashable, Sendable {
        /// Only these records, at most `largestSet`.
        case records(Set<RecordID>)
        /// Any record of the collection.
        case all
    }

    /// If a commit touches more records of a collection than this, the change says `all`.
    public static let largestSet = 256

    /// Creates a change, by default of nothing. A change that adds to the outbox or removes from it touches it.
    public init(
        extents: [CollectionName: Extent] = [:], touchesOutbox: Bool = false, addsToOutbox: Bool = false,
        removesFromOutbox: Bool = false, touchesSpaces: Bool = false, requestsSync: Bool = false
    ) {
        self.extents = extents
        self.touchesSpaces = touchesSpaces
        self.requestsSync = requestsSync
        self.touchesOutbox = touchesOutbox || addsToOutbox || removesFromOutbox
        self.addsToOutbox = addsToOutbox
        self.removesFromOutbox = removesFromOutbox
    }

    /// Returns a change that covers every record, the outbox, and the spaces, for use after another process has
    /// written.
    public static func everything(in catalog: SchemaCatalog) -> StoreChange {
        StoreChange(
            extents: Dictionary(uniqueKeysWithValues: catalog.models.map { ($0.collection, .all) }),
            addsToOutbox: true, removesFromOutbox: true, touchesSpaces: true)
    }

    /// Adds a record. With more than `largestSet` records, the change covers the whole collection.
    public mutating func touch(_ collection: CollectionName, _ id: RecordID) {
        switch extents[collection] {
        case nil: extents[collection] = .records([id])
        case .all?: break
        case .records(var ids)?:
            extents[collection] = nil  // so that the set is not copied
            ids.insert(id)
            extents[collection] = ids.count > Self.largestSet ? .all : .records(ids)
        }
    }

    /// Returns whether the record may have changed.
    public func touches(_ collection: CollectionName, _ id: RecordID) -> Bool {
        switch extents[collection] {
        case nil: false
        case .all?: true
        case .records(let ids)?: ids.contains(id)
        }
    }

    /// Whether there is nothing that an observer would have to do.
    public var isEmpty: Bool { extents.isEmpty && !touchesOutbox && !touchesSpaces && !requestsSync }

    public mutating func absorb(_ later: StoreChange) {
        touchesOutbox = touchesOutbox || later.touchesOutbox
        addsToOutbox = addsToOutbox || later.addsToOutbox
        removesFromOutbox = removesFromOutbox || later.removesFromOutbox
        touchesSpaces = touchesSpaces || later.touchesSpaces
        requestsSync = requestsSync || later.requestsSync
        for (collection, extent) in later.extents {
            switch (extents[collection], extent) {
            case (nil, _), (_, .all): extents[collection] = extent
            case (.all?, .records): break
            case (.records(let earlier)?, .records(let more)):
                let joined = earlier.union(more)
                extents[collection] = joined.count > Self.largestSet ? .all : .records(joined)
            }
        }
    }
}
