import SyncModel

/// The fields at fault of a rejection, as the journal stores them: their names, separated by commas.
enum RejectedFields {
    /// Returns the text; nil if there are no fields.
    static func text(_ fields: [FieldName]) -> String? {
        // No more names are kept than a schema can have, so that a server cannot fill the journal.
        fields.isEmpty ? nil : fields.prefix(SchemaLimits.fields).map(\.rawValue).joined(separator: ",")
    }

    static func names(_ text: String?) -> [FieldName] {
        text?.split(separator: ",").compactMap { FieldName(rawValue: String($0)) } ?? []
    }
}
