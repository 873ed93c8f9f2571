import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// Watches how devices push: each thing once and in its order (I2, I3), under one name that changes only with a reason
/// (I16), with a stamp of its own for each transaction (I22), whatever their wall clocks do.
final class DeviceConduct: DeviceWitness, ServerWitness {
    private struct Device: Sendable {
        /// Under which numbers of the present identity each transaction was sent.
        var numbers: [OutboxSequence: (identity: ClientIdentity, number: TransactionNumber)] = [:]
        var identity: ClientIdentity?
        /// Its disk was rolled back or copied: that the server knows its numbers better is no wonder.
        var isOfDoubtfulOrigin = false
        /// One engine of a database is not told what the other changes.
        var hasTwoEngines = false
        /// It was answered with what is not true, or no more.
        var isMisled = false
    }

    private struct Stamps: Sendable {
        var first: HybridTime
        var last: HybridTime
    }

    private struct State: Sendable {
        var devices: [String: Device] = [:]
        var stamps: [ClientIdentity: [TransactionNumber: Stamps]] = [:]
        /// Whether the server was put back to a backup, and nobody said so: it may have forgotten numbers.
        var serverMayHaveForgotten = false
    }

    private let mayOvertake: Bool
    private let violations: ViolationLog
    private let state = Guarded(State())

    /// - Parameter mayOvertake: whether the server may be one that does not know yet what a device writes.
    init(mayOvertake: Bool, violations: ViolationLog) {
        self.mayOvertake = mayOvertake
        self.violations = violations
    }

    // MARK: What the world does to a device

    /// Another disk is in the device now.
    func rolledBack(_ device: String) {
        state.withLock { state in
            // A cache or a liar on its way to the server stays there.
            let isMisled = state.devices[device]?.isMisled ?? false
            state.devices[device] = Device(isOfDoubtfulOrigin: true, isMisled: isMisled)
        }
    }

    /// Another device has its disk, too.
    func copied(_ device: String) {
        state.withLock { $0.devices[device, default: Device()].isOfDoubtfulOrigin = true }
    }

    /// Two engines push from one database: what one has acknowledged, the other may still be repeating.
    func hasTwoEngines(_ device: String) {
        state.withLock { state in
            state.devices[device, default: Device()].isOfDoubtfulOrigin = true
            state.devices[device, default: Device()].hasTwoEngines = true
        }
    }

    /// The server was put back to a backup that knows fewer numbers, and its history has the same name.
    func serverWasRestoredSilently() {
        state.withLock { $0.serverMayHaveForgotten = true }
    }

    /// A cache answers in the server's place, or the server lies.
    func isMisled(_ device: String) {
        state.withLock { $0.devices[device, default: Device()].isMisled = true }
    }

    // MARK: What the device does

    /// A page contradicts what is stored. The engine begins again with a snapshot then, but a page that an honest server
    /// shows to an only engine follows on what is there (I8).
    func pageRefused(_ failure: StoreFailure, by device: String) {
        state.withLock { state in
            let known = state.devices[device] ?? Device()
            guard [.corrupt, .contradiction].contains(failure.code), !known.hasTwoEngines, !known.isMisled else {
                return
            }
            violations.report(Violation(.I8, "\(device) cannot take a page: \(failure.message)"))
        }
    }

    func sessionChanged(_ session: StoredSession, of device: String) {
        state.withLock { state in
            let known = state.devices[device]?.identity
            if let known, known.client == session.identity.client, session.identity.incarnation < known.incarnation {
                violations.report(
                    Violation(.I16, "\(device) went back from \(known) to \(session.identity)"))
            }
            state.devices[device, default: Device()].identity = session.identity
        }
    }

    func logFlushed(of device: String) {}

    func unreadable(_ error: any Error, on device: String) {
        violations.report(Violation(.I25, "\(device) cannot be read although its disk works: \(error)"))
    }

    func pushRefused(_ refusal: PushRefusal, of device: String) {
        state.withLock { state in
            switch refusal {
            case .epochChanged: break
            case .gap where state.serverMayHaveForgotten: break
            // The server may have taken before what a liar has refused; the withdrawal has other contents.
            case .identityConflict where state.devices[device]?.isMisled == true: break
            case .gap, .identityConflict:
                if state.devices[device]?.isOfDoubtfulOrigin != true {
                    violations.report(
                        Violation(.I16, "\(device) was never rolled back or copied, and is told \(refusal)"))
                }
            }
        }
    }

