package import SyncModel

extension CommitPlan {
    /// The effect of a plan that was carried out.
    package struct Effect: Hashable, Sendable {
        package let outcome: Outcome
        /// The new version of the space; nil when clients see no difference.
        package let newVersion: Version?
    }

    /// Writes the plan. It takes the version after all reads for the decision and before the first write.
    package func carryOut(
        in transaction: some AuthorityTransaction, by author: CommitAuthor, catalog: SchemaCatalog
    ) throws(AuthorityStoreError) -> Effect {
        let newVersion = isVisible ? try transaction.takeVersion(in: space) : nil
        let version: Version
        if let newVersion { version = newVersion } else { version = try transaction.extent(of: space).head }

        let uids = try uids(in: transaction)
        var changes: [RecordChange] = []
        for record in records {
            guard let uid = uids[record.address] else { continue }
            if let change = record.change(uid: uid) { changes.append(change) }
            guard let after = record.after(version: version, uid: uid, space: space, by: author.identity) else {
                continue
            }
            try transaction.put(after)
            try relink(record, after: after, in: transaction, catalog: catalog)
        }
        if newVersion != nil {
            let commit = Commit(version: version, changes: changes)
            let before = try transaction.fingerprint(before: version, in: space)
            try transaction.append(commit, to: space, by: author, fingerprint: before.extended(by: commit, of: author))
        }
        for conflict in conflicts + furtherLosses {
            try transaction.note(conflict, in: space, at: version, by: author)
        }
        let assigned = creates.compactMap { address in
            uids[address].map { AssignedUID(collection: address.collection, record: address.id, uid: $0) }
        }
        return Effect(
            outcome: .applied(version: version, uids: assigned, conflicts: conflicts), newVersion: newVersion)
    }

    /// Returns the uids of all records. New records get the next ones of their collections, in the order of the plan.
    private func uids(in transaction: some AuthorityTransaction) throws(AuthorityStoreError) -> [RecordAddress: UID] {
        let new = Dictionary(grouping: records.filter { $0.before == nil }, by: \.address.collection)
        var uids: [RecordAddress: UID] = [:]
        uids.reserveCapacity(records.count)
        for record in records { uids[record.address] = record.before?.uid }
        // Two servers on one database lock the counters in the same order.
        for (collection, records) in new.sorted(by: { $0.key < $1.key }) {
            let first = try transaction.takeUIDs(records.count, in: collection)
            for (offset, record) in records.enumerated() {
                uids[record.address] = UID(first.rawValue + Int64(offset))
            }
        }
        return uids
    }

    /// Updates the index of references to match the record's new values.
    private func relink(
        _ record: PlannedRecord, after: StoredRecord, in transaction: some AuthorityTransaction,
        catalog: SchemaCatalog
    ) throws(AuthorityStoreError) {
        guard let schema = catalog[record.address.collection] else { return }
        for field in schema.fields {
            guard let target = field.target else { continue }
            let old = record.before.flatMap { $0.isAlive ? $0.field(field.name).value : nil }
            let new = after.isAlive ? after.field(field.name).value : nil
            guard old != new else { continue }
            let referrer = Referrer(record.address, field.name)
            if case .reference(let id)? = old {
                try transaction.unlink(referrer, from: RecordAddress(target, id))
            }
            if case .reference(let id)? = new {
                try transaction.link(referrer, to: RecordAddress(target, id))
            }
        }
    }
}

extension AuthorityTransaction {
    /// Returns the fingerprint before a version that has just been taken.
    fileprivate func fingerprint(before version: Version, in space: SpaceID) throws(AuthorityStoreError)
        -> HistoryFingerprint
    {
        let last = Version(version.rawValue - 1)
        guard let fingerprint = try fingerprint(at: last, in: space) else {
            throw AuthorityStoreError(.corrupt, "the feed of \(space) has no fingerprint at version \(last)")
        }
        return fingerprint
    }
}

