import SyncCore
import SyncModel

// A store refuses an edit only for a reason that is true of the records which it shows.
extension SimulatedUser {
    /// Checks that a refusal of a write states a true reason.
    ///
    /// Users of the simulation write only valid values in known collections.
    ///
    /// - Parameter count: the number of open entries in the journal before the write.
    func checkIsTrue(
        _ refusal: StoreError, of edits: [RecordEdit], in space: SpaceID, withOpen count: Int
    ) throws {
        let isTrue = try device.disk.withoutFaults { () throws(StoreError) in
            for edit in edits {
                switch refusal.code {
                case .invalidValue, .tooLarge, .unknownCollection: return false
                case .journalFull:
                    return device.storage.hasSmallJournal && count >= DeviceStorage.smallJournal.entries
                case .missingRecord, .duplicateRecord: if try isMisplaced(edit, in: space) { return true }
                case .danglingReference: if try dangles(edit, beside: edits, in: space) { return true }
                case .stillReferenced: if try isRequired(edit, after: edits) { return true }
                default: return true
                }
            }
            return false
        }
        guard !isTrue else { return }
        throw Violation(
            .I6,
            "\(device.name) refused \(edits) for a reason that is not true: \(refusal.message)"
        )
    }

    /// Whether an edit creates an id that is in use, or changes a record that is not in its space.
    private func isMisplaced(_ edit: RecordEdit, in space: SpaceID) throws(StoreError) -> Bool {
        let home = try store.space(of: edit.collection, edit.record)
        guard case .create = edit else { return home != space }
        // The id of a record whose deletion is pending stays in use.
        let isPending = try store.isPending(edit.collection, edit.record)
        return home != nil || isPending
    }

    /// Whether an edit sets a reference to a record that its space does not have.
    private func dangles(
        _ edit: RecordEdit, beside edits: [RecordEdit], in space: SpaceID
    ) throws(StoreError) -> Bool {
        for (name, value) in edit.patch {
            guard case .reference(let id) = value,
                let target = store.catalog[edit.collection]?.field(named: name)?.target
            else { continue }
            let own = edits.last { $0.collection == target && $0.record == id }
            switch own {
            case .create?: continue
            case .delete?: return true
            case .update?, nil: if try store.space(of: target, id) != space { return true }
            }
        }
        return false
    }

    /// Whether an edit deletes a record that another one still requires after all edits.
    private func isRequired(_ edit: RecordEdit, after edits: [RecordEdit]) throws(StoreError) -> Bool {
        guard case .delete(let collection, let id) = edit else { return false }
        for schema in store.catalog.models {
            let fields = schema.fields.filter { $0.isRequired && $0.target == collection }
            guard !fields.isEmpty else { continue }
            for record in try store.records(matching: RecordQuery(schema.collection)) {
                let own = edits.filter { $0.collection == schema.collection && $0.record == record.id }
                if own.contains(where: { if case .delete = $0 { true } else { false } }) { continue }
                for field in fields {
                    let new = own.last { $0.patch[field.name] != nil }?.patch[field.name]
                    let value = new ?? schema.position(of: field.name).map { record.values[$0] }
                    if value == .reference(id) { return true }
                }
            }
        }
        return false
    }
}
