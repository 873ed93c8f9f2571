public import SyncModel

/// The origin of a value: the edit that set it, and the commit of that edit.
public struct FieldOrigin: Hashable, Sendable {
    /// The version of the commit that last changed the value.
    public let version: Version
    /// The stamp of the latest edit that set this value, which decides concurrent edits. The stamp may be newer than
    /// `version`, if a later edit set the same value again.
    public let stamp: Stamp
    /// The incarnation of `stamp.client` that pushed the edit, or `disowned`. A later push of the same incarnation has
    /// provably seen the edit.
    public let incarnation: Int

    /// The incarnation of an edit whose author has lost its copy of the record since. No client has this incarnation.
    static let disowned = Int.max

    /// Creates an origin. `incarnation` belongs to the client of `stamp`.
    public init(version: Version, stamp: Stamp, incarnation: Int) {
        self.version = version
        self.stamp = stamp
        self.incarnation = incarnation
    }

    /// The client and incarnation that pushed the edit.
    public var identity: ClientIdentity { ClientIdentity(client: stamp.client, incarnation: incarnation) }
}

/// A field of a record as the authority stores it.
public struct StoredField: Hashable, Sendable {
    /// The name of the field, which this build's schema may not have.
    public let name: FieldName
    /// The value in canonical form.
    public let value: FieldValue
    /// The edit and the commit that set the value.
    public package(set) var origin: FieldOrigin
    /// The stamps of other clients' edits that set the same value, without having seen it or after they had changed it,
    /// oldest first. If the value loses a conflict, these clients get a notice, too.
    ///
    /// If the edit with the stamp of `origin` set the value that the field had, its stamp is in the list, too.
    public package(set) var equalEdits: [Stamp]

    /// Creates a field, with the value in canonical form.
    public init(name: FieldName, value: FieldValue, origin: FieldOrigin, equalEdits: [Stamp] = []) {
        self.name = name
        self.value = value.canonical
        self.origin = origin
        self.equalEdits = equalEdits
    }

    /// Whether the newest edit set the value that the field already had: its author had not seen it, or had changed it
    /// and set it back. Its stamp is then newer than the version, from which devices know the value.
    public var hasEqualOrigin: Bool { equalEdits.contains(origin.stamp) }

    /// Returns the edits that set the same value, with the newest one.
    func equalEdits(and newest: Stamp) -> [Stamp] {
        equalEdits.filter { $0.client != newest.client }.suffix(AuthorityLimits.equalEdits) + [newest]
    }
}

/// The creation of a record.
public struct RecordCreation: Hashable, Sendable {
    /// The origin of every field that no edit has set yet. The value of such a field is null.
    public let origin: FieldOrigin
    /// The time that the client claimed, not clamped. It distinguishes a repeated create from a different one.
    public let claimedTime: HybridTime

    /// Creates the stored form of a create.
    public init(origin: FieldOrigin, claimedTime: HybridTime) {
        self.origin = origin
        self.claimedTime = claimedTime
    }
}

/// A record, alive or deleted, as the authority stores it.
///
/// Fields are stored by name, so that a schema can gain fields without a change to the stored data, and fields that
/// this build does not know survive.
public struct StoredRecord: Hashable, Sendable {
    /// The collection and the id of the record.
    public let address: RecordAddress
    /// The number that this server assigned when it accepted the record.
    public let uid: UID
    /// The space of the record, which never changes.
    public let space: SpaceID
    /// The version of the last commit that changed the record.
    public let version: Version
    /// The create of the record.
    public let creation: RecordCreation
    /// The stamp of the mutation that deleted the record; nil while it is alive. A deleted record has no fields and
    /// never comes back.
    public let deletion: Stamp?
    /// The fields that an edit has set, ordered by name.
    public let fields: [StoredField]

    /// Creates a record as a store has read it, with `fields` ordered by name.
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

    /// Returns the record without the knowledge that `author` has seen the values that it has set itself.
    func disowned(from author: ClientIdentity) -> StoredRecord {
        StoredRecord(
            address: address, uid: uid, space: space, version: version, creation: creation, deletion: deletion,
            fields: fields.map { field in
                guard field.origin.identity == author else { return field }
                var field = field
                field.origin = FieldOrigin(
                    version: field.origin.version, stamp: field.origin.stamp, incarnation: FieldOrigin.disowned)
                return field
            })
    }

    /// Whether the record has not been deleted.
    public var isAlive: Bool { deletion == nil }

    /// Returns a field. A field that no edit has set has been null since the record was created.
    public func field(_ name: FieldName) -> StoredField {
        fields.first { $0.name == name } ?? StoredField(name: name, value: .null, origin: creation.origin)
    }
}

extension Record {
    /// Creates the client's view of a stored record.
    package init(_ stored: StoredRecord, schema: ModelSchema) {
        let creation = stored.creation.origin.version
        let areAllOfOneCommit =
            creation == stored.version && stored.fields.allSatisfy { $0.origin.version == stored.version }
        var unknown = Patch()
        var values = Array(repeating: FieldValue.null, count: schema.fields.count)
        var versions = areAllOfOneCommit ? [] : Array(repeating: creation, count: schema.fields.count)
        var walk = schema.walkByName()
        for field in stored.fields {
            if let position = walk.position(of: field.name) {
                values[position] = field.value
                if !areAllOfOneCommit { versions[position] = field.origin.version }
            } else {
                unknown.set(field.name, to: field.value)
            }
        }
        self.init(
            id: stored.address.id, uid: stored.uid, version: stored.version, values: values,
            fieldVersions: versions.allSatisfy { $0 == stored.version } ? [] : versions, unknown: unknown)
    }
}

extension StoredRecord {
    /// Whether a create with these values can be the one that has created the record.
    ///
    /// Two copies of a device can create the same record at the same claimed time with different values. Fields that
    /// have changed since the create, and deleted records, cannot be compared.
    func mayHaveBeenCreated(with patch: Patch) -> Bool {
        guard isAlive else { return true }
        let names = Set(fields.map(\.name)).union(patch.map(\.field))
        return names.allSatisfy { name in
            let stored = field(name)
            return stored.origin.version != creation.origin.version || stored.value == patch[name] ?? .null
        }
    }

    /// Whether nobody has given the field a value since the record was created.
    func isUnset(_ name: FieldName) -> Bool {
        let stored = field(name)
        return stored.value.isNull && stored.origin.version == creation.origin.version
    }
}
