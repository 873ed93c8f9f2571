import SyncModel

/// A plan under construction: the records that the transaction has touched so far, on top of the stored ones.
struct CommitDraft<Lookup: RecordLookup> {
    private let space: SpaceID
    private let planner: CommitPlanner
    private let lookup: Lookup
    /// The newest version of the space, and so the newest that any client can have seen.
    private let head: Version
    private var records: [PlannedRecord] = []
    private var positions: [RecordAddress: Int] = [:]
    private var creates: [RecordAddress] = []
    private var conflicts: [FieldConflict] = []
    private var furtherLosses: [FieldConflict] = []
    /// The positions in `records` of the deleted records, each with the index of the mutation that deletes the record.
    /// A rejection names the mutation.
    private var deletes: [(record: Int, mutation: Int)] = []
    /// Whether `effects` is filled. Only the application's rules need it.
    private let notesEffects: Bool
    private var effects: [MutationEffect] = []
    /// Whether the mutation that was planned last is a create that has taken effect before.
    private var isRepeat = false

    init(space: SpaceID, planner: CommitPlanner, lookup: Lookup, head: Version, notingEffects: Bool) {
        notesEffects = notingEffects
        self.space = space
        self.planner = planner
        self.lookup = lookup
        self.head = head
    }

    var plan: CommitPlan {
        CommitPlan(
            space: space, records: records, creates: creates, conflicts: conflicts, furtherLosses: furtherLosses,
            effects: effects)
    }

    mutating func apply(_ mutation: Mutation, at index: Int) throws(PlanningStop) {
        guard notesEffects else { return try plan(mutation, at: index) }
        isRepeat = false
        let earlier = positions[mutation.address].map { records[$0].state }
        try plan(mutation, at: index)
        let record = records[try position(of: mutation.address)]
        effects.append(
            MutationEffect(before: earlier ?? record.stateBefore, after: record.state, isRepeat: isRepeat))
    }

    private mutating func plan(_ mutation: Mutation, at index: Int) throws(PlanningStop) {
        let address = mutation.address
        let stamp = Stamp(
            time: planner.stamps.time(claimed: mutation.time), client: planner.author.identity.client)
        switch mutation.intent {
        case .create(let patch): try create(address, patch, claimed: mutation.time, stamp, index)
        case .update(let edits): try update(address, edits, stamp, index)
        case .delete(let seen, let unshown): try delete(address, seen: seen, unshown: unshown, stamp, index)
        }
    }

    // MARK: The three intents

    private mutating func create(
        _ address: RecordAddress, _ patch: Patch, claimed: HybridTime, _ stamp: Stamp, _ index: Int
    ) throws(PlanningStop) {
        let position = try position(of: address)
        guard records[position].deletion == nil else {
            throw rejected(.malformed, "\(address) is deleted and created in one transaction", index)
        }
        guard records[position].creation == nil else {
            throw rejected(.malformed, "\(address) is created twice in one transaction", index)
        }
        if let before = records[position].before {
            guard !creates.contains(address) else {
                throw rejected(.malformed, "\(address) is created twice in one transaction", index)
            }
            guard before.space == space else {
                throw rejected(.duplicateRecord, "\(address) already exists; a new record needs a new id", index)
            }
            // A device may send a create again under a different identity. The first one has then taken effect already.
            isRepeat =
                before.creation.claimedTime == claimed && planner.author.isOrWas(before.creation.origin.stamp.client)
                && before.mayHaveBeenCreated(with: patch)
            if !isRepeat {
                guard before.isAlive else {
                    throw rejected(.recordDeleted, "\(address) has been deleted; a new record needs a new id", index)
                }
                // Two devices that create a record with the same id mean the same record, for example when both import
                // one list. The values are merged field by field. A field that this create leaves empty is not cleared:
                // the outcome must not depend on which device pushes first.
                records[position].disown(from: planner.author.identity)
                let edits = patch.withoutNulls.map {
                    FieldEdit(field: $0.field, value: $0.value, before: .null, seen: .zero)
                }
                try update(address, edits, stamp, index)
            }
        } else {
            records[position].creation = PlannedCreation(stamp: stamp, claimedTime: claimed)
            for (field, value) in patch {
                records[position].write(PlannedWrite(field: field, value: value, stamp: stamp, mutation: index))
            }
        }
        creates.append(address)
    }

