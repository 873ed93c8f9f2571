import SQLiteDatabase
import SyncCore
import SyncModel

// Holds transactions back until a server knows their collections and fields.
extension WriteTransaction {
    /// Releases everything held back if the server's collections and fields differ from those for which entries were
    /// last held back, or if `models` is nil.
    ///
    /// If the server's rejection was the first to hold an entry back, these models become known only now.
    func releaseHeld(for models: ServerModels?) throws {
        guard meta.outbox.held > 0 else { return }
        let statement = try connection.statement("SELECT names FROM sync_server_models")
        var names: String?
        do {
            defer { statement.reset() }
            if try statement.step() { names = statement.text(0) }
        }
        guard let models else { return try releaseHeld() }
        if names == nil { try remember(models) } else if names != models.text { try releaseHeld() }
    }

    /// Releases the entries whose missing collection or field `models` has after all.
    ///
    /// A server can reject a transaction whose collections and fields its hello has named: it became older after the
    /// hello, or it is one of several, of which not all are upgraded yet. The next hello may then name the same models,
    /// and nothing would release the entry.
    ///
    /// - Returns: whether there were such entries.
    func releaseHeld(knownIn models: ServerModels?) throws -> Bool {
        guard let models, meta.outbox.held > 0 else { return false }
        let names = try connection.statement("SELECT DISTINCT held_for FROM sync_outbox WHERE held_for IS NOT NULL")
            .rows { $0.text(0) }
        let known = names.filter(models.knows)
        for name in known {
            let release = try connection.statement("UPDATE sync_outbox SET held_for = NULL WHERE held_for = ?1")
            release.bind(1, name)
            try release.run()
            meta.outbox.held -= connection.changedRows
        }
        if !known.isEmpty { change.touchesOutbox = true }
        return !known.isEmpty
    }

    private func remember(_ models: ServerModels) throws {
        let known = try connection.statement("INSERT OR REPLACE INTO sync_server_models (one, names) VALUES (1, ?1)")
        known.bind(1, models.text)
        try known.run()
    }

    /// Releases everything held back. The next batch decides again.
    func releaseHeld() throws {
        guard meta.outbox.held > 0 else { return }
        try connection.execute("UPDATE sync_outbox SET held_for = NULL WHERE held_for IS NOT NULL")
        meta.outbox.held = 0
        change.touchesOutbox = true
        change.addsToOutbox = true
    }

    /// Holds an entry back when the server does not know a collection or field that it writes, or when it depends on a
    /// held entry.
    ///
    /// - Returns: whether the entry is held back.
    func holdBack(_ entry: StoredEntry, from models: ServerModels) throws -> Bool {
        guard entry.isUnsent else { return false }
        var unknown = models.firstUnknown(in: entry.transaction)
        if unknown == nil { unknown = try reasonOfDependency(entry) }
        guard let unknown else { return false }
        if meta.outbox.held == 0 { try remember(models) }
        try mark(entry, heldFor: unknown)
        return true
    }

    func mark(_ entry: StoredEntry, heldFor unknown: String) throws {
        let mark = try connection.statement("UPDATE sync_outbox SET held_for = ?2 WHERE sequence = ?1")
        mark.bind(1, entry.sequence)
        mark.bind(2, unknown)
        try mark.run()
        meta.outbox.held += 1
        change.touchesOutbox = true
    }

