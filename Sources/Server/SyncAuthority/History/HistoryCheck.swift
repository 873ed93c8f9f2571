import SyncModel

/// Compares a cursor that a client shows with the history in the store.
///
/// A cursor is authentic when this server made it in this history. An authentic cursor stands for commits that were durable
/// when it was given. If the store does not hold them, the database was restored from an older copy.
struct HistoryCheck {
    let history: HistoryIdentity
    let witness: LostHistory.Witness

    enum Finding {
        /// The store holds every commit up to the cursor.
        case held(FeedCursor)
        /// The cursor is older than what the feed still tells.
        case trimmed
        case lost(LostHistory)
        /// Another history has given the cursor.
        case otherEpoch
        /// This server has not made the cursor: it is damaged, or forged. It proves nothing.
        case unreadable
    }

    func examine(_ text: Cursor, in view: some AuthorityView) throws(AuthorityStoreFailure) -> Finding {
        guard let sealed = SealedCursor(text) else { return .unreadable }
        let cursor = sealed.cursor
        guard cursor.epoch == history.epoch else { return .otherEpoch }
        guard sealed.isAuthentic(for: history.key) else { return .unreadable }
        let extent = try view.extent(of: cursor.space)
        let version = cursor.place.version
        if version < extent.horizon { return .trimmed }
        if version <= extent.head {
            guard let chain = try view.chain(at: version, in: cursor.space) else {
                throw AuthorityStoreFailure(
                    .corrupt, "the feed of \(cursor.space) has no fingerprint at version \(version)")
            }
            if chain == cursor.chain { return .held(cursor) }
        }
        return .lost(
            LostHistory(
                epoch: history.epoch, space: cursor.space, reached: version, head: extent.head,
                witness: witness))
    }

    /// The first of `cursors` that proves that the store has lost commits.
    func firstLoss(
        shownBy cursors: [Cursor], in view: some AuthorityView
    ) throws(AuthorityStoreFailure) -> LostHistory? {
        for cursor in cursors.prefix(SchemaLimits.shownCursors) {
            if case .lost(let lost) = try examine(cursor, in: view) { return lost }
        }
        return nil
    }
}
