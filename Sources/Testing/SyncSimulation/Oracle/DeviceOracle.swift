import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// A check of how devices push, whatever their wall clocks do.
///
/// Each transaction must be pushed under one number and in order (I2, I3), under an identity that changes only for a
/// reason (I16), and with its own stamp (I22).
final class DeviceOracle: DeviceObserver, ServerObserver {
    private struct Device: Sendable {
        /// The number under which each transaction was sent, with the identity that sent it.
        var numbers: [OutboxSequence: (identity: ClientIdentity, number: TransactionNumber)] = [:]
        var identity: ClientIdentity?
        /// Whether the disk was rolled back or copied, or two engines share it. The server may then know later numbers
        /// than an engine does.
        var isOfDoubtfulOrigin = false
        /// Whether two engines share the database. Neither is notified of the other's changes.
        var hasTwoEngines = false
        /// Whether the device may have received false or outdated responses.
        var isMisled = false
        /// Whether these two causes have ended.
        var isFreed = false
    }

    private struct Stamps: Sendable {
        var first: HybridTime
        var last: HybridTime
    }

    private struct State: Sendable {
        var devices: [String: Device] = [:]
        var stamps: [ClientIdentity: [TransactionNumber: Stamps]] = [:]
        /// Whether the server was silently restored from a backup, and may have forgotten numbers.
        var serverMayHaveForgotten = false
    }

    private let mayOvertake: Bool
    private let violations: ViolationLog
    private let state = Guarded(State())

    /// - Parameter mayOvertake: whether the server may run an earlier build that does not know all the models that
    ///   devices write. Later transactions may then overtake those that are held back.
    init(mayOvertake: Bool, violations: ViolationLog) {
        self.mayOvertake = mayOvertake
        self.violations = violations
    }

    // MARK: Faults of devices

    /// Records that the device's disk was replaced, or has lost commits.
    func rolledBack(_ device: String) {
        state.withLock { state in
            // A cache or a hostile server on the route to the server stays after the disk is replaced.
            let isMisled = state.devices[device]?.isMisled ?? false
            state.devices[device] = Device(isOfDoubtfulOrigin: true, isMisled: isMisled)
        }
    }

    /// Records that the device's disk was copied to another device.
    func copied(_ device: String) {
        state.withLock { $0.devices[device, default: Device()].isOfDoubtfulOrigin = true }
    }

    /// Records that two engines push from one database. One may acknowledge a push that the other still repeats.
    func hasTwoEngines(_ device: String) {
        state.withLock { state in
            state.devices[device, default: Device()].isOfDoubtfulOrigin = true
            state.devices[device, default: Device()].hasTwoEngines = true
            state.devices[device, default: Device()].isFreed = false
        }
    }

    /// Records that the device has one engine again, and that the responses are those of the server.
    func isFreed(_ device: String) {
        state.withLock { $0.devices[device]?.isFreed = true }
    }

    /// Records that the engine of a device says that it is in sync. What it has received from others has no effect
    /// then, if they are gone.
    func isInSync(_ device: String) {
        state.withLock { state in
            guard let known = state.devices[device], known.isFreed else { return }
            // The other engine may have changed the identity.
            if known.hasTwoEngines { state.devices[device]?.identity = nil }
            state.devices[device]?.hasTwoEngines = false
            state.devices[device]?.isMisled = false
            state.devices[device]?.isFreed = false
        }
    }

    /// Records that the server was restored from an older backup, under the same epoch.
    func serverWasRestoredSilently() {
        state.withLock { $0.serverMayHaveForgotten = true }
    }

    /// Records that a cache answers in the server's place, or that the server gives false responses.
    func isMisled(_ device: String) {
        state.withLock { state in
            state.devices[device, default: Device()].isMisled = true
            state.devices[device, default: Device()].isFreed = false
        }
    }

    // MARK: Actions of devices

    /// Reports a page that contradicts the stored state.
    ///
    /// The engine then starts over with a snapshot. But a page from an honest server must always continue the state of
    /// a device with a single engine (I8).
    func pageRefused(_ failure: StoreError, by device: String) {
        state.withLock { state in
            let known = state.devices[device] ?? Device()
            guard [.corrupt, .contradiction].contains(failure.code), !known.hasTwoEngines, !known.isMisled else {
                return
            }
            // A server that was restored silently assigns uids again. A device may see such a uid in one space before
            // another space proves the restore.
            if state.serverMayHaveForgotten, failure.message.contains(" the uid ") { return }
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

    func walFlushed(of device: String) {}

    func storeReadFailed(_ error: any Error, on device: String) {
        violations.report(Violation(.I25, "\(device) cannot be read although its disk works: \(error)"))
    }

    func pushRefused(_ refusal: PushRefusal, of device: String) {
        state.withLock { state in
            switch refusal {
            case .epochChanged: break
            case .gap where state.serverMayHaveForgotten: break
            // The server may have accepted the transaction before a hostile server refused it. The empty transaction of
            // the withdrawal then has the same number and other contents.
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
                // An empty transaction uses up the number. If the server then says that it does not have the
                // transaction under former numbers either, the transaction is sent under the next one.
                let isEmptied = batch.isEmptied && batch.transactions.contains { $0.number == number }
                known.numbers[entry.sequence] = isEmptied ? nil : (batch.identity, number)
            }
            state.devices[device] = known
        }
    }

    /// Compares a batch with the outbox that it was taken from. Returns the violation; nil when there is none.
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
            // A transaction is held back while the server does not know its models. Independent transactions may
            // overtake it.
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
            // A transaction that the server refuses to take is withdrawn: an empty transaction takes its number.
            if batch.isEmptied, numbered.transaction.mutations.isEmpty { continue }
            guard sent[numbered.number] == numbered.transaction else {
                return Violation(.I3, "\(device) sends as number \(numbered.number) what is not its transaction")
            }
        }
        return nil
    }

    // MARK: Pushes on the server

    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        let name = String(device.prefix { $0 != "." })
        state.withLock { state in
            // Two devices that claim to be the same client have different clocks.
            guard state.devices[name]?.isOfDoubtfulOrigin != true else { return }
            for numbered in request.transactions {
                let times = numbered.transaction.mutations.map(\.time)
                guard let first = times.min(), let last = times.max() else { continue }
                let stamps = Stamps(first: first, last: last)
                // Two contents under one number are an identity conflict, which other checks find.
                guard state.stamps[request.identity]?[numbered.number] == nil else { continue }
                // A clock that was ahead may be set back, but no two transactions may have the same stamp.
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

    /// Checks that the server never serves a database with another account's token (I21).
    ///
    /// Edits written under one account must not take effect with another's token, and data that one account may see
    /// must not enter the other's database.
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
    /// Returns whether the transaction changes a record that the other changes, or refers to one that the other
    /// creates. It must then not overtake the other.
    fileprivate func depends(on other: Transaction) -> Bool {
        func addresses(_ mutations: [Mutation]) -> Set<RecordAddress> {
            Set(mutations.map(\.address))
        }
        if !addresses(mutations).isDisjoint(with: addresses(other.mutations)) { return true }
        let made = Set(
            other.mutations.compactMap { if case .create = $0.intent { $0.record } else { nil } })
        return mutations.contains { mutation in
            mutation.patch.contains { if case .reference(let id) = $0.value { made.contains(id) } else { false } }
        }
    }
}
