import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

// The observed actions of the server.
extension History: ServerObserver {
    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        state.withLock { state in
            for numbered in request.transactions {
                let operation = Operation(identity: request.identity, number: numbered.number)
                if let earlier = state.sent[operation] {
                    // The server detects the same number with other contents (I16): see `pushAnswered`.
                    guard earlier.outcome == nil else { continue }
                    if earlier.transaction.isSame(as: numbered) {
                        state.sent[operation]?.transaction = numbered
                        state.sent[operation]?.now = now
                    } else if let address = earlier.others.firstIndex(where: { $0.transaction.isSame(as: numbered) }) {
                        state.sent[operation]?.others[address] = (numbered, now)
                    } else {
                        state.sent[operation]?.others.append((numbered, now))
                    }
                } else {
                    state.sent[operation] = Sent(transaction: numbered, device: device, now: now)
                }
            }
        }
    }

    func pushAnswered(_ request: PushRequest, _ response: PushResponse, now: WallTime) {
        guard case .answered(let results, _, _) = response else { return }
        state.withLock { state in
            for (position, result) in results.enumerated() {
                guard position < request.transactions.count, request.transactions[position].number == result.number
                else {
                    state.violations.report(
                        Violation(.I3, "the response to \(result.number) is not in the request's order"))
                    continue
                }
                let operation = Operation(identity: request.identity, number: result.number)
                guard var sent = state.sent[operation] else { continue }
                if !sent.transaction.isSame(as: request.transactions[position]) {
                    guard sent.outcome == nil else {
                        state.violations.report(
                            Violation(
                                .I16, "\(operation) came with other contents, and was answered as if it were the same")
                        )
                        continue
                    }
                    // The first transaction under this number had no effect.
                    sent = Sent(
                        transaction: request.transactions[position], device: sent.device, now: now,
                        former: sent.former)
                    state.sent[operation] = sent
                }
                if let earlier = sent.outcome {
                    if earlier != result.outcome {
                        state.violations.report(
                            Violation(.I2, "\(operation) was first \(earlier), then \(result.outcome)"))
                    }
                    continue
                }
                state.sent[operation]?.outcome = result.outcome
                state.checkAccess(sent, answered: result.outcome, operation)
                state.note(result.outcome, of: operation, sent.transaction.transaction, isAnsweredNow: true)
                state.checkQuota(of: sent.device, answered: result.outcome, operation)
            }
            state.replay()
        }
    }

    func pushTooLong(_ request: PushRequest) {
        guard request.transactions.count == 1 else { return }
        state.withLock { $0.tooLong.formUnion(request.transactions.map(\.hash)) }
    }

    /// Determines the outcomes of transactions that were never answered.
    ///
    /// The server may have died while handling them, and their senders may never ask again.
    ///
    /// - Parameter outcome: returns the entry in the server's ledger; nil when there is none.
    func settle(_ outcome: (WorldParts.Sender) throws -> (hash: PayloadHash, outcome: Outcome)?) rethrows {
        let open = state.withLock { state in
            state.sent.filter { $0.value.outcome == nil }.map { ($0.key, $0.value.device) }
        }
        // Each lookup reads from the server's disk, and the trace contains these reads. Their order must be the same in
        // every run.
        let sorted = open.sorted { $0.0 < $1.0 }
        for (operation, device) in sorted {
            let sender = WorldParts.Sender(
                principal: Principal(name: device), identity: operation.identity, number: operation.number)
            guard let (hash, outcome) = try outcome(sender) else { continue }
            state.withLock { state in
                guard let sent = state.sent[operation],
                    let (transaction, now) = ([(sent.transaction, sent.now)] + sent.others).first(where: {
                        $0.0.hash == hash
                    })
                else { return }
                state.sent[operation]?.now = now
                state.sent[operation]?.transaction = transaction
                state.sent[operation]?.outcome = outcome
                state.note(outcome, of: operation, transaction.transaction, isAnsweredNow: false)
            }
        }
        state.withLock { $0.replay() }
    }

    /// The current knowledge of the server. It is kept with a backup, and restored with it.
    var memory: Memory {
        state.withLock { state in
            Memory(
                replays: state.replays, applied: state.applied, uids: state.uids,
                answered: state.sent.filter { $0.value.outcome != nil })
        }
    }

    /// Rolls back the knowledge of the server, because the server was restored from a backup.
    ///
    /// Only transactions that the server has applied since the backup may be lost. Devices that received their outcomes
    /// are not at fault.
    func rollBack(to memory: Memory) {
        state.withLock { state in
            for (operation, sent) in state.sent {
                if let outcome = sent.outcome { state.sent[operation]?.former.append((sent.transaction.hash, outcome)) }
                if case .applied? = sent.outcome { state.lost.insert(operation) }
                // Restore the outcome even if another history has decided differently meanwhile.
                if let known = memory.answered[operation] {
                    state.sent[operation]?.transaction = known.transaction
                    state.sent[operation]?.outcome = known.outcome
                } else {
                    state.sent[operation]?.outcome = nil
                }
            }
            state.replays = memory.replays
            state.applied = memory.applied
            state.uids = memory.uids
        }
    }

    struct Memory: Sendable {
        let replays: [SpaceID: Replay]
        let applied: [SpaceID: [Version: [Operation]]]
        let uids: [CollectionName: [UID: RecordID]]
        let answered: [Operation: Sent]
    }

    /// The reasons for which the server may reject a transaction of an honest device.
    fileprivate static let honestReasons: Set<RejectionCode> = [
        .recordDeleted, .missingRecord, .danglingReference, .stillReferenced, .unseenEdits,
    ]
}