    /// Removes the edits of earlier entries that wait, such as held ones, and that an applied entry has replaced.
    ///
    /// Such an entry is sent later, under a higher number, and the server trusts that a device knows its own edits. It
    /// would replace the user's newer value with the older one.
    func removeReplacedEdits(by applied: StoredEntry) throws {
        let waits = try connection.statement("SELECT 1 FROM sync_outbox WHERE number IS NULL AND sequence < ?1 LIMIT 1")
        waits.bind(1, applied.sequence)
        let isBehind: Bool
        do {
            defer { waits.reset() }
            isBehind = try waits.step()
        }
        guard isBehind else { return }
        var found: [Int64: StoredEntry] = [:]
        for place in try changedPlaces(of: applied.transaction) {
            for sequence in try sequences(linkedTo: place, onlyChanging: true, upTo: applied.sequence - 1)
            where found[sequence] == nil {
                guard let earlier = try entry(sequence), earlier.isUnsent, earlier.space == applied.space else {
                    continue
                }
                found[sequence] = earlier
            }
        }
        // A removal releases all held entries, so the entries were found before.
        for (_, earlier) in found.sorted(by: { $0.key < $1.key }) {
            let mutations = earlier.transaction.mutations.compactMap {
                $0.withoutEdits(replacedBy: applied.transaction)
            }
            guard mutations != earlier.transaction.mutations else { continue }
            guard !mutations.isEmpty else {
                try removeAndRecompute([earlier])
                continue
            }
            // A hold stays: the entry still names what the server does not know.
            var entry = earlier
            entry.heldFor = nil
            try replace(entry, with: Transaction(space: entry.space, mutations: mutations))
            for place in try changedPlaces(of: earlier.transaction) { try recompute(place) }
        }
    }

    /// Returns the reason for holding back an earlier entry that changes the same record, or that creates a record
    /// which this entry refers to.
    private func reasonOfDependency(_ entry: StoredEntry) throws -> String? {
        guard meta.outbox.held > 0 else { return nil }
        for place in try changedPlaces(of: entry.transaction) {
            if let held = try heldEntry(changing: place, before: entry) { return held.heldFor }
        }
        return try reasonOfHeldCreation(neededBy: entry)
    }

    /// Returns the reason for holding back an earlier entry that creates a record which this entry changes or refers
    /// to.
    func reasonOfHeldCreation(neededBy entry: StoredEntry) throws -> String? {
        guard meta.outbox.held > 0 else { return nil }
        let places = try changedPlaces(of: entry.transaction) + referredPlaces(of: entry.transaction)
        for place in places {
            if let held = try heldEntry(changing: place, before: entry),
                held.transaction.createdRecords.contains(place.id)
            {
                return held.heldFor
            }
        }
        return nil
    }

    /// Returns the first held entry of the same space that changes a record. A held create comes before the edits of
    /// its record.
    private func heldEntry(
        changing place: RecordPlace, before entry: StoredEntry
    ) throws -> StoredEntry? {
        for sequence in try sequences(linkedTo: place, onlyChanging: true, upTo: entry.sequence - 1) {
            if let other = try self.entry(sequence), other.heldFor != nil, other.space == entry.space { return other }
        }
        return nil
    }
}

extension Mutation {
    /// Returns the mutation without the edits of fields that a later transaction sets, or of a record that it deletes;
    /// nil if nothing is left.
    fileprivate func withoutEdits(replacedBy later: Transaction) -> Mutation? {
        guard case .update(var edits) = intent else { return self }
        for mutation in later.mutations where mutation.address == address {
            switch mutation.intent {
            case .create: break
            case .update(let newer): edits.removeAll { edit in newer.contains { $0.field == edit.field } }
            case .delete: edits = []
            }
        }
        guard !edits.isEmpty else { return nil }
        return Mutation(collection: collection, record: record, time: time, intent: .update(edits))
    }
}

extension ServerModels {
    /// Whether the server knows a collection, or a field that is given as `collection.field`.
    fileprivate func knows(_ name: String) -> Bool {
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        let known = parts.first.flatMap(CollectionName.init(rawValue:)).flatMap { fields[$0] }
        guard let known, parts.count > 1 else { return known != nil }
        return FieldName(rawValue: parts[1]).map(known.contains) ?? false
    }

    /// A text that is the same for equal models.
    fileprivate var text: String {
        fields.sorted { $0.key < $1.key }
            .map { "\($0.key)(\($0.value.sorted().map(\.rawValue).joined(separator: ",")))" }.joined(separator: " ")
    }
}
