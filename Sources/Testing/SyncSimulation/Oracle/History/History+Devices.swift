import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

// The commits that devices must not lose, and the permitted losses.
extension History: DeviceObserver {
    func batchTaken(_ batch: PushBatch, by device: String, among numbered: [OutboxEntry]) {
        let sent = Dictionary(batch.transactions.map { ($0.number, $0) }) { $1 }
        state.withLock { state in
            for entry in numbered {
                // Another engine may have taken a batch meanwhile, under another identity.
                guard case .sent(let number, _) = entry.state, let pushed = sent[number],
                    state.unconfirmed[device]?[entry.sequence] != nil
                else { continue }
                let operation = Operation(identity: batch.identity, number: number)
                if batch.isEmptied, pushed.transaction.mutations.isEmpty {
                    // The empty transaction asks what became of the original under its former numbers.
                    state.unconfirmed[device]?[entry.sequence]?.operation = operation
                }
                guard pushed.transaction == entry.transaction else { continue }
                if let known = state.unconfirmed[device]?[entry.sequence]?.transaction, !known.says(pushed.transaction)
                {
                    state.violations.report(
                        Violation(
                            .I10,
                            "\(device) sends as transaction \(entry.sequence) \(pushed.transaction), which was \(known)"
                        ))
                }
                state.unconfirmed[device]?[entry.sequence] = Unconfirmed(
                    operation: operation, hash: pushed.hash, transaction: pushed.transaction)
            }
        }
    }

    /// Records that a local commit has returned: the transaction must not be lost from now on.
    func committed(_ sequence: OutboxSequence, on device: String) {
        state.withLock { state in
            state.unconfirmed[device, default: [:]][sequence] = Unconfirmed()
            state.newest[device] = max(state.newest[device] ?? sequence, sequence)
        }
    }

    /// Records that a local commit has failed.
    ///
    /// The commit may have taken effect nevertheless, at once or when the next process recovers the WAL. Its edits may
    /// also have joined the newest unsent transaction. Which transaction that is depends on earlier cancellations.
    func mayHaveCommitted(on device: String) {
        state.withLock { state in
            state.uncertain.insert(device)
            state.forgetContents(of: device)
        }
    }

    /// Records that a process has started on the device and has recovered the WAL.
    func hasStarted(_ device: String) {
        state.withLock { state in
            if state.uncertain.remove(device) != nil { state.forgetContents(of: device) }
        }
    }

    /// Records that the user has cancelled these transactions, or may have.
    func cancelled(_ sequences: Set<OutboxSequence>, on device: String) {
        state.withLock { $0.cancelled[device, default: []].formUnion(sequences) }
    }

    /// Records that the user has read an entry of the journal and is about to act on it.
    func saw(_ entry: JournalEntry, on device: String) {
        state.withLock { $0.seen[device, default: []].append(entry) }
    }

    /// Records that a hostile server has refused transactions that an honest server would accept. The device has to
    /// believe the refusals.
    func wereRefusedByLiar(_ hashes: [PayloadHash]) {
        state.withLock { $0.refusedByLiars.formUnion(hashes) }
    }

    /// Returns the client id of a random device whose push the server has answered; nil when there is none yet.
    func knownClient(_ random: inout SeededRandom) -> ClientID? {
        let known = state.withLock { state in
            let ofDevices = state.sent.filter { $0.value.outcome != nil && $0.value.device != AccessOracle.reader.name }
            return Set(ofDevices.keys.map(\.identity.client))
        }
        return known.isEmpty ? nil : known.sorted()[random.below(known.count)]
    }

    func storeReadFailed(_ error: any Error, on device: String) {}
    func sessionChanged(_ session: StoredSession, of device: String) {}
    func pushRefused(_ refusal: PushRefusal, of device: String) {}
    func pageRefused(_ failure: StoreError, by device: String) {}

    /// Returns the current expectations of a device. They are restored together with an image of its disk.
    func expectations(of device: String) -> Expectations {
        state.withLock { state in
            Expectations(
                unconfirmed: state.unconfirmed[device] ?? [:], cancelled: state.cancelled[device] ?? [],
                seen: state.seen[device] ?? [], isUncertain: state.uncertain.contains(device))
        }
    }

    /// Rolls back the expectations of a device whose disk was rolled back. Later commits may be lost, unless the server
    /// has applied them.
    func rollBack(_ device: String, to expectations: Expectations) {
        state.withLock { state in
            state.unconfirmed[device] = expectations.unconfirmed
            state.seen[device] = expectations.seen
            state.newest[device] = nil
            state.flushed[device] = nil
            state.cancelled[device] = expectations.cancelled
            if expectations.isUncertain { state.uncertain.insert(device) }
        }
    }

    func walFlushed(of device: String) {
        state.withLock { $0.flushed[device] = $0.newest[device] }
    }

    /// Updates the expectations of a device that has lost power and does not flush each commit.
    ///
    /// Only commits after `last` may be lost. Entries that had left the outbox may be back.
    ///
    /// - Parameters:
    ///   - identity: the device's current identity.
    ///   - last: the newest commit in its file.
    ///   - entries: the current outbox.
    /// - Returns: the number of lost commits.
    func losePower(
        _ device: String, as identity: ClientIdentity, keeping last: OutboxSequence, among entries: [OutboxEntry]
    ) throws(Violation) -> Int {
        try state.withLock { state throws(Violation) in
            if let flushed = state.flushed[device], flushed > last {
                throw Violation(
                    .I1, "\(device) lost power, and only knows of its commits up to \(last); \(flushed) was flushed")
            }
            let before = state.unconfirmed[device] ?? [:]
            var unconfirmed = before.filter { $0.key <= last }
            for entry in entries { unconfirmed[entry.sequence] = state.unconfirmed(of: entry, as: identity) }
            state.unconfirmed[device] = unconfirmed
            state.newest[device] = last
            state.cancelled[device]?.formIntersection(unconfirmed.keys)
            // The server may give a different outcome to a transaction that is sent again.
            let unanswered = Set(
                entries.filter { if case .answered = $0.state { false } else { true } }.map(\.sequence))
            state.seen[device]?.removeAll { entry in
                guard let sequence = entry.sequence else { return false }
                if sequence > last { return true }
                // The user is told of a conflict once, whatever the transaction is answered the next time.
                if case .merged = entry.event { return false }
                return unanswered.contains(sequence)
            }
            return before.count { $0.key > last }
        }
    }

    struct Expectations: Sendable {
        let unconfirmed: [OutboxSequence: Unconfirmed]
        let cancelled: Set<OutboxSequence>
        let seen: [JournalEntry]
        /// Whether a failed commit may turn out to have taken effect.
        let isUncertain: Bool
    }
}

extension History.State {
    /// Forgets the contents of the device's transactions until they are observed again.
    fileprivate mutating func forgetContents(of device: String) {
        for sequence in unconfirmed[device, default: [:]].keys { unconfirmed[device]?[sequence]?.transaction = nil }
    }

    /// Returns the expectation for an outbox entry in the device's file.
    func unconfirmed(of entry: OutboxEntry, as identity: ClientIdentity) -> History.Unconfirmed {
        let number: TransactionNumber
        switch entry.state {
        case .waiting: return History.Unconfirmed()
        case .sent(let given, _), .answered(let given, _): number = given
        }
        let operation = History.Operation(identity: identity, number: number)
        guard let sent = sent[operation]?.transaction, sent.transaction == entry.transaction else {
            return History.Unconfirmed()
        }
        return History.Unconfirmed(operation: operation, hash: sent.hash)
    }
}