    private mutating func update(
        _ address: RecordAddress, _ edits: [FieldEdit], _ stamp: Stamp, _ index: Int
    ) throws(PlanningStop) {
        let position = try existing(address, "update", index)
        guard records[position].isAlive else {
            throw rejected(.recordDeleted, "\(address) has been deleted; an edit cannot restore it", index)
        }
        guard let schema = planner.catalog[address.collection] else {
            throw rejected(.unknownCollection, "there is no collection \(address.collection)", index)
        }
        for edit in edits {
            guard let field = schema.field(named: edit.field) else {
                throw rejected(.unknownField, "\(address.collection).\(edit.field): there is no such field", index)
            }
            let stored = records[position].contender(for: edit.field)
            let hasSeen = hasSeen(edit.field, of: records[position], upTo: edit.seen, at: stamp)
            let decision = FieldMerge.decide(
                edit, pushed: Contender(value: edit.value, stamp: stamp), stored: stored, hasSeen: hasSeen,
                rule: field.mergeRule, collection: address.collection, record: address.id)
            switch decision {
            case .take(let winner, let conflict):
                records[position].write(
                    PlannedWrite(field: edit.field, value: winner.value, stamp: winner.stamp, mutation: index))
                if let conflict {
                    try note(conflict, over: records[position])
                } else if !hasSeen {
                    records[position].note(equalTo: edit.value, edit.field, stored.stamp)
                    records[position].note(equalTo: edit.value, edit.field, stamp)
                }
            case .keep(let conflict?): conflicts.append(try attributed(conflict))
            case .keep(nil): records[position].note(equalTo: edit.value, edit.field, stamp)
            }
        }
    }

    /// Adds a conflict in which the stored value of a field lost, for each client that has set this value. If the field
    /// was empty, the other clients have no value to lose.
    private mutating func note(_ conflict: FieldConflict, over record: PlannedRecord) throws(PlanningStop) {
        conflicts.append(try attributed(conflict))
        let equal = conflict.loser.value.isNull ? [] : record.before?.field(conflict.field).equalEdits ?? []
        let notified = [planner.author.identity.client, conflict.loser.stamp.client]
        for stamp in equal where !notified.contains(stamp.client) {
            furtherLosses.append(
                try attributed(
                    FieldConflict(
                        collection: conflict.collection, record: conflict.record, field: conflict.field,
                        base: conflict.base, winner: conflict.winner,
                        loser: Contender(value: conflict.loser.value, stamp: stamp), rule: conflict.rule)))
        }
    }

    /// Returns whether the author of the transaction has provably seen the stored value of a field: the claimed version
    /// covers the value, or the same incarnation of the same client wrote it.
    ///
    /// Two exceptions apply to a claimed version. If the space has not reached it, it proves nothing: it is forged, or
    /// it belongs to a different history. If the newest edit set the value that the field already had, its stamp must
    /// be older than `stamp`: the version covers the value, but not this edit.
    ///
    /// Returns true for a field that has been empty since the record was created, because it has no value to miss, and
    /// for a field that the transaction itself has written.
    private func hasSeen(
        _ field: FieldName, of record: PlannedRecord, upTo seen: Version, at stamp: Stamp
    ) -> Bool {
        guard let origin = record.storedOrigin(of: field) else { return true }
        if origin.identity == planner.author.identity || record.before?.isUnset(field) == true { return true }
        guard seen <= head, origin.version <= seen else { return false }
        return origin.stamp < stamp || record.before?.field(field).hasEqualOrigin != true
    }

