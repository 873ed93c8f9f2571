import Crypto
import SyncModel

/// A fingerprint of a collection: SHA-256 over its records in the order of their ids. Two stores that hold the same
/// records under the same uids have the same one; versions do not count.
struct RecordDigest {
    private var hash = SHA256()
    private(set) var count = 0

    /// - Parameter record: its id is greater than that of the one before.
    mutating func add(_ record: Record, _ schema: ModelSchema) {
        var line = JSONLine()
        line.set("type", schema.collection.rawValue)
        line.set("id", record.id.description)
        line.set("uid", record.uid.rawValue)
        for (field, value) in zip(schema.fields, record.values) {
            // JSON as its text: each character of it counts, which it does not within a line.
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
        hash.finalize().map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
    }
}
