import SyncCore
import SyncModel

extension EngineStore where Self: LocalStore {
    /// Returns all records, by space and collection.
    func recordsBySpace() throws(StoreError) -> [SpaceID: [CollectionName: [Record]]] {
        let spaces = try session().spaces.map(\.space)
        var found: [SpaceID: [CollectionName: [Record]]] = [:]
        for schema in catalog.models {
            let records = try records(matching: RecordQuery(schema.collection))
            // Most worlds have one space, and looking up each record's space is slow.
            if spaces.count == 1 {
                found[spaces[0], default: [:]][schema.collection] = records
                continue
            }
            for record in records {
                guard let home = try space(of: schema.collection, record.id) else {
                    throw StoreError(.corrupt, "\(schema.collection) \(record.id) lives in no space")
                }
                found[home, default: [:]][schema.collection, default: []].append(record)
            }
        }
        return found
    }
}
