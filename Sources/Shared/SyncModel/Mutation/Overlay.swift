/// Current = base with the outbox applied: what reads return.
public enum Overlay {
    /// The record as its user sees it, or nil when it does not exist for them.
    ///
    /// An update of a record that is gone changes nothing: the server rejects it, and the journal keeps it.
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
                    // The server has shown the record before the answer to its creation came.
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
