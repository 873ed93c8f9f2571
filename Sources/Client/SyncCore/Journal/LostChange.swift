public import SyncModel

/// The smallest part of a lost entry that can be restored or left in the journal: the value of one field, or the
/// creation of a record with all its values.
public struct LostChange: Hashable, Sendable {
    /// The record.
    public let record: RecordAddress
    /// The field; nil for a creation.
    public let field: FieldName?

    /// Creates the change of one field, or a creation if `field` is nil.
    public init(_ record: RecordAddress, _ field: FieldName? = nil) {
        self.record = record
        self.field = field
    }
}

/// The changes of a lost entry that a restore leaves in the journal.
public struct LeftChanges: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// The changes that are left in any case.
    public let changes: Set<LostChange>
    /// The fields of the other changes, as they were when the changes were selected. Such a change is left, too, if its
    /// field is different when the restore writes, because the selection did not consider the newer value.
    package let shown: [LostChange: ShownField]

    /// Leaves these changes, and no others.
    public init(arrayLiteral changes: LostChange...) {
        self.init(Set(changes))
    }

    package init(_ changes: Set<LostChange>, shown: [LostChange: ShownField] = [:]) {
        self.changes = changes
        self.shown = shown
    }

    /// Returns the changes of a transaction that are left.
    ///
    /// - Parameter record: returns the record at an address that the transaction updates, or the record that replaced
    ///   it; nil if there is neither.
    package func changes(
        of lost: Transaction, _ catalog: SchemaCatalog, record: (RecordAddress) throws -> Record?
    ) rethrows -> Set<LostChange> {
        guard !shown.isEmpty else { return changes }
        var left = changes
        for mutation in lost.mutations {
            guard case .update(let edits) = mutation.intent, let schema = catalog[mutation.collection] else { continue }
            let record = try record(mutation.address)
            for edit in edits {
                let change = LostChange(mutation.address, edit.field)
                guard let shown = shown[change], let position = schema.position(of: edit.field) else { continue }
                // Another entry may have restored the same value.
                if let record, record.values[position] == edit.value || ShownField(position, of: record) == shown {
                    continue
                }
                left.insert(change)
            }
        }
        return left
    }
}