    func batchTaken(_ batch: PushBatch, by device: String, among numbered: [OutboxEntry]) {
        state.withLock { state in
            var known = state.devices[device] ?? Device()
            if let identity = known.identity, identity != batch.identity, !known.hasTwoEngines {
                violations.report(
                    Violation(.I16, "\(device) was \(identity), and pushes as \(batch.identity) without a reason"))
            }
            known.identity = batch.identity
            if let violation = self.violation(in: batch, numbered, device) { violations.report(violation) }
            for entry in numbered {
                guard case .sent(let number, _) = entry.state else { continue }
                if let earlier = known.numbers[entry.sequence], earlier.identity == batch.identity,
                    earlier.number != number
                {
                    violations.report(
                        Violation(
                            .I2,
                            "\(device) sent transaction \(entry.sequence) as number \(earlier.number), now as \(number)"
                        ))
                }
                known.numbers[entry.sequence] = (batch.identity, number)
            }
            state.devices[device] = known
        }
    }

    /// Returns the error of a batch in comparison with the outbox that it was taken from; nil when it has none.
    private func violation(in batch: PushBatch, _ entries: [OutboxEntry], _ device: String) -> Violation? {
        var sent: [TransactionNumber: Transaction] = [:]
        var last: TransactionNumber?
        var overtaken: [(number: TransactionNumber, transaction: Transaction)] = []
        for entry in entries {
            let number: TransactionNumber
            switch entry.state {
            case .waiting: continue
            case .sent(let given, _):
                number = given
                sent[given] = entry.transaction
            case .answered(let given, _): number = given
            }
            // A transaction waits for a server that knows its models; others that do not depend on it go first.
            if let last, number <= last {
                let isFree = overtaken.allSatisfy {
                    $0.number < number || !entry.transaction.depends(on: $0.transaction)
                }
                guard mayOvertake, isFree else {
                    return Violation(.I3, "\(device) numbers a later transaction \(number), an earlier one \(last)")
                }
            }
            last = max(number, last ?? number)
            overtaken.append((number, entry.transaction))
        }
        let numbers = batch.transactions.map(\.number)
        guard let first = numbers.first else { return Violation(.I3, "\(device) sends a batch of nothing") }
        if let oldest = sent.keys.min(), first != oldest {
            return Violation(.I3, "\(device) sends number \(first) while \(oldest) is uncertain")
        }
        for (position, numbered) in batch.transactions.enumerated() {
            guard numbered.number.rawValue == first.rawValue + Int64(position) else {
                return Violation(.I3, "\(device) sends \(numbers.prefix(20)): not in order")
            }
            // One that the server refuses to take is withdrawn: an empty transaction takes its number.
            if batch.isWithdrawal, numbered.transaction.mutations.isEmpty { continue }
            guard sent[numbered.number] == numbered.transaction else {
                return Violation(.I3, "\(device) sends as number \(numbered.number) what is not its transaction")
            }
        }
        return nil
    }

    // MARK: What the server hears

    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        let name = String(device.prefix { $0 != "." })
        state.withLock { state in
            // Of two devices that say to be the same, each has its own clock.
            guard state.devices[name]?.isOfDoubtfulOrigin != true else { return }
            for numbered in request.transactions {
                let times = numbered.transaction.mutations.map(\.time)
                guard let first = times.min(), let last = times.max() else { continue }
                let stamps = Stamps(first: first, last: last)
                // One number with two contents is a matter of identity, and noticed as such.
                guard state.stamps[request.identity]?[numbered.number] == nil else { continue }
                // A clock that was ahead goes back when it is set right, but no two transactions have one stamp.
                if let before = state.stamps[request.identity]?[TransactionNumber(numbered.number.rawValue - 1)],
                    first == before.last
                {
                    violations.report(
                        Violation(
                            .I22,
                            "\(device) stamps number \(numbered.number) \(first), as the one before"
                        ))
                }
                state.stamps[request.identity, default: [:]][numbered.number] = stamps
            }
        }
    }

    func pushAnswered(_ request: PushRequest, _ reply: PushReply, now: WallTime) {}
    func pushFailed(_ request: PushRequest, _ failure: AuthorityFailure) {}
    func pullAnswered(_ request: PullRequest, _ reply: PullReply, to device: String, as principal: Principal) {}

    /// Edits written under one account never take effect with the token of another, and what one may see never gets
    /// into the other's database (I21).
    func served(_ caller: Caller, on device: String) {
        guard caller.owner != caller.bearer else { return }
        violations.report(
            Violation(
                .I21,
                "\(device) belongs to \(caller.owner.name), and the server serves it with the token of \(caller.bearer.name)"
            ))
    }
}

extension Transaction {
    /// Whether it changes what another one changes, or refers to what that one makes: then it must not go first.
    fileprivate func depends(on other: Transaction) -> Bool {
        func places(_ mutations: [Mutation]) -> Set<NaiveModel.Place> {
            Set(mutations.map { NaiveModel.Place(collection: $0.collection, id: $0.record) })
        }
        if !places(mutations).isDisjoint(with: places(other.mutations)) { return true }
        let made = Set(
            other.mutations.compactMap { if case .create = $0.intent { $0.record } else { nil } })
        return mutations.contains { mutation in
            mutation.patch.contains { if case .reference(let id) = $0.value { made.contains(id) } else { false } }
        }
    }
}
