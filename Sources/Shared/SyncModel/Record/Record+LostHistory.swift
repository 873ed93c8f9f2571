extension Record {
    /// Returns the edits that restore this record's values after a restored server has lost them.
    ///
    /// Both histories are the same up to the backup. A field whose version here is later than on the restored server
    /// was changed after the backup, so that change is lost. A field with a different value under the same version is
    /// lost as well: the restored server has assigned that version a second time. Where the server has a later version,
    /// it is impossible to tell whether the author of that version had seen the value here. Such a value does not count
    /// as lost if another device wrote it, because that device offers to restore it (I15).
    ///
    /// - Parameters:
    ///   - restored: the record as the server shows it now.
    ///   - former: the versions of this record's fields in the lost history, in the schema's order. A field that this
    ///     device wrote has a version later than any in a history, so that its value counts as lost.
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
