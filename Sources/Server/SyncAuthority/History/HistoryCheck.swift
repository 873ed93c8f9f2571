import SyncModel

/// Compares a cursor from a client or from the mark with the history in the store.
///
/// A cursor is authentic when this server created it in this history. An authentic cursor stands for commits that were
/// durable when it was issued. If the store does not hold them, the database was restored from an older copy.
struct HistoryCheck {
    let history: HistoryIdentity
    let witness: LostHistory.Witness

    enum Finding {
        /// The store holds every commit up to the cursor. If the cursor is a receipt, the ledger holds its transaction.
        case held(FeedCursor)
        /// The cursor is older than the oldest commit in the change feed. If it is a receipt, the ledger holds its
        /// transaction.
        case trimmed
        /// The store has lost commits that the cursor proves.
        case lost(LostHistory)
        /// The cursor belongs to a different history.
        case otherEpoch
        /// This server did not create the cursor: it is damaged or forged. It proves nothing.
        case unreadable
    }

    func examine(_ text: Cursor, in view: some AuthorityView) throws(AuthorityStoreError) -> Finding {
        guard let shown = PresentedCursor(text) else { return .unreadable }
        let cursor = shown.cursor
        guard cursor.epoch == history.epoch else { return .otherEpoch }
        guard shown.isAuthentic(for: history.key) else { return .unreadable }
        let extent = try view.extent(of: cursor.space)
        let version = cursor.position.version
        // A transaction that only lost made no commit, so only the ledger shows that the store has it.
        if version <= extent.head, case .receipt(_, let client, let number) = cursor.position,
            try !holds(number, of: client, at: version, in: view)
        {
            return .lost(
                LostHistory(
                    epoch: history.epoch, space: cursor.space, reached: version, head: extent.head,
                    transaction: number, of: client.client, witness: witness))
        }
        if version < extent.horizon { return .trimmed }
        if version <= extent.head {
            guard let fingerprint = try view.fingerprint(at: version, in: cursor.space) else {
                throw AuthorityStoreError(
                    .corrupt, "the feed of \(cursor.space) has no fingerprint at version \(version)")
            }
            if fingerprint == cursor.fingerprint { return .held(cursor) }
        }
        return .lost(
            LostHistory(
                epoch: history.epoch, space: cursor.space, reached: version, head: extent.head,
                witness: witness))
    }

    /// Returns whether the ledger holds a transaction that an authentic receipt names.
    ///
    /// Ledgers are never trimmed, so they prove a loss even if the change feed no longer has the version of the
    /// receipt, or never had a commit of the transaction. The ledger is that of the client's owner, because anybody may
    /// show the receipt.
    private func holds(
        _ number: TransactionNumber, of client: ClientIdentity, at version: Version, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> Bool {
        guard let owner = try view.owner(of: client.client) else { return false }
        let key = LedgerKey(principal: owner.principal, identity: client)
        guard try view.ledger(of: key).next > number else { return false }
        // Another copy of the client's database may have used the number again after the restore. An outcome that is
        // forgotten cannot be compared.
        guard let stored = try view.outcome(of: key, number) else { return true }
        guard case .applied(version, _, _) = stored.outcome else { return false }
        return true
    }

    /// Returns the first loss of commits that one of `cursors` proves; nil when none does.
    func firstLoss(
        shownBy cursors: [Cursor], in view: some AuthorityView
    ) throws(AuthorityStoreError) -> LostHistory? {
        for cursor in cursors.prefix(SchemaLimits.shownCursors) {
            if case .lost(let lost) = try examine(cursor, in: view) { return lost }
        }
        return nil
    }
}
