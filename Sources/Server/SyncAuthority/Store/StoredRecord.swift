public import SyncModel

/// The name of a record on the server.
public struct RecordAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let collection: CollectionName
    public let id: RecordID

    public init(_ collection: CollectionName, _ id: RecordID) {
        self.collection = collection
        self.id = id
    }

    public static func < (left: RecordAddress, right: RecordAddress) -> Bool {
        left.collection == right.collection ? left.id < right.id : left.collection < right.collection
    }

    public var description: String { "\(collection) \(id)" }
}

/// Where a value comes from: the commit that brought it, and the edit.
public struct FieldOrigin: Hashable, Sendable {
    /// The commit that last changed the value.
    public let version: Version
    /// The latest edit that gave this value: by it concurrent edits are decided. It may be younger than `version`,
    /// when a later edit gave the same value again.
    public let stamp: Stamp
    /// The incarnation of `stamp.client` that pushed the edit: only a later push of the same one has provably seen it.
    public let incarnation: Int

    public init(version: Version, stamp: Stamp, incarnation: Int) {
        self.version = version
        self.stamp = stamp
        self.incarnation = incarnation
    }

    /// The client and incarnation that pushed the edit.
    public var identity: ClientIdentity { ClientIdentity(client: stamp.client, incarnation: incarnation) }
}

/// A field of a record as the authority keeps it.
public struct StoredField: Hashable, Sendable {
    public let name: FieldName
    public let value: FieldValue
    public let origin: FieldOrigin

    public init(name: FieldName, value: FieldValue, origin: FieldOrigin) {
        self.name = name
        self.value = value
        self.origin = origin
    }
}

/// How a record came to be.
public struct RecordCreation: Hashable, Sendable {
    /// The origin of every field that no edit has named yet; its value is null.
    public let origin: FieldOrigin
    /// The time that the client gave, not clamped: tells a repeat of the create from another create.
    public let claimedTime: HybridTime

    public init(origin: FieldOrigin, claimedTime: HybridTime) {
        self.origin = origin
        self.claimedTime = claimedTime
    }
}

/// A record, alive or deleted, as the authority keeps it.
///
/// Fields are kept by name, so that a schema may gain fields without a change of what is stored, and fields that this
/// build does not know survive it.
public struct StoredRecord: Hashable, Sendable {
    public let address: RecordAddress
    public let uid: UID
    public let space: SpaceID
    /// The last commit that touched the record.
    public let version: Version
    public let creation: RecordCreation
    /// The edit that deleted it; nil while it is alive. A deleted record keeps no fields, and never comes back.
    public let deletion: Stamp?
    /// Those that an edit has named, in the order of their names.
    public let fields: [StoredField]

    public init(
        address: RecordAddress, uid: UID, space: SpaceID, version: Version, creation: RecordCreation, deletion: Stamp?,
        fields: [StoredField]
    ) {
        self.address = address
        self.uid = uid
        self.space = space
        self.version = version
        self.creation = creation
        self.deletion = deletion
        self.fields = fields
    }

    public var isAlive: Bool { deletion == nil }

    /// The field as it stands; one that no edit has named is null since the record was created.
    public func field(_ name: FieldName) -> StoredField {
        fields.first { $0.name == name } ?? StoredField(name: name, value: .null, origin: creation.origin)
    }
}

extension Record {
    /// A stored record as clients are shown it.
    package init(_ stored: StoredRecord, schema: ModelSchema) {
        var unknown = Patch()
        var values = Array(repeating: FieldValue.null, count: schema.fields.count)
        var versions = Array(repeating: stored.creation.origin.version, count: schema.fields.count)
        for field in stored.fields {
            if let position = schema.position(of: field.name) {
                values[position] = field.value
                versions[position] = field.origin.version
            } else {
                unknown.set(field.name, to: field.value)
            }
        }
        self.init(
            id: stored.address.id, uid: stored.uid, version: stored.version, values: values,
            fieldVersions: versions.allSatisfy { $0 == stored.version } ? [] : versions, unknown: unknown)
    }
}
