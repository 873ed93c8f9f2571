import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

// Comparisons of the devices with the server.
extension History {
    /// Checks a device against everything that it was told and everything that the server has done.
    ///
    /// - Parameter entries: the whole outbox.
    /// - Returns: whether everything could be checked: false while some of the server's commits are unknown, or while
    ///   the device follows another history.
    func check(
        _ device: String, _ store: any LocalStore & EngineStore, sending entries: [OutboxEntry]
    ) throws -> Bool {
        let session = try store.session()
        let isOfThisEpoch = session.epoch == epoch
        // A journal can be long. It is read only when transactions have left the outbox.
        let settled = state.withLock { $0.settled(device, entries) }
        let journal = settled.isEmpty ? [] : try store.wholeJournal()
        return try state.withLock { state in
            try state.check(entries, of: device)
            try state.check(settled, of: device, journal)
            guard session.spaces.contains(where: \.isComplete) else { return true }
            guard isOfThisEpoch else { return false }
            var isCertain = true
            let records = try store.recordsBySpace()
            for stored in session.spaces where stored.isComplete {
                guard let replay = state.replays[stored.space], stored.version <= replay.head else {
                    isCertain = false
                    continue
                }
                let model = replay.models[Int(stored.version.rawValue)].seen(with: store.catalog)
                let pending = entries.map(\.transaction).filter { $0.space == stored.space }
                let strange = state.placesOfOtherSpaces(in: pending, records, session.spaces, besides: stored.space)
                if let difference = model.difference(records[stored.space] ?? [:], over: pending, except: strange) {
                    throw Violation(.I5, "\(device) at version \(stored.version) of \(stored.space): \(difference)")
                }
            }
            return isCertain
        }
    }

    /// Checks that a device does not claim to have seen a newer version of a field than it has seen (I7).
    ///
    /// Otherwise an edit of the device would win over a value that its user never saw.
    ///
    /// - Parameters:
    ///   - stored: a space that the device holds completely.
    ///   - catalog: the models that the device knows.
    ///   - firstCatalog: the models that the device and its server knew at first. The version of a field that was added
    ///     later may be anything up to the space's version, because the device has seen everything up to there.
    func check(
        _ facts: ReplicaFacts, of device: String, _ stored: StoredSpace, in catalog: SchemaCatalog,
        first firstCatalog: SchemaCatalog
    ) throws(Violation) {
        try state.withLock { state throws(Violation) in
            guard let replay = state.replays[stored.space], stored.version <= replay.head else { return }
            let model = replay.models[Int(stored.version.rawValue)].seen(with: catalog)
            var wrong: [String] = []
            for (address, row) in model.rows {
                guard let base = facts.bases[address.collection]?[address.id] else { continue }
                let count = firstCatalog[address.collection]?.fields.count ?? 0
                for (position, known) in row.versions.enumerated() {
                    let claimed = base.version(at: position)
                    let isHonest =
                        position < count
                        ? claimed == known : (known...max(known, stored.version)).contains(claimed)
                    if isHonest { continue }
                    wrong.append(
                        "field \(position) of \(address) as of version \(claimed), not \(known)")
                }
            }
            if let first = wrong.min() { throw Violation(.I7, "\(device) has \(first)") }
        }
    }

    /// Checks the records that the server shows in a complete snapshot of a space at a version (I5, I13).
    func check(
        server records: [CollectionName: [Record]], of space: SpaceID, at version: Version
    ) throws(Violation) {
        try state.withLock { state throws(Violation) in
            guard let replay = state.replays[space], version == replay.head else {
                let known = state.replays[space]?.head ?? .zero
                throw Violation(.I5, "the server is at \(version) of \(space), but its responses account for \(known)")
            }
            for schema in catalog.models {
                for record in records[schema.collection] ?? [] {
                    if state.uids[schema.collection]?[record.uid] != record.id {
                        throw Violation(
                            .I13, "\(schema.collection) \(record.id) has uid \(record.uid), given to another")
                    }
                }
            }
            if let difference = replay.models[Int(version.rawValue)].difference(records, over: []) {
                throw Violation(.I5, "the server at version \(version) of \(space): \(difference)")
            }
        }
    }

    /// Checks that no transaction is unconfirmed once the world is at rest (I1).
    func checkNothingIsUnconfirmed() throws(Violation) {
        try state.withLock { state throws(Violation) in
            for device in state.unconfirmed.keys.sorted() {
                let left = (state.unconfirmed[device] ?? [:]).keys.sorted()
                guard left.isEmpty else {
                    throw Violation(.I1, "\(device) still owes \(left.prefix(5)) after the end")
                }
            }
        }
    }
}

extension History.State {
    /// Returns the records with pending changes in this space whose ids another space has or had.
    ///
    /// Two devices may create the same id in two spaces. Until the server has rejected one of the two creations, the
    /// device shows the record that the server has shown, and hides the pending one.
    fileprivate func placesOfOtherSpaces(
        in pending: [Transaction], _ shown: [SpaceID: [CollectionName: [Record]]], _ spaces: [StoredSpace],
        besides space: SpaceID
    ) -> Set<RecordAddress> {
        guard spaces.count > 1 else { return [] }
        var elsewhere: Set<RecordAddress> = []
        for (_, collections) in shown.filter({ $0.key != space }) {
            for (collection, records) in collections {
                for record in records { elsewhere.insert(RecordAddress(collection, record.id)) }
            }
        }
        var addresses: Set<RecordAddress> = []
        for mutation in pending.lazy.flatMap(\.mutations) {
            let address = mutation.address
            let isKnownElsewhere = spaces.contains { other in
                guard other.space != space, let replay = replays[other.space] else { return false }
                // A device may know more of a partly pulled space than its version of the space says.
                let isCertain = other.isComplete && other.version <= replay.head
                let model = isCertain ? replay.models[Int(other.version.rawValue)] : replay.models.last
                return model?.knows(address) == true
            }
            if elsewhere.contains(address) || isKnownElsewhere { addresses.insert(address) }
        }
        return addresses
    }

