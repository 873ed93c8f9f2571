import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

// The limits on what accounts may store.
extension History {
    var accounts: AccountLimits {
        get { state.withLock { $0.accounts } }
        set { state.withLock { ($0.accounts, $0.leastAccountBytes) = (newValue, min($0.leastBytes, newValue.bytes)) } }
    }

    /// Records that the server may have counted less than an account has stored, because another process has added
    /// something, or because a commit has failed that took effect.
    func usageIsUncertain() {
        state.withLock { $0.mayUndercount = true }
    }

    func pushFailed(_ request: PushRequest, _ failure: AuthorityError) {
        state.withLock { state in
            guard failure.code == .quotaExceeded else {
                state.mayUndercount = true
                return
            }
            guard
                let device = request.transactions.first.flatMap({ first in
                    state.sent[Operation(identity: request.identity, number: first.number)]?.device
                })
            else { return }
            let others = state.clients(of: device).subtracting([request.identity.client])
            guard others.count < state.accounts.clients else { return }
            state.violations.report(
                Violation(
                    .I17,
                    "\(device) may not write with \(request.identity.client), although only \(others.count) clients of its account have written"
                ))
        }
    }
}

extension History.State {
    /// Returns the clients with which a device has pushed, in any history of the server.
    fileprivate func clients(of device: String) -> Set<ClientID> {
        let answered = sent.filter {
            $0.value.device == device && ($0.value.outcome != nil || !$0.value.former.isEmpty)
        }
        return Set(answered.keys.map(\.identity.client))
    }

    /// The smallest number of bytes that an account could store at any time.
    fileprivate var leastBytes: Int { min(leastAccountBytes, accounts.bytes) }

    /// Returns whether a rejection may be true that says that an account stores as much as it may.
    ///
    /// The bound is all that the account has ever stored, because the server counts deletions late, and counts what
    /// others have written into records of the account.
    func isBeyondQuota(
        _ rejection: Rejection, _ operation: History.Operation, _ transaction: Transaction, isAnsweredNow: Bool
    ) -> Bool {
        guard rejection.code == .quotaExceeded, let device = sent[operation]?.device else { return false }
        let effective = sent.filter { $0.key != operation && $0.value.hasTakenEffect }.map(\.value)
        let own = effective.filter { $0.device == device }
        let records = Set(own.flatMap { $0.transaction.transaction.createdAddresses })
        var size = transaction.mutations.reduce(0) { $0 + $1.greatestGrowth }
        for sent in effective {
            for mutation in sent.transaction.transaction.mutations
            where sent.device == device || records.contains(mutation.address) { size += mutation.greatestGrowth }
        }
        // The limit may have changed since the decision.
        return size > (isAnsweredNow ? accounts.bytes : leastBytes)
    }

    /// Checks that an account that has created more records than it may store cannot create another.
    func checkQuota(of device: String, answered outcome: Outcome, _ operation: History.Operation) {
        guard case .applied(let version, _, _) = outcome, accounts.bytes < .max, !mayUndercount,
            let space = sent[operation]?.transaction.transaction.space,
            applied[space]?[version]?.contains(operation) == true
        else { return }
        var (all, own, new) = (Set<RecordAddress>(), 0, false)
        for version in applied[space, default: [:]].keys.sorted() {
            for other in applied[space]?[version] ?? [] {
                for address in sent[other]?.transaction.transaction.createdAddresses ?? []
                where all.insert(address).inserted && sent[other]?.device == device {
                    own += 1
                    new = new || other == operation
                }
            }
        }
        guard new, own * AuthorityLimits.recordBytes > accounts.bytes else { return }
        violations.report(
            Violation(
                .I19,
                "\(device) has created \(own) records in \(space), and its account may store only \(accounts.bytes) bytes"
            ))
    }
}

extension History.Sent {
    /// Whether the transaction has taken effect in any history of the server.
    fileprivate var hasTakenEffect: Bool {
        if case .applied? = outcome { return true }
        return former.contains { if case .applied = $0.outcome { true } else { false } }
    }
}

extension Transaction {
    fileprivate var createdAddresses: [RecordAddress] {
        mutations.compactMap { if case .create = $0.intent { $0.address } else { nil } }
    }
}

extension Mutation {
    /// A bound on the bytes by which the mutation can make what its account stores grow.
    fileprivate var greatestGrowth: Int {
        let values = patch.reduce(0) { $0 + $1.field.rawValue.utf8.count + $1.value.byteCount * 2 + 16 }
        return if case .create = intent { values + AuthorityLimits.recordBytes } else { values }
    }
}
