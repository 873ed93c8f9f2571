/// One object of one collection, as one party holds it at one moment.
public struct Record: Hashable, Sendable {
    public let id: RecordID
    public var uid: UID
    /// The version of the last commit that touched the record; `.zero` when no server has shown it yet.
    public var version: Version
    /// One value per field of the schema, in its order.
    public var values: [FieldValue]
    /// The version that last changed each field, in the order of `values`; empty when all are `version`.
    public var fieldVersions: [Version]
    /// Fields that the server knows and this build does not: kept, shown to nobody, never written back.
    public var unknown: Patch

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

    /// The version that last changed the field at `position`.
    public func version(ofFieldAt position: Int) -> Version {
        fieldVersions.isEmpty ? version : fieldVersions[position]
    }

    /// The values that it has, by their names. Fields that this build does not know are not among them.
    public func patch(schema: ModelSchema) -> Patch {
        var patch = Patch()
        for (field, value) in zip(schema.fields, values) where !value.isNull { patch.set(field.name, to: value) }
        return patch
    }

    /// Says that `commit` last changed the fields at `positions`, and with them the record.
    ///
    /// The other fields keep their own versions, also where these were all the same and not written down.
    public mutating func note(changeOf positions: some Sequence<Int>, by commit: Version) {
        var versions = fieldVersions.isEmpty ? Array(repeating: version, count: values.count) : fieldVersions
        for position in positions { versions[position] = commit }
        version = max(version, commit)
        fieldVersions = versions.allSatisfy { $0 == version } ? [] : versions
    }
}
