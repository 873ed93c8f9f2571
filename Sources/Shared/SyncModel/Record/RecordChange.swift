/// The change of one record by one commit, as the server's change feed contains it.
public struct RecordChange: Hashable, Sendable {
    /// The collection of the record.
    public let collection: CollectionName
    /// The id of the record.
    public let id: RecordID
    /// The creation of the record, its new values, or its deletion.
    public let effect: Effect

    /// The effects that a commit can have on a record.
    public enum Effect: Hashable, Sendable {
        /// The record was created with these values. Fields that are not named are null.
        case created(uid: UID, Patch)
        /// These fields have new values.
        case updated(Patch)
        /// The record was deleted. Its id is never used again.
        case deleted
    }

    /// Creates the change of one record.
    public init(collection: CollectionName, id: RecordID, effect: Effect) {
        self.collection = collection
        self.id = id
        self.effect = effect
    }
}

extension RecordChange {
    /// Returns the record after this change; nil when there is none.
    ///
    /// - Parameter record: The record before the change; nil when there is none.
    public func applied(to record: Record?, at version: Version, schema: ModelSchema) -> Record? {
        switch effect {
        // A page of a snapshot may have shown the record already, in a state later than this commit.
        case .created(let uid, let patch):
            record ?? Record(id: id, uid: uid, version: version, creating: patch, schema: schema)
        case .updated(let patch): record?.updated(by: patch, at: version, schema: schema)
        case .deleted: nil
        }
    }
}

/// The changes of one commit. Clients see all of them or none.
public struct Commit: Hashable, Sendable {
    /// The version of the space after the commit.
    public let version: Version
    /// The changes, which may concern several collections.
    public let changes: [RecordChange]

    /// Creates a commit. The server assigns the version.
    public init(version: Version, changes: [RecordChange]) {
        self.version = version
        self.changes = changes
    }
}

extension Record {
    /// Creates a record from a `created` change.
    public init(id: RecordID, uid: UID, version: Version, creating patch: Patch, schema: ModelSchema) {
        self.init(
            id: id, uid: uid, version: version, values: Array(repeating: .null, count: schema.fields.count))
        write(patch, schema: schema)
    }

    /// Returns this record after an `updated` change of a commit.
    ///
    /// Fields that already have a later version keep their values, because a page of a snapshot may be ahead of the
    /// change feed. Fields that the schema does not know have no versions, so each commit sets them.
    public func updated(by patch: Patch, at version: Version, schema: ModelSchema) -> Record {
        var result = self
        var changed: [Int] = []
        for (name, value) in patch {
            guard let position = schema.position(of: name) else {
                result.unknown.set(name, to: value)
                continue
            }
            guard self.version(ofFieldAt: position) <= version else { continue }
            result.values[position] = value
            changed.append(position)
        }
        result.note(changeOf: changed, by: version)
        return result
    }

    /// Sets values by field name. Fields that the schema does not know go to `unknown`.
    mutating func write(_ patch: Patch, schema: ModelSchema) {
        for (name, value) in patch {
            if let position = schema.position(of: name) {
                values[position] = value
            } else {
                unknown.set(name, to: value)
            }
        }
    }
}
