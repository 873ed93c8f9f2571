extension Record {
    /// Returns the edits that restore this record's values after a restored server has lost them.
    ///
    /// Both histories are the same up to the backup. A field whose version here is later than on the restored server
    /// was changed after the backup, so that change is lost. A field with a different value under the same version is
    /// lost as well: the restored server has assigned that version a second time. Where the server has a later version,
    /// it is impossible to tell whether the author of that version had seen the value here. Such a value does not count
    /// as lost if another device wrote it, because that device offers to restore it (I15).
    ///
    /// A field that is empty with the oldest version of the record has no author there: the record was probably created
    /// again without the value.
    ///
    /// - Parameters:
    ///   - restored: the record as the server shows it now.
    ///   - former: the versions of this record's fields in the lost history, in the schema's order. A field that this
    ///     device wrote has a version later than any in a history, so that its value counts as lost.
    public func edits(lostBy restored: Record, former: [Version], schema: ModelSchema) -> [FieldEdit] {
        var edits: [FieldEdit] = []
        for (position, field) in schema.fields.enumerated() {
            let seen = restored.version(ofFieldAt: position)
            guard values[position] != restored.values[position],
                former[position] >= seen || restored.isEmptySinceCreation(position)
            else { continue }
            edits.append(
                FieldEdit(field: field.name, value: values[position], before: restored.values[position], seen: seen))
        }
        return edits
    }

    /// Returns whether a field is empty with the oldest version of the record. If the creation did not leave it empty,
    /// all other fields have been changed since somebody emptied it.
    public func isEmptySinceCreation(_ position: Int) -> Bool {
        values[position].isNull
            && values.indices.allSatisfy { version(ofFieldAt: $0) >= version(ofFieldAt: position) }
    }
}
