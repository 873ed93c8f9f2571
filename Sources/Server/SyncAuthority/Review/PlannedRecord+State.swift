import SyncModel

extension PlannedRecord {
    /// The record after the mutations that have been planned so far; nil when it does not exist.
    var state: RecordState? {
        guard isAlive else { return nil }
        var values = before?.values ?? Patch()
        for write in writes { values.set(write.field, to: write.value) }
        return RecordState(
            id: address.id, uid: before?.uid ?? .none, version: before?.version ?? .zero, values: values)
    }

    /// The record before the transaction; nil when it does not exist.
    var stateBefore: RecordState? {
        guard let before, before.isAlive else { return nil }
        return RecordState(id: address.id, uid: before.uid, version: before.version, values: before.values)
    }
}

extension StoredRecord {
    fileprivate var values: Patch {
        var values = Patch()
        for field in fields { values.set(field.name, to: field.value) }
        return values
    }
}
