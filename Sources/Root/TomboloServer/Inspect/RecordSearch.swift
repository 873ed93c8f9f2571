import LoopbackPage
import SyncAuthority
import SyncModel

/// A search for records whose values contain a text, ignoring case, or whose id or uid is the text.
struct RecordSearch {
    private let lowercased: [UInt8]
    private let id: RecordID?
    private let number: Int64?

    /// Returns nil for an empty text.
    init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        lowercased = Array(text.lowercased().utf8)
        id = RecordID(text)
        number = Int64(text)
    }

    /// Returns the records with the id or the uid, alive or deleted.
    func named(
        in space: SpaceID, of collection: CollectionName, _ view: any AuthorityView
    ) throws -> [StoredRecord] {
        var found: [StoredRecord] = []
        if let id, let record = try view.record(RecordAddress(collection, id)) { found.append(record) }
        if let number, number >= 0, let record = try view.record(collection, UID(number)) { found.append(record) }
        return found.filter { $0.space == space }
    }

    /// Returns whether a value of the record matches.
    func matches(_ record: StoredRecord) -> Bool {
        record.fields.contains { field in
            switch field.value {
            case .text(let text), .json(let text): Self.contains(lowercased, text)
            case .integer(let value): value == number
            case .reference(let target): target == id
            case .null, .boolean, .real: false
            }
        }
    }

    private static func contains(_ part: [UInt8], _ text: String) -> Bool {
        var text = text.lowercased()
        return text.withUTF8 { text in
            guard text.count >= part.count else { return false }
            return (0...(text.count - part.count)).contains { start in
                text[start] == part[0] && text[start..<(start + part.count)].elementsEqual(part)
            }
        }
    }
}

extension PageArguments {
    /// Returns the text to search for; empty if there is none.
    func search() throws(PageError) -> String {
        let text = try text("search") ?? ""
        guard text.utf8.count <= InspectLimits.searchBytes else {
            throw PageError(400, "the search text is longer than \(InspectLimits.searchBytes) bytes")
        }
        return text
    }
}
