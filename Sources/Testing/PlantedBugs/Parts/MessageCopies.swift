import SyncCore
import SyncModel

// Planted bugs change messages with these functions. Each argument replaces one part of a message, and all other parts
// stay the same, so that a bug contains only the bug that its name says.

extension PullPage {
    /// Returns a copy of this page with the given parts replaced. `.some(nil)` removes an optional part.
    func with(
        _ content: Content? = nil, version: Version? = nil, head: Version? = nil, notices: [ConflictNotice]? = nil,
        noticesRemovedUpTo: Int64?? = nil
    ) -> PullPage {
        PullPage(
            space: space, epoch: epoch, serverTime: serverTime, content: content ?? self.content, cursor: cursor,
            version: version ?? self.version, head: head ?? self.head, hasMore: hasMore,
            notices: notices ?? self.notices, hasMoreNotices: hasMoreNotices,
            noticesRemovedUpTo: noticesRemovedUpTo ?? self.noticesRemovedUpTo)
    }
}

extension ServerHello {
    /// Returns a copy of this response with another epoch.
    func with(epoch: Epoch) -> ServerHello {
        ServerHello(
            protocolVersions: protocolVersions, epoch: epoch, account: account, serverTime: serverTime, clock: clock,
            limits: limits, models: models)
    }
}

extension PullRequest {
    /// Returns a copy of this request with the given parts replaced. `.some(nil)` removes an optional part.
    func with(
        receipt: Cursor?? = nil, limit: Int? = nil, account: AccountID?? = nil, notices: NoticeRequest?? = nil
    ) -> PullRequest {
        PullRequest(
            space: space, cursor: cursor, receipt: receipt ?? self.receipt, limit: limit ?? self.limit,
            account: account ?? self.account, notices: notices ?? self.notices)
    }
}

extension PushRequest {
    /// Returns a copy of this request with the given parts replaced. `.some(nil)` removes an optional part.
    func with(
        identity: ClientIdentity? = nil, epoch: Epoch?? = nil, account: AccountID?? = nil, cursors: [Cursor]? = nil,
        acknowledged: TransactionNumber? = nil, transactions: [NumberedTransaction]? = nil
    ) -> PushRequest {
        PushRequest(
            identity: identity ?? self.identity, epoch: epoch ?? self.epoch, account: account ?? self.account,
            cursors: cursors ?? self.cursors, acknowledged: acknowledged ?? self.acknowledged,
            transactions: transactions ?? self.transactions)
    }
}

extension NumberedTransaction {
    /// Returns a copy of this transaction whose deletes of records of some collections claim to have seen a version.
    func withDeletes(of collections: Set<CollectionName>, seeing version: Version) -> NumberedTransaction {
        let mutations = transaction.mutations.map { mutation in
            guard case .delete = mutation.intent, collections.contains(mutation.collection) else { return mutation }
            return Mutation(
                collection: mutation.collection, record: mutation.record, time: mutation.time,
                intent: .delete(seen: version))
        }
        return NumberedTransaction(
            number: number, hash: hash, transaction: Transaction(space: transaction.space, mutations: mutations),
            age: age, formerNumbers: formerNumbers)
    }
}

extension PushBatch {
    /// Returns a copy of this batch with the given parts replaced.
    func with(identity: ClientIdentity? = nil, transactions: [NumberedTransaction]? = nil) -> PushBatch {
        PushBatch(
            identity: identity ?? self.identity, epoch: epoch, acknowledged: acknowledged,
            transactions: transactions ?? self.transactions, outbox: outbox, isEmptied: isEmptied, cursors: cursors)
    }
}

extension TransactionResult {
    /// Returns a copy of this result that reports no conflicts.
    var withoutConflicts: TransactionResult {
        guard case .applied(let version, let uids, _) = outcome else { return self }
        return TransactionResult(
            number: number, outcome: .applied(version: version, uids: uids, conflicts: []), receipt: receipt)
    }
}