    /// Returns the server's outcome; nil when it is unknown, or when the number belongs to another transaction.
    private func outcome(of unconfirmed: History.Unconfirmed) -> Outcome? {
        guard let operation = unconfirmed.operation, let sent = sent[operation] else { return nil }
        guard sent.transaction.hash != unconfirmed.hash else { return sent.outcome }
        // An empty transaction took the number, and the server knew the original under an earlier identity of the
        // device.
        guard let said = unconfirmed.transaction, sent.transaction.transaction.mutations.isEmpty,
            case .applied? = sent.outcome,
            sent.transaction.formerNumbers.contains(where: { former in
                let earlier = self.sent[History.Operation(identity: former.identity, number: former.number)]
                return earlier?.transaction.transaction.says(said) ?? false
            })
        else { return nil }
        return sent.outcome
    }

    /// Returns the server's outcomes of the transaction in lost histories.
    private func formerOutcomes(of unconfirmed: History.Unconfirmed) -> [Outcome] {
        guard let operation = unconfirmed.operation, let sent = sent[operation] else { return [] }
        return sent.former.filter { $0.hash == unconfirmed.hash }.map(\.outcome)
    }

    /// Checks that an entry keeps its contents while it is in the outbox (I10).
    fileprivate mutating func check(_ entries: [OutboxEntry], of device: String) throws(Violation) {
        for entry in entries {
            guard let unconfirmed = unconfirmed[device]?[entry.sequence] else { continue }
            if let known = unconfirmed.transaction {
                if known == entry.transaction { continue }
                guard known.says(entry.transaction) else {
                    throw Violation(
                        .I10,
                        "\(device) keeps as transaction \(entry.sequence) \(entry.transaction), which was \(known)")
                }
            }
            self.unconfirmed[device]?[entry.sequence]?.transaction = entry.transaction
        }
    }

    /// Returns the unconfirmed transactions that have left a device's outbox.
    func settled(
        _ device: String, _ entries: [OutboxEntry]
    ) -> [(sequence: OutboxSequence, unconfirmed: History.Unconfirmed)] {
        guard let unconfirmed = unconfirmed[device], !unconfirmed.isEmpty else { return [] }
        let kept = Set(entries.map(\.sequence))
        return unconfirmed.filter { !kept.contains($0.key) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    mutating func check(
        _ settled: [(sequence: OutboxSequence, unconfirmed: History.Unconfirmed)], of device: String,
        _ journal: [JournalEntry]
    ) throws(Violation) {
        guard !settled.isEmpty else { return }
        var told: [OutboxSequence: [JournalEntry.Event]] = [:]
        var noticed: Set<FieldConflict> = []
        for entry in journal + (seen[device] ?? []) {
            if case .overwritten(let conflicts, _) = entry.event { noticed.formUnion(conflicts) }
            if let sequence = entry.sequence { told[sequence, default: []].append(entry.event) }
        }
        let rejected = told.mapValues { events in
            events.lazy.compactMap { if case .rejected(let transaction, _) = $0 { transaction } else { nil } }
        }
        for (sequence, unconfirmed) in settled {
            let outcome = outcome(of: unconfirmed)
            let lostAccess = unconfirmed.operation.flatMap { sent[$0] }.map { sent in
                access.wasWithdrawn(from: Principal(name: sent.device), sent.transaction.transaction.space)
            }
            try Settlement(
                device: device, sequence: sequence, unconfirmed: unconfirmed, outcome: outcome,
                former: formerOutcomes(of: unconfirmed),
                told: told[sequence] ?? [], noticed: noticed,
                rejectedBefore: rejected.filter { $0.key < sequence }.flatMap(\.value),
                mayBeUntold: lostAccess ?? false,
                isRefusedByLiar: unconfirmed.hash.map { refusedByLiars.contains($0) } ?? false,
                isTooLong: unconfirmed.hash.map { tooLong.contains($0) } ?? false
            ).check(wasCancelled: cancelled[device]?.contains(sequence) ?? false)
            let isInJournal = told[sequence]?.contains { if case .merged = $0 { false } else { true } } ?? false
            if isInJournal {
                self.unconfirmed[device]?[sequence] = nil
            } else if case .applied? = outcome {
                self.unconfirmed[device]?[sequence] = nil
            } else if let operation = unconfirmed.operation, lost.contains(operation) {
                self.unconfirmed[device]?[sequence] = nil
            } else {
                throw Violation(
                    .I1,
                    "\(device) committed transaction \(sequence), which is in neither outbox nor journal, and the server has not applied it (\(unconfirmed.operation.map { "\($0)" } ?? "never sent"))"
                )
            }
        }
    }
}
