import SyncModel

/// The fields at fault of a rejection, as the journal stores them: their names, separated by commas.
enum RejectedFields {
    /// Returns the text; nil if there are no fields.
    static func text(_ fields: [FieldName]) -> String? {
        // A server cannot make the journal longer than a schema can be.
        fields.isEmpty ? nil : fields.prefix(SchemaLimits.fields).map(\.rawValue).joined(separator: ",")
    }

    static func names(_ text: String?) -> [FieldName] {
        text?.split(separator: ",").compactMap { FieldName(rawValue: String($0)) } ?? []
    }
}
