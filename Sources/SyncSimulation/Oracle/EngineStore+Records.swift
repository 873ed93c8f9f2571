import SyncCore
import SyncModel

extension EngineStore where Self: LocalStore {
    /// The records of a space, by their collections.
    func records(in space: SpaceID) throws(StoreFailure) -> [CollectionName: [Record]] {
        // Most worlds have one space, and asking takes time.
        let isOnlyOne = try session().spaces.count <= 1
        var found: [CollectionName: [Record]] = [:]
        for schema in catalog.models {
            var records = try records(matching: RecordQuery(schema.collection))
            if !isOnlyOne {
                var mine: [Record] = []
                for record in records where try self.space(of: schema.collection, record.id) == space {
                    mine.append(record)
                }
                records = mine
            }
            found[schema.collection] = records
        }
        return found
    }
}