    /// Deletes a record. Deleting a record that is already deleted succeeds.
    private mutating func delete(
        _ address: RecordAddress, seen: Version, unshown: [FieldName], _ stamp: Stamp, _ index: Int
    ) throws(PlanningStop) {
        let position = try existing(address, "delete", index)
        let record = records[position]
        guard record.isAlive else { return }
        let unshown = Set(unshown)
        let unseen = (record.before?.fields ?? []).filter { field in
            !hasSeen(field.name, of: record, upTo: unshown.contains(field.name) ? .zero : seen, at: stamp)
        }
        if !unseen.isEmpty, planner.catalog[address.collection]?.deleteRule == .editWins {
            throw rejected(
                .unseenEdits,
                "\(address) has been edited since this device last pulled it, or has values that its build does not show: review it, then delete it again, with a newer build if it shows no other values",
                index)
        }
        // A field that was emptied has no value to lose.
        for field in unseen where !field.value.isNull {
            try note(
                FieldConflict(
                    collection: address.collection, record: address.id, field: field.name, base: .null,
                    winner: Contender(value: .null, stamp: stamp),
                    loser: Contender(value: field.value, stamp: field.origin.stamp), rule: .deleteWins),
                over: record)
        }
        records[position].deletion = stamp
        deletes.append((position, index))
    }

    // MARK: Authors of values

    private func attributed(_ conflict: FieldConflict) throws(PlanningStop) -> FieldConflict {
        FieldConflict(
            collection: conflict.collection, record: conflict.record, field: conflict.field, base: conflict.base,
            winner: try attributed(conflict.winner), loser: try attributed(conflict.loser), rule: conflict.rule)
    }

    private func attributed(_ side: Contender) throws(PlanningStop) -> Contender {
        let client = side.stamp.client
        if client == planner.author.identity.client {
            return Contender(value: side.value, stamp: side.stamp, account: planner.author.principal.account)
        }
        do throws(AuthorityStoreError) {
            return Contender(
                value: side.value, stamp: side.stamp, account: try lookup.owner(of: client)?.principal.account)
        } catch {
            throw .failed(error)
        }
    }

    // MARK: Checks after all mutations, independent of their order

    /// Checks that no record becomes too long for a page.
    ///
    /// The fields of a model may not have more than `SchemaLimits.recordTextBytes` together. A record can still exceed
    /// this after the limits of its fields were lowered, because it keeps the longer values.
    func checkLengths() throws(PlanningStop) {
        for record in records where record.isAlive {
            // The values of a create fit into one transaction.
            guard let before = record.before else { continue }
            let writes = record.changedWrites
            let growth = writes.reduce(0) {
                $0 + $1.value.textBytes - before.field($1.field).value.textBytes
            }
            guard growth > 0 else { continue }
            let length = before.fields.reduce(growth) { $0 + $1.value.textBytes }
            guard length > SchemaLimits.recordTextBytes else { continue }
            throw rejected(
                .tooLarge,
                "\(record.address) would have \(length) bytes of text and JSON; at most \(SchemaLimits.recordTextBytes) are allowed in one record",
                writes[0].mutation, fields: writes.map(\.field))
        }
    }

    /// Checks that new references point to records of this space that are alive after the transaction.
    func checkReferences() throws(PlanningStop) {
        for record in records where record.isAlive {
            guard let schema = planner.catalog[record.address.collection] else { continue }
            for write in record.changedWrites {
                guard case .reference(let id) = write.value, let target = schema.field(named: write.field)?.target
                else { continue }
                let address = RecordAddress(target, id)
                guard try isAlive(address) else {
                    throw rejected(
                        .danglingReference,
                        "\(schema.collection).\(write.field) refers to \(address), which does not exist",
                        write.mutation, fields: [write.field])
                }
            }
        }
    }

    /// Checks that no live record requires a record that the transaction deletes.
    func checkReferrers() throws(PlanningStop) {
        for (position, mutation) in deletes {
            let target = records[position].address
            let fields = planner.stored.requiredReferences(to: target.collection)
            guard records[position].before != nil, !fields.isEmpty else { continue }
            // Referrers that the transaction itself changes may no longer refer to the target. The limit exceeds the
            // largest possible number of them by one, so any other referrer would be found.
            let limit = records.count * fields.count + 1
            for referrer in try referrers(of: target, through: fields, limit: limit) {
                guard let own = positions[referrer.address].map({ records[$0] }) else {
                    throw stillReferenced(target, by: referrer, mutation)
                }
                if own.isAlive, own.value(of: referrer.field) == .reference(target.id) {
                    throw stillReferenced(target, by: referrer, mutation)
                }
            }
        }
    }

