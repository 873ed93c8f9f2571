import SyncAuthority
import SyncConcurrency
import SyncModel

/// A check of the change feed that the server sends.
///
/// Each version must appear once, in order, and with the same contents for everyone (I9). A client below the horizon
/// must be told to start over, and never gets a feed with gaps (I14). The check sees the responses before the network
/// can change them, and also reads the feed itself: see `World.followFeed`.
final class FeedOracle: ServerObserver {
    fileprivate struct State: Sendable {
        /// The version of each cursor that the server has issued.
        var versions: [Cursor: Version] = [:]
        /// The commits as the server first sent them.
        var commits: [SpaceID: [Version: Commit]] = [:]
        var heads: [SpaceID: Version] = [:]
        /// The horizon of each space, up to which the operator has removed commits.
        var horizons: [SpaceID: Version] = [:]
    }

    private let violations: ViolationLog
    private let state = Guarded(State())

    init(violations: ViolationLog) {
        self.violations = violations
    }

    /// Records that the operator has trimmed a feed. The feed's head must be known.
    func compacted(_ space: SpaceID, keeping count: Int) {
        state.withLock { state in
            let last = Version((state.heads[space]?.rawValue ?? 0) - Int64(count))
            state.horizons[space] = max(state.horizons[space] ?? .zero, last)
        }
    }

    /// Forgets everything, because the server was restored from a backup and a different history begins.
    func forget() {
        state.withLock { $0 = State() }
    }

    func pullAnswered(_ request: PullRequest, _ response: PullResponse, to asker: String, as principal: Principal) {
        state.withLock { state in
            do throws(Violation) {
                try state.check(request, response, asker)
            } catch {
                violations.report(error)
            }
        }
    }
}

extension FeedOracle.State {
    fileprivate mutating func check(
        _ request: PullRequest, _ response: PullResponse, _ asker: String
    ) throws(Violation) {
        let space = request.space
        let horizon = horizons[space] ?? .zero
        let known = request.cursor.flatMap { versions[$0] }
        switch response {
        case .mustReset(.epoch), .noAccess: return
        case .mustReset(.cursor):
            guard known == nil, request.cursor != nil else {
                throw Violation(
                    .I8, "\(asker) sent a cursor of \(space) that the server had issued, and the server refused it")
            }
        case .mustReset(.horizon):
            guard let known else {
                guard request.cursor == nil else { return }
                throw Violation(.I14, "\(asker) asked for a snapshot of \(space), and was told to begin again")
            }
            guard known < horizon else {
                throw Violation(
                    .I14,
                    "\(asker) is at version \(known) of \(space), not below the horizon \(horizon), and was reset")
            }
        case .page(let page):
            guard page.space == space else {
                throw Violation(.I21, "\(asker) asked for \(space) and was shown \(page.space)")
            }
            if let known, known < horizon {
                throw Violation(
                    .I14, "\(asker) is at version \(known) of \(space), below the horizon \(horizon), and was not told"
                )
            }
            if let head = heads[space], page.head < head {
                throw Violation(.I9, "the head of \(space) went back from \(head) to \(page.head)")
            }
            heads[space] = page.head
            guard page.version <= page.head else {
                throw Violation(
                    .I9, "\(asker) was shown version \(page.version) of \(space), whose head is \(page.head)")
            }
            if case .commits(let told) = page.content { try check(told, of: page, after: known, asker) }
            if case .snapshot(_, let isFirst, _) = page.content, isFirst != (request.cursor == nil) {
                throw Violation(
                    .I9, "\(asker) was shown the \(isFirst ? "beginning" : "rest") of a snapshot it is not in")
            }
            versions[page.cursor] = page.version
        }
    }

    private mutating func check(
        _ told: [Commit], of page: PullPage, after known: Version?, _ asker: String
    ) throws(Violation) {
        var reached = known
        for commit in told {
            if let reached, commit.version != reached.next {
                throw Violation(
                    .I9, "\(asker) was told of version \(commit.version) of \(page.space) after \(reached)")
            }
            reached = commit.version
            if let first = commits[page.space]?[commit.version], first != commit {
                throw Violation(.I9, "version \(commit.version) of \(page.space) was told in two ways")
            }
            commits[page.space, default: [:]][commit.version] = commit
        }
        if let reached, reached != page.version {
            throw Violation(
                .I9, "\(asker) was told up to \(reached) of \(page.space), and that this is \(page.version)")
        }
        if !page.hasMore, page.version != page.head {
            throw Violation(
                .I9, "\(asker) was told that \(page.version) of \(page.space) is all, and its head \(page.head)")
        }
    }
}
