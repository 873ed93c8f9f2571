/// A field as a person saw it who then edited the field or deleted the record.
public struct SeenField: Hashable, Sendable {
    /// The value that was shown, in canonical form.
    public let value: FieldValue
    /// The version that had last changed the field; `.zero` if no server had sent the record yet.
    public let version: Version
    /// Whether the same object wrote the value, and no server had shown it. The version is then that of the value that
    /// it hid, and another value of this version is that one, for example after a rejection.
    public let isOwn: Bool

    /// Creates the state of a field that was shown.
    public init(_ value: FieldValue, at version: Version, isOwn: Bool = false) {
        self.value = value.canonical
        self.version = version
        self.isOwn = isOwn
    }
}

/// The fields that the author of an edit saw, by record.
public typealias SeenFields = [RecordAddress: [FieldName: SeenField]]

extension Record {
    /// Returns the state of the field at `position`.
    package func seenField(at position: Int) -> SeenField {
        SeenField(values[position], at: version(ofFieldAt: position))
    }

    /// Returns the version of a field whose value an author has seen, as the server may be told.
    ///
    /// In one history, the version of a field never goes back and has one value. An author who saw a later version, or
    /// another value of the same one, saw a history that the server has lost, and nothing of this one.
    ///
    /// - Parameters:
    ///   - seen: The field as the author saw it; nil for the present state.
    ///   - position: The position of the field.
    ///   - isPending: Whether the record has a pending value in the field. The version is then that of the server's
    ///     value, which it hides.
    package func versionSeen(_ seen: SeenField?, ofFieldAt position: Int, isPending: Bool = false) -> Version {
        let stored = version(ofFieldAt: position)
        guard let seen else { return stored }
        let mayDiffer = isPending || seen.isOwn
        if seen.version > stored || seen.version == stored && seen.value != values[position] && !mayDiffer {
            return .zero
        }
        return seen.version
    }

    /// Returns the newest version of the record whose values an author has seen all.
    ///
    /// - Parameter seen: The fields as the author saw them. Those that are missing were seen in their present state.
    package func versionSeen(_ seen: [FieldName: SeenField], in schema: ModelSchema) -> Version {
        var version = version
        for (name, field) in seen {
            guard let position = schema.position(of: name) else { continue }
            let stored = self.version(ofFieldAt: position)
            if versionSeen(field, ofFieldAt: position) < stored {
                version = min(version, Version(max(stored.rawValue, 1) - 1))
            }
        }
        return version
    }
}
