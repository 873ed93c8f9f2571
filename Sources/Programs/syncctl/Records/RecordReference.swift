import SyncCore
import SyncModel

/// A reference to a record on the command line: a uid, an id, or a name, or `username=7` if the name looks like a uid
/// or an id.
struct RecordReference {
    let text: String

    /// Returns the record that the text names.
    ///
    /// - Throws: when there is no such record, or more than one with that name.
    func resolve(_ collection: CollectionName, in store: any LocalStore) throws -> Record {
        if let field = RecordNames.nameField(of: collection), text.utf8.starts(with: "\(field)=".utf8) {
            return try resolve(
                name: String(text.unicodeScalars.dropFirst("\(field)=".unicodeScalars.count)), collection, in: store)
        }
        // Other forms of a number, such as +1 or 007, are names.
        if let number = Int64(text), "\(number)" == text {
            guard let record = try store.record(collection, .uid(UID(number))) else {
                throw missing(collection, "with uid \(number)")
            }
            return record
        }
        if let id = RecordID(text) {
            guard let record = try store.record(collection, .id(id)) else { throw missing(collection, "with id \(id)") }
            return record
        }
        return try resolve(name: text, collection, in: store)
    }

    private func resolve(name text: String, _ collection: CollectionName, in store: any LocalStore) throws -> Record {
        let shown = String(text.prefix(64))
        guard let name = RecordNames.nameField(of: collection),
            let field = store.catalog[collection]?.field(named: name)
        else {
            throw CommandError(
                .failed, "'\(shown)' is not a valid uid or id: records of \(collection) have no other name")
        }
        let query = RecordQuery(collection, where: [.init(name, equals: field.normalized(.text(text)))], limit: 2)
        let found = try store.records(matching: query)
        guard let record = found.first else { throw missing(collection, "whose \(name) is '\(shown)'") }
        guard found.count == 1 else {
            throw CommandError(
                .failed, "\(collection) has more than one record whose \(name) is '\(shown)'",
                advice: "give its uid or id, which syncctl record list \(collection) shows")
        }
        return record
    }

    private func missing(_ collection: CollectionName, _ description: String) -> CommandError {
        CommandError(
            .failed, "there is no record of \(collection) \(description) on this device",
            advice: "syncctl record list \(collection) lists the records")
    }
}