extension History.State {
    /// Checks that the sender has access at the time when its transaction first takes effect (I21).
    fileprivate func checkAccess(_ sent: History.Sent, answered outcome: Outcome, _ operation: History.Operation) {
        let space = sent.transaction.transaction.space
        guard case .applied = outcome, !access.has(Principal(name: sent.device), accessTo: space),
            !isRepeat(outcome, of: operation)
        else { return }
        violations.report(Violation(.I21, "\(sent.device) may not write in \(space), and its \(operation) is applied"))
    }

    /// Returns whether an earlier identity of the device got this outcome for the same transaction.
    private func isRepeat(_ outcome: Outcome, of operation: History.Operation) -> Bool {
        let formerNumbers = sent[operation]?.transaction.formerNumbers ?? []
        return formerNumbers.contains { former in
            let earlier = sent[History.Operation(identity: former.identity, number: former.number)]
            // Another copy of the device may have used the number for a different transaction.
            return earlier?.outcome == outcome && earlier?.transaction.hash == former.hash
        }
    }

    /// Returns whether a rejection for lack of access is correct: the sender had no access to the space, or may have
    /// had none when the time of the decision is unknown.
    fileprivate func isForbidden(
        _ rejection: Rejection, _ operation: History.Operation, _ transaction: Transaction, isAnsweredNow: Bool
    ) -> Bool {
        guard rejection.code == .forbidden, let device = sent[operation]?.device else { return false }
        let sender = Principal(name: device)
        return isAnsweredNow
            ? !access.has(sender, accessTo: transaction.space) : access.wasWithdrawn(from: sender, transaction.space)
    }

    /// Records an outcome.
    ///
    /// - Parameter isAnsweredNow: whether the server has decided at this moment, so that the current access rights
    ///   apply.
    fileprivate mutating func note(
        _ outcome: Outcome, of operation: History.Operation, _ transaction: Transaction, isAnsweredNow: Bool
    ) {
        switch outcome {
        case .applied(let version, let assigned, _):
            // The transaction has already had this effect under an earlier identity of the device (I2).
            if isRepeat(outcome, of: operation) { return }
            if hasRule, !hasTakenEffect(transaction), let rejection = WorldRule.rejection(of: transaction) {
                violations.report(
                    Violation(.I17, "\(operation) was applied, although a rule rejects it: \(rejection.message)"))
            }
            if let limits, limits.exclude(transaction) {
                violations.report(
                    Violation(.I17, "\(operation) was applied, although it exceeds a limit of the server"))
            }
            applied[transaction.space, default: [:]][version, default: []].append(operation)
            // A transaction without a visible change has no version of its own and shares the newest one. It may still
            // have left a stamp, so the models from that version on are computed again.
            if let replay = replays[transaction.space], version <= replay.head {
                replays[transaction.space]?.models.removeLast(replay.models.count - max(Int(version.rawValue), 1))
            }
            for given in assigned {
                if !given.uid.isValid {
                    violations.report(Violation(.I13, "\(given.record) was given the uid \(given.uid)"))
                } else if let other = uids[given.collection]?[given.uid], other != given.record {
                    violations.report(
                        Violation(
                            .I13, "\(given.collection) uid \(given.uid) was given to \(other) and \(given.record)"))
                }
                uids[given.collection, default: [:]][given.uid] = given.record
            }
        case .rejected(let rejection):
            replay()
            if isRepeat(outcome, of: operation) { return }
            // The empty transaction of a withdrawal only occupies a number.
            if transaction.mutations.isEmpty, rejection.code == .malformed { return }
            if !History.honestReasons.contains(rejection.code), !isTaken(rejection, of: transaction),
                limits?.justify(rejection, of: transaction) != true,
                !isBeyondQuota(rejection, operation, transaction, isAnsweredNow: isAnsweredNow),
                !(hasRule && rejection == WorldRule.rejection(of: transaction)),
                !isForbidden(rejection, operation, transaction, isAnsweredNow: isAnsweredNow)
            {
                violations.report(Violation(.I17, "\(operation) was rejected without cause: \(rejection.message)"))
            }
            if isAnsweredNow, let sent = sent[operation],
                let replay = currentReplay(of: transaction.space, besides: operation), let model = replay.models.last,
                !model.mayReject(
                    NaiveModel.Arrival(
                        transaction: sent.transaction, identity: operation.identity, now: sent.now, head: replay.head),
                    as: rejection.code)
            {
                violations.report(
                    Violation(.I17, "\(operation) was rejected for a reason that is not true: \(rejection.message)"))
            }
        }
    }

