import SyncCore
public import SyncModel
public import TomboloModeling

/// A merge in which values lost against an edit or a deletion of another device, or of another program on this device.
/// The lost values can be restored.
public struct MergedWrite: Identifiable, Sendable {
    /// The number of the entry in the journal.
    public let id: Int64
    /// One element per field in which the values differed. Empty if the notices were removed.
    public let fields: [MergedField]
    /// The space about which the server has removed notices, before this device fetched them, because there were too
    /// many; nil for a merge with fields. Nobody knows the lost values here, so they cannot be restored.
    public let noticesRemovedFrom: String?
    let objects: LiveObjects

    /// Creates the merge from a journal entry; nil if the entry is of another kind.
    ///
    /// - Parameter clients: Returns the client ids of this device. Called only for a merge.
    init?(
        _ entry: JournalEntry, objects: LiveObjects, clients: () throws(StoreError) -> [ClientID]
    ) throws(StoreError) {
        switch entry.event {
        case .merged(let conflicts), .overwritten(let conflicts, _):
            let own = Set(try clients())
            fields = conflicts.map { MergedField(conflict: $0, ownClients: own) }
            noticesRemovedFrom = nil
        case .noticesRemoved(let space):
            fields = []
            noticesRemovedFrom = space.rawValue
        case .rejected, .cancelled, .lost: return nil
        }
        id = entry.number
        self.objects = objects
    }

    /// Writes the lost values over the current ones.
    ///
    /// - Throws: `alreadyDecided` if somebody has restored or accepted the merge; `notHere` if the notices were
    ///   removed; or the failure of the local store.
    public func restore() throws(ModelError) {
        try objects.retry(journal: id)
    }

    /// Accepts the merge: it is not reported again. Does nothing if somebody has restored or accepted it.
    public func accept() throws(ModelError) {
        try objects.dismiss(journal: id)
    }
}

/// One field of a merge, with both values.
public struct MergedField: Hashable, Sendable {
    let conflict: FieldConflict
    /// The author of the value that stays, or of the deletion.
    public let keptBy: Author
    /// The author of the value that was lost.
    public let lostBy: Author

    /// The author of one of the two values.
    public struct Author: Hashable, Sendable {
        /// Whether the value was written on this device. Values of the user's other devices count as those of others.
        public let isThisDevice: Bool
        /// The account under which the value was pushed; nil when the server does not report it.
        public let account: String?

        init(_ side: Contender, ownClients: Set<ClientID>) {
            isThisDevice = ownClients.contains(side.stamp.client)
            account = side.account?.rawValue
        }
    }

    init(conflict: FieldConflict, ownClients: Set<ClientID>) {
        self.conflict = conflict
        keptBy = Author(conflict.winner, ownClients: ownClients)
        lostBy = Author(conflict.loser, ownClients: ownClients)
    }

    /// The collection of the record.
    public var collection: String { conflict.collection.rawValue }
    /// The id of the record.
    public var record: RecordID { conflict.record }
    /// The name of the field.
    public var field: String { conflict.field.rawValue }

    /// Whether the value was lost because the record was deleted. No value stays in this case.
    public var isDeletion: Bool { conflict.rule == .deleteWins }

    /// The value that stays; nil if this is another field, or if the record was deleted.
    public func kept<M: Model, Value>(_ field: ModelField<M, Value>) -> Value? {
        isFor(field.key, of: M.self) && !isDeletion ? field.value(conflict.winner.value) : nil
    }

    /// The value that was lost; nil if this is another field.
    public func lost<M: Model, Value>(_ field: ModelField<M, Value>) -> Value? {
        isFor(field.key, of: M.self) ? field.value(conflict.loser.value) : nil
    }

    private func isFor<M: Model>(_ key: FieldKey, of type: M.Type) -> Bool {
        conflict.field == key.name && conflict.collection.rawValue == M.collection
    }
}

extension MergedField.Author: CustomStringConvertible {
    /// The account if the server reports it, and whether the value was written on this device: `ned, on this device`.
    public var description: String {
        let place = isThisDevice ? "this device" : "another device"
        return account.map { "\($0), on \(place)" } ?? place
    }
}

extension MergedWrite: CustomStringConvertible {
    public var description: String {
        if let space = noticesRemovedFrom {
            return "merged: the server has removed notices about values of this device in the space \(space)"
        }
        let list = fields.map { field in
            let (lost, kept) = (field.conflict.loser.value.shortText, field.conflict.winner.value.shortText)
            let reason = field.isDeletion ? "lost, because the record was deleted" : "overwritten by \(kept)"
            return "\(field.collection).\(field.field): \(lost) was \(reason)"
        }
        return "merged: \(list.joined(separator: ", "))"
    }
}
