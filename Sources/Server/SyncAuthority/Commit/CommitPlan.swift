package import SyncModel

/// The decision about a transaction, made before anything is written. It is a value that can be printed and compared.
package struct CommitPlan: Hashable, Sendable {
    package let space: SpaceID
    /// The records that the transaction touches, in the order in which it first names them.
    package let records: [PlannedRecord]
    /// The records whose uids the outcome reports: those that the transaction creates, and those that a repeated create
    /// created earlier.
    package let creates: [RecordAddress]
    /// The conflicts that the outcome reports.
    package let conflicts: [FieldConflict]
    /// Copies of those `conflicts` in which a stored value lost, one for each other client that had set the same value.
    /// Only the notices to these clients report them.
    package let furtherLosses: [FieldConflict]
    /// The effects of the mutations, in their order; empty if the planner does not note them.
    package let effects: [MutationEffect]

    package init(
        space: SpaceID, records: [PlannedRecord], creates: [RecordAddress], conflicts: [FieldConflict],
        furtherLosses: [FieldConflict] = [], effects: [MutationEffect] = []
    ) {
        self.effects = effects
        self.space = space
        self.records = records
        self.creates = creates
        self.conflicts = conflicts
        self.furtherLosses = furtherLosses
    }

    /// Whether clients will see a difference. If not, there is no commit, and the version does not change.
    package var isVisible: Bool { records.contains(where: \.isVisible) }
}

/// The decision about one record.
package struct PlannedRecord: Hashable, Sendable {
    package let address: RecordAddress
    /// The stored record; nil when the transaction creates it.
    package private(set) var before: StoredRecord?
    /// Whether the author has lost its copy of the record, so that `before` is stored even without a write.
    package private(set) var isDisowned = false
    /// The creation of the record by the transaction; nil when it already exists.
    package internal(set) var creation: PlannedCreation?
    /// The fields for which edits of the transaction have won, ordered by field name.
    package internal(set) var writes: [PlannedWrite] = []
    /// The stamp of the mutation that deletes the record; nil when none does.
    package internal(set) var deletion: Stamp?
    /// If two edits set a field to the same value, and the later one had not seen the earlier one, the value has the
    /// stamp of only one of them. This list has the other edits.
    package internal(set) var equalEdits: [PlannedEqualEdit] = []

    init(address: RecordAddress, before: StoredRecord?) {
        self.address = address
        self.before = before
    }
}

/// The creation of a record.
package struct PlannedCreation: Hashable, Sendable {
    /// The stamp, with the time that the server assigned.
    package let stamp: Stamp
    /// The time as the client claimed it, by which a repeated create is recognized.
    package let claimedTime: HybridTime
}

/// A new value of one field.
package struct PlannedWrite: Hashable, Sendable {
    package let field: FieldName
    package let value: FieldValue
    /// The stamp, with the time that the server assigned.
    package let stamp: Stamp
    /// The index of the mutation that sets the value.
    package let mutation: Int
}

/// An edit that sets the value that the field already has.
package struct PlannedEqualEdit: Hashable, Sendable {
    package let field: FieldName
    package let stamp: Stamp
}

extension PlannedRecord {
    /// Whether the record exists after the transaction.
    package var isAlive: Bool {
        deletion == nil && (creation != nil || before?.isAlive == true)
    }

    /// Returns the value of a field after the transaction.
    package func value(of field: FieldName) -> FieldValue {
        writes.first { $0.field == field }?.value ?? before?.field(field).value ?? .null
    }

    /// The writes that change the value of their field.
    package var changedWrites: [PlannedWrite] {
        guard let before, creation == nil else { return writes }
        return writes.filter { before.field($0.field).value != $0.value }
    }

    /// Whether clients will see a difference.
    package var isVisible: Bool {
        creation != nil || deletion != nil || !changedWrites.isEmpty
    }

    /// Marks the values that `author` has set as values that it has not seen.
    ///
    /// A device that creates a record that exists has no copy of it: it has left the space in between, or has lost
    /// access. Then it does not know its own earlier values either.
    mutating func disown(from author: ClientIdentity) {
        guard let record = before, record.fields.contains(where: { $0.origin.identity == author }) else { return }
        before = record.disowned(from: author)
        isDisowned = true
    }

    mutating func write(_ write: PlannedWrite) {
        let index = writes.firstIndex { $0.field >= write.field } ?? writes.endIndex
        if index < writes.endIndex, writes[index].field == write.field {
            writes[index] = write
        } else {
            writes.insert(write, at: index)
        }
    }
}
