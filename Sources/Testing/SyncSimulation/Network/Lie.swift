import SyncCore
import SyncModel

/// A false response of a hostile or broken server, in valid protocol form.
///
/// A lie contradicts something that the device knows, or would keep the device busy forever. No lie shows a value that
/// the server does not have, because a device has no means to verify values.
public enum Lie: String, Hashable, Sendable, CaseIterable {
    /// A page returns the cursor of its request and claims that more follows.
    case standingCursor
    /// A page has no content, returns the cursor of its request, and claims that more follows.
    case emptyPage
    /// The first page of the space that the device received comes again and claims that more follows.
    case cyclingPages
    /// A page omits a commit.
    case missingCommit
    /// A page contains a commit twice.
    case repeatedCommit
    /// A page claims a head that is older than the page's own version.
    case headBehind
    /// A page belongs to a space other than the requested one.
    case otherSpace
    /// The response to a push contains the outcome of a transaction that was not in the push.
    case unknownTransaction
    /// A transaction is reported as applied at a version that the space does not have.
    case impossibleVersion
    /// HTTP 400 in the server's own form, for each push that contains one of certain transactions.
    case refusal
    /// HTTP 403 in the server's own form, for each push that contains one of certain transactions.
    case prohibition
    /// The server performs a push and then refuses it, as if its first number were used with other contents.
    case identityConflict
    /// The last page of a snapshot claims a head that the server does not have.
    case headAhead
    /// A page has a cursor of another history.
    case otherCursor

    /// The lies that `Rates.lie` draws from. A lie that was added later has another rate, so that the worlds of
    /// existing seeds stay the same.
    static let drawn = allCases.filter { $0 != .identityConflict && !claims.contains($0) }
    /// The lies that `Rates.falseClaim` draws from.
    static let claims: [Lie] = [.headAhead, .otherCursor]

    /// Returns whether the lie affects the response to this call.
    func applies(to call: ServerRequest) -> Bool {
        switch (self, call) {
        case (.unknownTransaction, .push), (.impossibleVersion, .push), (.identityConflict, .push): true
        case (.refusal, .push(let request)), (.prohibition, .push(let request)):
            request.transactions.contains(where: Self.displeases)
        case (.unknownTransaction, _), (.impossibleVersion, _), (.refusal, _), (.prohibition, _),
            (.identityConflict, _):
            false
        case (_, .pull): true
        case (_, .hello), (_, .push), (_, .fetch): false
        }
    }

    /// The failure returned without performing the call; nil when the server performs it first.
    var failure: TransportError? {
        switch self {
        case .refusal: TransportError(.refused, "this transaction is malformed", isDefinite: true)
        case .prohibition: TransportError(.forbidden, "this transaction is not allowed", isDefinite: true)
        case .standingCursor, .emptyPage, .cyclingPages, .missingCommit, .repeatedCommit, .headBehind, .otherSpace,
            .unknownTransaction, .impossibleVersion, .identityConflict, .headAhead, .otherCursor:
            nil
        }
    }

    /// Returns whether the server refuses a transaction.
    ///
    /// The same transactions are refused each time, about one in four, so that a device can find out which ones.
    static func displeases(_ numbered: NumberedTransaction) -> Bool {
        numbered.hash.rawValue.utf8.first.map { $0 < UInt8(ascii: "4") } ?? false
    }

    /// Returns the response with the lie in it, or the true response where the lie does not apply.
    ///
    /// - Parameter first: the first page of this space that the device received.
    func told(_ truth: ServerResponse, to call: ServerRequest, first: PullPage?) -> ServerResponse {
        switch (truth, call) {
        case (.pull(.page(let page)), .pull(let request)):
            return .pull(.page(told(page, to: request, first: first ?? page)))
        case (.push(.answered), .push(let request)) where self == .identityConflict:
            guard let first = request.transactions.first else { return truth }
            return .push(.refused(.identityConflict(number: first.number)))
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
        case .headAhead:
            guard case .snapshot(_, _, isLast: true) = page.content else { return page }
            return page.with(head: Version(page.head.rawValue + 1_000_000))
        case .otherCursor:
            let epoch = page.epoch.rawValue
            return page.with(
                cursor: Cursor(rawValue: page.cursor.rawValue.replacing(epoch, with: "\(epoch)x", maxReplacements: 1)))
        case .otherSpace: return page.with(space: page.space == .default ? "north" : .default)
        case .unknownTransaction, .impossibleVersion, .refusal, .prohibition, .identityConflict: return page
        }
    }

    private func told(_ results: [TransactionResult], to request: PushRequest) -> [TransactionResult] {
        guard let last = results.last else { return results }
        switch self {
        case .unknownTransaction:
            let next = TransactionNumber(last.number.rawValue + Int64(request.transactions.count) + 1)
            return results + [TransactionResult(number: next, outcome: last.outcome)]
        case .impossibleVersion:
            // An outcome without a receipt is a repeated one. A false version in a repeated outcome would make the
            // device show its own older value until it notices the lie.
            guard case .applied(let version, let uids, let conflicts) = last.outcome, let receipt = last.receipt else {
                return results
            }
            let outcome = Outcome.applied(
                version: Version(version.rawValue + 1_000_000), uids: uids, conflicts: conflicts)
            return results.dropLast() + [TransactionResult(number: last.number, outcome: outcome, receipt: receipt)]
        case .standingCursor, .emptyPage, .cyclingPages, .missingCommit, .repeatedCommit, .headBehind, .otherSpace,
            .refusal, .prohibition, .identityConflict, .headAhead, .otherCursor:
            return results
        }
    }
}

extension PullPage {
    /// Returns a copy of the page with the given properties replaced.
    fileprivate func with(
        _ content: Content? = nil, space: SpaceID? = nil, cursor: Cursor? = nil, head: Version? = nil,
        hasMore: Bool? = nil
    ) -> PullPage {
        PullPage(
            space: space ?? self.space, epoch: epoch, serverTime: serverTime, content: content ?? self.content,
            cursor: cursor ?? self.cursor, version: version, head: head ?? self.head,
            hasMore: hasMore ?? self.hasMore, notices: notices, hasMoreNotices: hasMoreNotices,
            noticesRemovedUpTo: noticesRemovedUpTo)
    }
}
