import SyncModel

/// Compares a cursor from a client or from the mark with the history in the store.
///
/// A cursor is authentic when this server created it in this history. An authentic cursor stands for commits that were
/// durable when it was issued. If the store does not hold them, the database was restored from an older copy.
struct HistoryCheck {
    let history: HistoryIdentity
    let witness: LostHistory.Witness

    enum Finding {
        /// The store holds every commit up to the cursor.
        case held(FeedCursor)
        /// The cursor is older than the oldest commit in the change feed.
        case trimmed
        /// The store has lost commits that the cursor proves.
        case lost(LostHistory)
        /// The cursor belongs to a different history.
        case otherEpoch
        /// This server did not create the cursor: it is damaged or forged. It proves nothing.
        case unreadable
    }

    func examine(_ text: Cursor, in view: some AuthorityView) throws(AuthorityStoreError) -> Finding {
        guard let sealed = SealedCursor(text) else { return .unreadable }
        let cursor = sealed.cursor
        guard cursor.epoch == history.epoch else { return .otherEpoch }
        guard sealed.isAuthentic(for: history.key) else { return .unreadable }
        let extent = try view.extent(of: cursor.space)
        let version = cursor.place.version
        if version < extent.horizon { return .trimmed }
        if version <= extent.head {
            guard let chain = try view.chain(at: version, in: cursor.space) else {
                throw AuthorityStoreError(
                    .corrupt, "the feed of \(cursor.space) has no fingerprint at version \(version)")
            }
            if chain == cursor.chain { return .held(cursor) }
        }
        return .lost(
            LostHistory(
                epoch: history.epoch, space: cursor.space, reached: version, head: extent.head,
                witness: witness))
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