    private func stillReferenced(_ target: RecordAddress, by referrer: Referrer, _ mutation: Int) -> PlanningStop {
        rejected(
            .stillReferenced,
            "\(target) cannot be deleted: \(referrer.address) requires it as its \(referrer.field)", mutation)
    }

    // MARK: Lookups

    /// Returns the position of a record in the draft, adding it if necessary.
    private mutating func position(of address: RecordAddress) throws(PlanningStop) -> Int {
        if let position = positions[address] { return position }
        let position = records.count
        records.append(PlannedRecord(address: address, before: try stored(address)))
        positions[address] = position
        return position
    }

    /// Returns the position of a record that exists, or has existed, in this space. A record of another space is
    /// reported as missing, so that its existence is not revealed.
    private mutating func existing(
        _ address: RecordAddress, _ verb: String, _ index: Int
    ) throws(PlanningStop) -> Int {
        let position = try position(of: address)
        let record = records[position]
        guard record.creation != nil || record.before?.space == space else {
            throw rejected(.missingRecord, "there is no \(address) to \(verb)", index)
        }
        return position
    }

    private func isAlive(_ address: RecordAddress) throws(PlanningStop) -> Bool {
        if let position = positions[address] {
            let record = records[position]
            return record.isAlive && (record.creation != nil || record.before?.space == space)
        }
        guard let stored = try stored(address) else { return false }
        return stored.isAlive && stored.space == space
    }

    private func stored(_ address: RecordAddress) throws(PlanningStop) -> StoredRecord? {
        do throws(AuthorityStoreError) { return try lookup.record(address) } catch { throw .failed(error) }
    }

    private func referrers(
        of target: RecordAddress, through fields: [ReferenceField], limit: Int
    ) throws(PlanningStop) -> [Referrer] {
        do throws(AuthorityStoreError) {
            return try lookup.referrers(of: target, through: fields, limit: limit)
        } catch {
            throw .failed(error)
        }
    }

    private func rejected(
        _ code: RejectionCode, _ message: String, _ mutation: Int, fields: [FieldName] = []
    ) -> PlanningStop {
        .rejected(Rejection(code: code, message: message, mutation: mutation, fields: fields))
    }
}

extension TransactionAuthor {
    func isOrWas(_ client: ClientID) -> Bool { client == identity.client || formerClients.contains(client) }
}

extension FieldValue {
    /// The length of text or JSON, in bytes; 0 for other values.
    fileprivate var textBytes: Int {
        switch self {
        case .text, .json: byteCount
        case .null, .boolean, .integer, .real, .reference: 0
        }
    }
}

extension PlannedRecord {
    /// Notes an edit that set the value that a field already had. An edit that emptied the field is not noted, because
    /// its author has no value to lose.
    fileprivate mutating func note(equalTo value: FieldValue, _ field: FieldName, _ stamp: Stamp) {
        guard !value.isNull else { return }
        equalEdits.append(PlannedEqualEdit(field: field, stamp: stamp))
    }

    /// Returns the value of `field` and its stamp, against which an edit must win.
    fileprivate func contender(for field: FieldName) -> Contender {
        if let write = writes.first(where: { $0.field == field }) {
            return Contender(value: write.value, stamp: write.stamp)
        }
        if let before {
            let stored = before.field(field)
            return Contender(value: stored.value, stamp: stored.origin.stamp)
        }
        let stamp = creation?.stamp ?? Stamp(time: .zero, client: ClientID(bits: Identifier128(high: 0, low: 0)))
        return Contender(value: .null, stamp: stamp)
    }

    /// Returns the origin of the stored value of `field`; nil when the record is new, or when the transaction itself
    /// has written the field.
    fileprivate func storedOrigin(of field: FieldName) -> FieldOrigin? {
        guard let before, !writes.contains(where: { $0.field == field }) else { return nil }
        return before.field(field).origin
    }
}

extension SchemaCatalog {
    /// Returns the required references of any collection to records of `target`.
    func requiredReferences(to target: CollectionName) -> [ReferenceField] {
        models.flatMap { model in
            model.fields.filter { $0.isRequired && $0.target == target }
                .map { ReferenceField(model.collection, $0.name) }
        }
    }
}
