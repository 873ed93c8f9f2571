/// Computes the current record, which reads return: the base with the outbox applied.
public enum Overlay {
    /// Returns the current state of a record; nil when the record does not exist for the user.
    ///
    /// An update of a deleted record changes nothing: the server will reject it, and the journal will keep it.
    ///
    /// - Parameter mutations: the pending mutations of this record, oldest first.
    public static func current(
        base: Record?, applying mutations: some Sequence<Mutation>, schema: ModelSchema
    ) -> Record? {
        var record = base
        for mutation in mutations {
            switch mutation.intent {
            case .create(let patch):
                if record == nil {
                    record = Record(id: mutation.record, uid: .none, version: .zero, creating: patch, schema: schema)
                } else {
                    // A pull has delivered the record before the response to its creation arrived.
                    record?.write(patch, schema: schema)
                }
            case .update:
                record?.write(mutation.patch, schema: schema)
            case .delete:
                record = nil
            }
        }
        return record
    }
}
