/// A record of a collection, as one device or server holds it at one moment.
public struct Record: Hashable, Sendable {
    /// The id that the creating client chose. It never changes and is never reused.
    public let id: RecordID
    /// The number that the server assigned; `.none` until the server has accepted the record.
    public var uid: UID
    /// The version of the last commit that changed the record; `.zero` when no server has sent it yet.
    public var version: Version
    /// One value for each field of the schema, in the schema's order.
    public var values: [FieldValue]
    /// The version that last changed each field, in the order of `values`. Empty when all of them equal `version`.
    public var fieldVersions: [Version]
    /// The fields that the server knows and this build does not. They are kept, but never shown and never written back.
    public var unknown: Patch

    /// Creates a record. The caller matches `values` and `fieldVersions` to the fields of the schema.
    public init(
        id: RecordID, uid: UID, version: Version, values: [FieldValue], fieldVersions: [Version] = [],
        unknown: Patch = Patch()
    ) {
        self.id = id
        self.uid = uid
        self.version = version
        self.values = values
        self.fieldVersions = fieldVersions
        self.unknown = unknown
    }

    /// Returns the version that last changed the field at `position`.
    public func version(ofFieldAt position: Int) -> Version {
        fieldVersions.isEmpty ? version : fieldVersions[position]
    }

    /// Returns the record without versions of fields that are older than its creation. A build that learned a field
    /// during a snapshot has given it such a version.
    package func withFields(sinceAtLeast creation: Version) -> Record {
        guard fieldVersions.contains(where: { $0 < creation }) else { return self }
        var record = self
        let versions = fieldVersions.map { max($0, creation) }
        record.fieldVersions = versions.allSatisfy { $0 == version } ? [] : versions
        return record
    }

    /// The names of the fields that the server knows and this build does not, sorted.
    package var unshownFields: [FieldName] { unknown.map(\.field).sorted() }

    /// Returns the values that are not null, by field name, without the fields that this build does not know.
    public func patch(schema: ModelSchema) -> Patch {
        var patch = Patch()
        for (field, value) in zip(schema.fields, values) where !value.isNull { patch.set(field.name, to: value) }
        return patch
    }

    /// Records that `commit` last changed the fields at `positions`, and therefore the record.
    ///
    /// The other fields keep their versions, even if `fieldVersions` was empty.
    public mutating func note(changeOf positions: some Sequence<Int>, by commit: Version) {
        var versions = fieldVersions.isEmpty ? Array(repeating: version, count: values.count) : fieldVersions
        for position in positions { versions[position] = commit }
        version = max(version, commit)
        fieldVersions = versions.allSatisfy { $0 == version } ? [] : versions
    }
}
