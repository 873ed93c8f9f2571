extension Record {
    /// The edits that this record had and that a restored server has lost: what would bring its values back.
    ///
    /// Up to the backup both histories are one. A field that had a later version here than it has there was changed after the
    /// backup, and that change is lost. So is one that has another value under the same version: the restored server has
    /// given the version again. Where the server has a later version, nobody can tell (I15).
    ///
    /// - Parameters:
    ///   - restored: the record as the server shows it now.
    ///   - former: the versions of this record's fields in the lost history, in the schema's order.
    public func edits(lostBy restored: Record, former: [Version], schema: ModelSchema) -> [FieldEdit] {
        var edits: [FieldEdit] = []
        for (position, field) in schema.fields.enumerated() {
            let seen = restored.version(ofFieldAt: position)
            guard former[position] >= seen, values[position] != restored.values[position] else { continue }
            edits.append(
                FieldEdit(field: field.name, value: values[position], before: restored.values[position], seen: seen))
        }
        return edits
    }
}
