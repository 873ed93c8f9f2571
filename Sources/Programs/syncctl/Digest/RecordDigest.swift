import Crypto
import SyncModel
import SyncProgram

/// A digest of a collection: the SHA-256 of its records in the order of their ids.
///
/// Two stores with the same records and uids have the same digest, in whatever order their models list the same fields.
/// Versions are not included.
struct RecordDigest {
    private var hash = SHA256()
    /// The positions of the fields, in the order of their names.
    private let order: [Int]
    private let schema: ModelSchema
    private(set) var count = 0

    init(of schema: ModelSchema) {
        self.schema = schema
        order = schema.fields.indices.sorted { schema.fields[$0].name < schema.fields[$1].name }
    }

    /// Adds a record.
    ///
    /// - Parameter record: a record whose id is greater than that of the previous one.
    mutating func add(_ record: Record) {
        var line = JSONLine()
        line.set("type", schema.collection.rawValue)
        line.set("id", record.id.description)
        line.set("uid", record.uid.rawValue)
        for position in order {
            let (field, value) = (schema.fields[position], record.values[position])
            // JSON is added as a string, so that every character counts. If it were added as a JSON value, its line
            // breaks would be replaced.
            if case .json(let text) = value {
                line.set(field.name.rawValue, text)
            } else {
                line.set(field.name.rawValue, value)
            }
        }
        hash.update(data: Array((line.text + "\n").utf8))
        count += 1
    }

    var text: String {
        Hexadecimal.text(of: Array(hash.finalize()))
    }
}