extension PlannedRecord {
    /// Returns the change of the record for the change feed; nil when clients see no difference.
    fileprivate func change(uid: UID) -> RecordChange? {
        let effect: RecordChange.Effect
        if deletion != nil {
            // This applies even if the transaction itself created the record: its id is used up, and every client must
            // know.
            effect = .deleted
        } else if creation != nil {
            effect = .created(uid: uid, patch(of: writes.filter { !$0.value.isNull }))
        } else {
            let changed = changedWrites
            guard !changed.isEmpty else { return nil }
            effect = .updated(patch(of: changed))
        }
        return RecordChange(collection: address.collection, id: address.id, effect: effect)
    }

    private func patch(of writes: [PlannedWrite]) -> Patch {
        var patch = Patch()
        for write in writes { patch.set(write.field, to: write.value) }
        return patch
    }

    /// Returns the record to store; nil when the stored record stays unchanged.
    fileprivate func after(
        version: Version, uid: UID, space: SpaceID, by author: ClientIdentity
    ) -> StoredRecord? {
        guard creation != nil || deletion != nil || !writes.isEmpty || !equalEdits.isEmpty || isDisowned else {
            return nil
        }
        let origin = creation.map {
            FieldOrigin(version: version, stamp: $0.stamp, incarnation: author.incarnation)
        }
        guard
            let creation = origin.flatMap({ origin in
                creation.map { RecordCreation(origin: origin, claimedTime: $0.claimedTime) }
            }) ?? before?.creation
        else { return nil }
        return StoredRecord(
            address: address, uid: uid, space: space, version: isVisible ? version : before?.version ?? version,
            creation: creation, deletion: deletion, fields: deletion == nil ? fields(at: version, by: author) : [])
    }

    /// Returns the fields to store, with the edits that set the same values.
    private func fields(at version: Version, by author: ClientIdentity) -> [StoredField] {
        let fields = writtenFields(at: version, by: author)
        guard !equalEdits.isEmpty else { return fields }
        return fields.map { field in
            var stamps = field.equalEdits
            for edit in equalEdits where edit.field == field.name && before?.field(field.name).value == field.value {
                stamps.removeAll { $0.client == edit.stamp.client }
                stamps.append(edit.stamp)
            }
            let isEqualOrigin = field.hasEqualOrigin || stamps.contains(field.origin.stamp)
            // One notice is enough for a client.
            stamps.removeAll { $0.client == field.origin.stamp.client }
            return StoredField(
                name: field.name, value: field.value, origin: field.origin,
                equalEdits: stamps.suffix(AuthorityLimits.equalEdits) + (isEqualOrigin ? [field.origin.stamp] : []))
        }
    }

    /// Returns the fields after all writes. Written fields get their new stamp; those whose value changes get the new
    /// version as well, and lose the edits that set the former value.
    ///
    /// A write of the value that the field has is one more edit that set it: its author may not have seen the value, or
    /// may have changed it and set it back. No version tells others that the value is newer now.
    private func writtenFields(at version: Version, by author: ClientIdentity) -> [StoredField] {
        var result: [StoredField] = []
        var old = (before?.fields ?? [])[...]
        for write in writes {
            while let field = old.first, field.name < write.field {
                result.append(field)
                old.removeFirst()
            }
            if old.first?.name == write.field { old.removeFirst() }
            let stored = before?.field(write.field)
            let unchanged = stored.flatMap { $0.value == write.value ? $0 : nil }
            // A field that has always been empty has no value that anyone could miss.
            let isUnset = before?.isUnset(write.field) == true
            result.append(
                StoredField(
                    name: write.field, value: write.value,
                    origin: FieldOrigin(
                        version: unchanged?.origin.version ?? version, stamp: write.stamp,
                        incarnation: author.incarnation),
                    equalEdits: isUnset ? [] : unchanged?.equalEdits(and: write.stamp) ?? []))
        }
        return result + old
    }
}
