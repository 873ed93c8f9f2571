package import SyncModel

/// The decision about a transaction, made before anything is written. A value: it prints and compares.
package struct CommitPlan: Hashable, Sendable {
    package let space: SpaceID
    /// The records that the transaction touches, in the order in which it first names them.
    package let records: [PlannedRecord]
    /// The records whose uids the client is told: those it creates, and those it had created before.
    package let creates: [RecordAddress]
    package let conflicts: [FieldConflict]

    package init(
        space: SpaceID, records: [PlannedRecord], creates: [RecordAddress], conflicts: [FieldConflict]
    ) {
        self.space = space
        self.records = records
        self.creates = creates
        self.conflicts = conflicts
    }

    /// Whether clients will see a difference. When they do not, there is no commit, and the version stays.
    package var changesSomething: Bool { records.contains(where: \.isVisible) }
}

/// The decision about one record.
package struct PlannedRecord: Hashable, Sendable {
    package let address: RecordAddress
    /// As it is stored; nil when the transaction creates it.
    package let before: StoredRecord?
    /// How the transaction creates it; nil when it exists already.
    package internal(set) var creation: PlannedCreation?
    /// The fields that edits of the transaction have won, in the order of their names.
    package internal(set) var writes: [PlannedWrite] = []
    /// The edit by which the transaction deletes it.
    package internal(set) var deletion: Stamp?

    init(address: RecordAddress, before: StoredRecord?) {
        self.address = address
        self.before = before
    }
}

package struct PlannedCreation: Hashable, Sendable {
    /// With the time that the server gives it.
    package let stamp: Stamp
    package let claimedTime: HybridTime
}

package struct PlannedWrite: Hashable, Sendable {
    package let field: FieldName
    package let value: FieldValue
    /// With the time that the server gives it.
    package let stamp: Stamp
    /// The mutation that gives the value.
    package let mutation: Int
}

extension PlannedRecord {
    /// Whether it exists once the transaction is carried out.
    package var isAlive: Bool {
        deletion == nil && (creation != nil || before?.isAlive == true)
    }

    /// The value of a field once the transaction is carried out.
    package func value(of field: FieldName) -> FieldValue {
        writes.first { $0.field == field }?.value ?? before?.field(field).value ?? .null
    }

    /// The fields whose value becomes another one.
    package var changedWrites: [PlannedWrite] {
        guard let before, creation == nil else { return writes }
        return writes.filter { before.field($0.field).value != $0.value }
    }

    /// Whether clients will see a difference.
    package var isVisible: Bool {
        creation != nil || deletion != nil || !changedWrites.isEmpty
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