    /// Returns the models of all that the server has applied in a space; nil if that is not known.
    ///
    /// A server that died may have applied a transaction without an answer.
    private func currentReplay(of space: SpaceID, besides operation: History.Operation) -> History.Replay? {
        guard let replay = replays[space],
            applied[space]?.keys.allSatisfy({ $0 <= replay.head }) ?? true
        else { return nil }
        let isOpen = sent.contains { other, sent in
            sent.outcome == nil && sent.transaction.transaction.space == space && other != operation
        }
        return isOpen ? nil : replay
    }

    /// Returns whether a transaction only repeats creations, which have taken effect under another identity of its
    /// device. Rules do not judge it again.
    private func hasTakenEffect(_ transaction: Transaction) -> Bool {
        transaction.mutations.allSatisfy { replays[transaction.space]?.models.last?.isCreation($0) == true }
    }

    /// Returns whether the id of a rejected creation already exists in another space.
    private func isTaken(_ rejection: Rejection, of transaction: Transaction) -> Bool {
        guard rejection.code == .duplicateRecord, let position = rejection.mutation,
            transaction.mutations.indices.contains(position), case let mutation = transaction.mutations[position],
            case .create = mutation.intent
        else { return false }
        let address = mutation.address
        return replays.contains { $0.key != transaction.space && $0.value.models.last?.knows(address) == true }
    }

    /// Checks that an outcome reports exactly the edits that conflicted, each with the losing value (I6).
    private func check(
        _ outcome: Outcome?, of operation: History.Operation, tells expected: [NaiveModel.Conflict]
    ) throws(Violation) {
        guard case .applied(_, _, let told)? = outcome else { return }
        let found = told.map {
            NaiveModel.Conflict(
                address: RecordAddress($0.collection, $0.record), field: $0.field, base: $0.base,
                winner: $0.winner.value, loser: $0.loser.value)
        }
        guard found != expected else { return }
        throw Violation(.I6, "\(operation) met \(expected), and its outcome tells of \(found)")
    }

    /// Advances the naive models of each space to the newest version below which no version is missing.
    mutating func replay() {
        for space in replays.keys.sorted() {
            while let replay = replays[space], let operations = applied[space]?[replay.head.next],
                var model = replay.models.last
            {
                let version = replay.head.next
                for (address, operation) in operations.enumerated() {
                    guard let sent = sent[operation] else { continue }
                    do throws(Violation) {
                        let arrival = NaiveModel.Arrival(
                            transaction: sent.transaction, identity: operation.identity, now: sent.now,
                            head: address == 0 ? Version(version.rawValue - 1) : version)
                        let conflicts = try model.apply(arrival, at: version)
                        try check(sent.outcome, of: operation, tells: conflicts)
                        try model.checkReferences(after: sent.transaction.transaction, at: version)
                    } catch {
                        violations.report(error)
                    }
                }
                replays[space]?.models.append(model)
            }
        }
    }
}

extension NumberedTransaction {
    /// Returns whether this is another attempt at the same transaction, possibly at another age.
    func isSame(as other: NumberedTransaction) -> Bool {
        number == other.number && hash == other.hash && transaction == other.transaction
    }
}
