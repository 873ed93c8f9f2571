import SyncConcurrency
import SyncModel

/// The contents of recent pages, which many devices request.
///
/// After a commit, all devices of a space pull the same changes, and devices that start again pull the same snapshot. A
/// page is reused only while its space has not changed, so its contents are those that the store would return. Rights,
/// cursors, and notices are not part of a page, and are checked for each request.
final class PageCache: Sendable {
    /// The values that determine the contents of a page.
    struct Key: Hashable, Sendable {
        let epoch: Epoch
        let space: SpaceID
        /// The position after which the page begins; nil for the first page of a snapshot.
        let position: FeedCursor.Position?
        /// The head of the space, with the fingerprint of its whole history: a restored database may have another
        /// history with the same versions.
        let head: FeedPoint
        let catalogRevision: Int64
        let budget: PageBudget
    }

    struct Page: Sendable {
        let content: PullPage.Content
        /// The position after the page.
        let position: FeedCursor.Position
        let end: FeedPoint
        let hasMore: Bool
        /// Set while the page is kept, so that its contents are encoded once for all devices.
        var sharedForm: SharedForm?
    }

    private struct State {
        var pages: [Key: Page] = [:]
        /// The keys of `pages`, the oldest first.
        var order: [Key] = []
    }

    private let state = Guarded(State())

    /// Returns the page, from memory if it is there.
    ///
    /// - Parameter make: makes the page. A page that is small, or too large, is not kept.
    func page(
        _ key: Key, make: () throws(AuthorityStoreError) -> Page
    ) throws(AuthorityStoreError) -> Page {
        if let kept = state.withLock({ $0.pages[key] }) { return kept }
        var page = try make()
        // A page of one row is a question for the head of the space.
        guard key.budget.rows > 1, AuthorityLimits.keptPageBytes.contains(page.content.byteCount) else { return page }
        page.sharedForm = SharedForm()
        let kept = page
        return state.withLock { state in
            // Another thread may have made the same page.
            if let other = state.pages[key] { return other }
            state.pages[key] = kept
            state.order.append(key)
            if state.order.count > AuthorityLimits.keptPages { state.pages[state.order.removeFirst()] = nil }
            return kept
        }
    }
}

/// A version of a space with the fingerprint of its history.
struct FeedPoint: Hashable, Sendable {
    let version: Version
    let fingerprint: HistoryFingerprint
}

extension PullPage.Content {
    /// The approximate size in memory, in bytes, with an allowance for each value, and for each record or change.
    fileprivate var byteCount: Int {
        switch self {
        case .snapshot(let groups, _, _):
            groups.reduce(0) { total, group in
                if let encoded = group.encoded { return total + encoded.bytes.count }
                return group.records.reduce(total) { total, record in
                    record.values.reduce(total + 64 + record.unknown.byteCount) { $0 + 48 + $1.byteCount }
                }
            }
        case .commits(let commits):
            commits.reduce(0) { total, commit in
                commit.changes.reduce(total) { total, change in
                    switch change.effect {
                    case .created(_, let patch), .updated(let patch): total + 64 + patch.byteCount
                    case .deleted: total + 64
                    }
                }
            }
        }
    }
}

extension Patch {
    fileprivate var byteCount: Int { reduce(0) { $0 + 48 + $1.field.rawValue.utf8.count + $1.value.byteCount } }
}
