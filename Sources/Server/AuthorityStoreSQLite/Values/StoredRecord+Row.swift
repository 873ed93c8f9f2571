import Foundation
import GRDB
import SyncAuthority
import SyncModel

extension StoredRecord {
    /// The columns that `init(row:)` reads, in this order.
    static let columns = "collection, id, uid, space, version, creation, deletion, fields, origins"

    init(row: Row) throws(AuthorityStoreFailure) {
        let what = "a row of record"
        let creationBlob: Data = row[5]
        let deletionBlob: Data? = row[6]
        let text: String = row[7]
        let origins: Data = row[8]
        var reader = BlobReader(creationBlob, "the creation in \(what)")
        let origin = try reader.origin()
        let creation = RecordCreation(origin: origin, claimedTime: HybridTime(rawValue: try reader.number()))
        try reader.end()
        let deletion: Stamp? =
            if let deletionBlob { try Stamp(stored: deletionBlob, "the deletion in \(what)") } else { nil }
        self.init(
            address: RecordAddress(
                try CollectionName(stored: row[0], "the collection in \(what)"),
                RecordID(bits: try Identifier128(stored: row[1], "the id in \(what)"))),
            uid: UID(row[2]), space: try SpaceID(stored: row[3], "the space in \(what)"), version: Version(row[4]),
            creation: creation, deletion: deletion,
            fields: try Self.fields(try StoredText.patch(text, "the fields in \(what)"), origins, creation.origin))
    }

    private static func fields(
        _ patch: Patch, _ origins: Data, _ creation: FieldOrigin
    ) throws(AuthorityStoreFailure) -> [StoredField] {
        var reader = BlobReader(origins, "the origins in a row of record")
        let areAllAsCreated = reader.isAtEnd
        var fields: [StoredField] = []
        fields.reserveCapacity(patch.count)
        for (name, value) in patch {
            let origin = areAllAsCreated ? creation : try reader.origin()
            fields.append(StoredField(name: name, value: value, origin: origin))
        }
        try reader.end()
        return fields
    }

    var storedFields: Patch {
        var patch = Patch()
        for field in fields { patch.set(field.name, to: field.value) }
        return patch
    }

    var storedCreation: Data {
        var writer = BlobWriter(reserving: 48)
        writer.write(creation.origin)
        writer.write(creation.claimedTime.rawValue)
        return writer.data
    }

    var storedOrigins: Data {
        guard fields.contains(where: { $0.origin != creation.origin }) else { return Data() }
        var writer = BlobWriter(reserving: fields.count * 40)
        for field in fields { writer.write(field.origin) }
        return writer.data
    }
}
