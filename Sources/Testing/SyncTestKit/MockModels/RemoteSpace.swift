package import SyncCore
package import SyncModel

/// The records of a remote space in memory, where writes take effect at once: the smallest server.
package struct RemoteSpace: Sendable {
    package private(set) var version = Version.zero
    private let catalog: SchemaCatalog
    private var records: [CollectionName: [RecordID: Record]] = [:]
    private var nextUIDs: [CollectionName: Int64] = [:]

    package init(_ catalog: SchemaCatalog) {
        self.catalog = catalog
    }

    package subscript(collection: CollectionName) -> [RecordID: Record] { records[collection] ?? [:] }

    package var collections: [CollectionName] { records.keys.sorted() }

    package var count: Int { records.values.reduce(0) { $0 + $1.count } }

    package func record(_ collection: CollectionName, _ key: RecordKey) -> Record? {
        switch key {
        case .id(let id): records[collection]?[id]
        case .uid(let uid): records[collection]?.values.first { $0.uid == uid }
        }
    }

    /// Adds a record, or replaces it.
    package mutating func put(_ collection: CollectionName, _ record: Record) {
        records[collection, default: [:]][record.id] = record
    }

    /// Applies edits as one commit, and returns the uids of the records that it created.
    package mutating func commit(_ edits: [RecordEdit]) -> [AssignedUID] {
        version = version.next
        var uids: [AssignedUID] = []
        for edit in edits {
            guard let schema = catalog[edit.collection] else { continue }
            let effect: RecordChange.Effect
            switch edit {
            case .create(let collection, let id, let patch):
                let uid = UID(nextUIDs[collection, default: 0])
                nextUIDs[collection] = uid.rawValue + 1
                uids.append(AssignedUID(collection: collection, record: id, uid: uid))
                effect = .created(uid: uid, patch)
            case .update(_, _, let patch): effect = .updated(patch)
            case .delete: effect = .deleted
            }
            let change = RecordChange(collection: edit.collection, id: edit.record, effect: effect)
            records[edit.collection, default: [:]][edit.record] = change.applied(
                to: records[edit.collection]?[edit.record], at: version, schema: schema)
        }
        return uids
    }
}
