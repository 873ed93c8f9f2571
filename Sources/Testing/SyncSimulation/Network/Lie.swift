import SyncCore
import SyncModel

/// A lie of a hostile or broken server, told in the protocol's own form.
///
/// A lie contradicts something that the device knows, or would keep it busy without end. None of them shows a value that the
/// server does not have: a device has no means to doubt values.
public enum Lie: String, Hashable, Sendable, CaseIterable {
    /// A page leads back to where it began, and says that more follows.
    case standingCursor
    /// A page has no content, leads back to where it began, and says that more follows.
    case emptyPage
    /// The first page that the device was shown comes again, and says that more follows.
    case cyclingPages
    /// A commit of a page is left out.
    case missingCommit
    /// A commit of a page comes twice.
    case repeatedCommit
    /// The newest version of the space is said to lie before the one that the page leads to.
    case headBehind
    /// A page is of another space than the one that was asked for.
    case otherSpace
    /// A push is answered with the outcome of a transaction that was not in it.
    case unknownTransaction
    /// A transaction is said to have taken effect at a version that the space does not have.
    case impossibleVersion
    /// 400 in the server's own form, to each push with one of some transactions.
    case refusal
    /// 403 in the server's own form, to each push with one of some transactions.
    case prohibition

    /// Whether it concerns what the server answers to this call.
    func applies(to call: ServerCall) -> Bool {
        switch (self, call) {
        case (.unknownTransaction, .push), (.impossibleVersion, .push): true
        case (.refusal, .push(let request)), (.prohibition, .push(let request)):
            request.transactions.contains(where: Self.displeases)
        case (.unknownTransaction, _), (.impossibleVersion, _), (.refusal, _), (.prohibition, _): false
        case (_, .pull): true
        case (_, .hello), (_, .push), (_, .fetch): false
        }
    }

    /// The answer that is given in place of doing what was asked; nil when the server does that first.
    var failure: TransportFailure? {
        switch self {
        case .refusal: TransportFailure(.refused, "this transaction is malformed", isDefinite: true)
        case .prohibition: TransportFailure(.forbidden, "this transaction is not allowed", isDefinite: true)
        case .standingCursor, .emptyPage, .cyclingPages, .missingCommit, .repeatedCommit, .headBehind, .otherSpace,
            .unknownTransaction, .impossibleVersion:
            nil
        }
    }

    /// The same transactions are refused each time, about one in four, so that a device can find out which.
    static func displeases(_ numbered: NumberedTransaction) -> Bool {
        numbered.hash.rawValue.utf8.first.map { $0 < UInt8(ascii: "4") } ?? false
    }

    /// Returns the answer with the lie in it; the true one, where there is nothing to lie about.
    ///
    /// - Parameter first: the first page of this space that the device was shown.
    func told(_ truth: ServerAnswer, to call: ServerCall, first: PullPage?) -> ServerAnswer {
        switch (truth, call) {
        case (.pull(.page(let page)), .pull(let request)):
            return .pull(.page(told(page, to: request, first: first ?? page)))
        case (.push(.answered(let results, let epoch, let time)), .push(let request)):
            return .push(.answered(told(results, to: request), epoch: epoch, serverTime: time))
        default: return truth
        }
    }

    private func told(_ page: PullPage, to request: PullRequest, first: PullPage) -> PullPage {
        switch self {
        case .standingCursor:
            return request.cursor.map { page.with(cursor: $0, hasMore: true) } ?? page
        case .emptyPage:
            let nothing: PullPage.Content =
                switch page.content {
                case .commits: .commits([])
                case .snapshot(_, let isFirst, _): .snapshot([], isFirst: isFirst, isLast: false)
                }
            return page.with(nothing, cursor: request.cursor, hasMore: true)
        case .cyclingPages: return first.with(hasMore: true)
        case .missingCommit:
            guard case .commits(let commits) = page.content, !commits.isEmpty else { return page }
            return page.with(.commits(Array(commits.dropFirst())))
        case .repeatedCommit:
            guard case .commits(let commits) = page.content, let last = commits.last else { return page }
            return page.with(.commits(commits + [last]))
        case .headBehind:
            guard page.version > .zero else { return page }
            return page.with(head: Version(page.version.rawValue - 1))
        case .otherSpace: return page.with(space: page.space == .default ? "north" : .default)
        case .unknownTransaction, .impossibleVersion, .refusal, .prohibition: return page
        }
    }

    private func told(_ results: [TransactionResult], to request: PushRequest) -> [TransactionResult] {
        guard let last = results.last else { return results }
        switch self {
        case .unknownTransaction:
            let next = TransactionNumber(last.number.rawValue + Int64(request.transactions.count) + 1)
            return results + [TransactionResult(number: next, outcome: last.outcome)]
        case .impossibleVersion:
            // Without a receipt it is a repeated outcome, and the device would show its own older value until it finds out.
            guard case .applied(let version, let uids, let conflicts) = last.outcome, let receipt = last.receipt else {
                return results
            }
            let outcome = Outcome.applied(
                version: Version(version.rawValue + 1_000_000), uids: uids, conflicts: conflicts)
            return results.dropLast() + [TransactionResult(number: last.number, outcome: outcome, receipt: receipt)]
        case .standingCursor, .emptyPage, .cyclingPages, .missingCommit, .repeatedCommit, .headBehind, .otherSpace,
            .refusal, .prohibition:
            return results
        }
    }
}

extension PullPage {
    /// The same page, but for what is given.
    fileprivate func with(
        _ content: Content? = nil, space: SpaceID? = nil, cursor: Cursor? = nil, head: Version? = nil,
        hasMore: Bool? = nil
    ) -> PullPage {
        PullPage(
            space: space ?? self.space, epoch: epoch, serverTime: serverTime, content: content ?? self.content,
            cursor: cursor ?? self.cursor, version: version, head: head ?? self.head,
            hasMore: hasMore ?? self.hasMore, notices: notices, hasMoreNotices: hasMoreNotices)
    }
}
