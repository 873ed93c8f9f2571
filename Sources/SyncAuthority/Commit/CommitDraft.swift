import SyncModel

/// A plan in the making: the records touched so far, over those that are stored.
struct CommitDraft<Lookup: RecordLookup> {
    private let space: SpaceID
    private let planner: CommitPlanner
    private let lookup: Lookup
    private var records: [PlannedRecord] = []
    private var positions: [RecordAddress: Int] = [:]
    private var creates: [RecordAddress] = []
    private var conflicts: [FieldConflict] = []
    /// The mutation that deletes the record, for the rejection that names it.
    private var deletes: [(record: Int, mutation: Int)] = []

    init(space: SpaceID, planner: CommitPlanner, lookup: Lookup) {
        self.space = space
        self.planner = planner
        self.lookup = lookup
    }

    var plan: CommitPlan {
        CommitPlan(space: space, records: records, creates: creates, conflicts: conflicts)
    }

    mutating func apply(_ mutation: Mutation, at index: Int) throws(PlanningStop) {
        let address = RecordAddress(mutation.collection, mutation.record)
        let stamp = Stamp(time: mutation.time.clamped(notAfter: planner.latestStamp), client: planner.client)
        switch mutation.intent {
        case .create(let patch): try create(address, patch, claimed: mutation.time, stamp, index)
        case .update(let edits): try update(address, edits, claimed: mutation.time, stamp, index)
        case .delete: try delete(address, stamp, index)
        }
    }

    // MARK: The three intents

    private mutating func create(
        _ address: RecordAddress, _ patch: Patch, claimed: HybridTime, _ stamp: Stamp, _ index: Int
    ) throws(PlanningStop) {
        let position = try position(of: address)
        guard records[position].deletion == nil else {
            throw rejected(.malformed, "\(address) is deleted and created by one transaction", index)
        }
        guard records[position].creation == nil else {
            throw rejected(.malformed, "\(address) is created twice by one transaction", index)
        }
        if let before = records[position].before {
            guard !creates.contains(address) else {
                throw rejected(.malformed, "\(address) is created twice by one transaction", index)
            }
            guard before.space == space else {
                throw rejected(.duplicateRecord, "\(address) exists already; a new record needs a new id", index)
            }
            // The create may come again, under a new incarnation: it has had its effect.
            let isRepeat =
                before.creation.claimedTime == claimed && before.creation.origin.stamp.client == planner.client
            if !isRepeat {
                guard before.isAlive else {
                    throw rejected(.recordDeleted, "\(address) has been deleted, and its id is not used again", index)
                }
                // Two devices that made the same id mean the same record, as when both import one list: their values
                // are joined field by field.
                try update(
                    address, patch.map { FieldEdit(field: $0.field, value: $0.value, before: .null, seen: .zero) },
                    claimed: claimed, stamp, index)
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
        _ address: RecordAddress, _ edits: [FieldEdit], claimed: HybridTime, _ stamp: Stamp, _ index: Int
    ) throws(PlanningStop) {
        let position = try existing(address, "update", index)
        guard records[position].isAlive else {
            throw rejected(.recordDeleted, "\(address) has been deleted; an edit does not bring it back", index)
        }
        guard let schema = planner.catalog[address.collection] else {
            throw rejected(.unknownCollection, "there is no collection \(address.collection)", index)
        }
        for edit in edits {
            guard let field = schema.field(named: edit.field) else {
                throw rejected(.unknownField, "\(address.collection).\(edit.field): there is no such field", index)
            }
            let (stored, version) = records[position].contender(for: edit.field)
            let decision = FieldMerge.decide(
                edit: edit, stamp: stamp, claimed: claimed, stored: stored, storedVersion: version,
                rule: field.mergeRule, collection: address.collection, record: address.id)
            switch decision {
            case .take(let winner, let conflict):
                records[position].write(
                    PlannedWrite(field: edit.field, value: winner.value, stamp: winner.stamp, mutation: index))
                if let conflict { conflicts.append(conflict) }
            case .keep(let conflict):
                if let conflict { conflicts.append(conflict) }
            }
        }
    }

    private mutating func delete(_ address: RecordAddress, _ stamp: Stamp, _ index: Int) throws(PlanningStop) {
        let position = try existing(address, "delete", index)
        // Who deletes what is deleted has got what they wanted.
        guard records[position].isAlive else { return }
        records[position].deletion = stamp
        deletes.append((position, index))
    }

    // MARK: What must hold at the end, in whatever order the mutations came

    /// New references point at records that are alive once the transaction is carried out.
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
                        write.mutation)
                }
            }
        }
    }

    /// No live record requires one that the transaction deletes.
    func checkReferrers() throws(PlanningStop) {
        for (position, mutation) in deletes {
            let target = records[position].address
            let fields = planner.catalog.requiredReferences(to: target.collection)
            guard records[position].before != nil, !fields.isEmpty else { continue }
            // Those that the transaction itself touches may have let go; one more cannot be among them.
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

    // MARK: Looking up

    /// The place of a record that the transaction has touched, or may touch.
    private mutating func position(of address: RecordAddress) throws(PlanningStop) -> Int {
        if let position = positions[address] { return position }
        let position = records.count
        records.append(PlannedRecord(address: address, before: try stored(address)))
        positions[address] = position
        return position
    }

    /// The place of a record that exists, or has existed, in this space. One of another space is not spoken of.
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
        do throws(AuthorityStoreFailure) { return try lookup.record(address) } catch { throw .failed(error) }
    }

    private func referrers(
        of target: RecordAddress, through fields: [ReferenceField], limit: Int
    ) throws(PlanningStop) -> [Referrer] {
        do throws(AuthorityStoreFailure) {
            return try lookup.referrers(of: target, through: fields, limit: limit)
        } catch {
            throw .failed(error)
        }
    }

    private func rejected(_ code: RejectionCode, _ message: String, _ mutation: Int) -> PlanningStop {
        .rejected(Rejection(code: code, message: message, mutation: mutation))
    }
}

extension PlannedRecord {
    /// What an edit of `field` meets, with the version that set it.
    ///
    /// A value of the transaction's own has no version yet, and needs none: it is the same client's.
    fileprivate func contender(for field: FieldName) -> (Contender, Version) {
        if let write = writes.first(where: { $0.field == field }) {
            return (Contender(value: write.value, stamp: write.stamp), .zero)
        }
        if let before {
            let stored = before.field(field)
            return (Contender(value: stored.value, stamp: stored.origin.stamp), stored.origin.version)
        }
        let stamp = creation?.stamp ?? Stamp(time: .zero, client: ClientID(bits: Identifier128(high: 0, low: 0)))
        return (Contender(value: .null, stamp: stamp), .zero)
    }
}

extension SchemaCatalog {
    /// The required references of any collection that point into `target`.
    func requiredReferences(to target: CollectionName) -> [ReferenceField] {
        models.flatMap { model in
            model.fields.filter { $0.isRequired && $0.target == target }
                .map { ReferenceField(model.collection, $0.name) }
        }
    }
}
