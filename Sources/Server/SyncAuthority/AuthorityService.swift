public import SyncConcurrency
public import SyncModel

/// The interface through which the HTTP routes and the in-process transport call the authority.
///
/// Each call is synchronous and may wait for a disk or a database, so call it on a thread that may block. Calls are
/// safe from any thread. When a call returns, its effects are durable. When it throws, it has had no effect, unless the
/// connection to a database was lost during the commit: then the effect is unknown, and a repeated push is safe (I2).
public protocol AuthorityService: Sendable {
    /// Returns the server's description of itself.
    ///
    /// - Parameter now: the time of the server's wall clock.
    func hello(for principal: Principal, now: WallTime) throws(AuthorityError) -> ServerHello

    /// Applies transactions in order, each exactly once. A transaction and its outcome are written in one database
    /// transaction.
    func push(
        _ request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PushResponse

    /// Returns the effects that the first transactions of a push would have now, for the application's rules. Writes
    /// nothing.
    func plan(_ push: PendingPush, now: WallTime) throws(AuthorityError) -> PushPlan

    /// Performs the first of several waiting pushes, and possibly some after it, which are then made durable together.
    ///
    /// Each push has the effect and the result that it would have alone, after those before it. A push with verdicts
    /// ends before the first transaction whose effects differ from those that were judged, or were not judged. If it is
    /// the first one, the response has no results.
    ///
    /// While it runs, the other pushes of the process wait. An authority that forwards pushes should perform several.
    ///
    /// - Parameter pushes: the waiting pushes, in the order of their arrival; at least one.
    /// - Returns: the results of the pushes that were performed, in the same order; at least one.
    func pushTogether(_ pushes: [PendingPush], now: WallTime) -> [Result<PushResponse, AuthorityError>]

    /// Returns the next page of changes in a space.
    func pull(
        _ request: PullRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PullResponse

    /// Returns one record; nil when there is no such record, or none that the principal may see.
    func fetch(
        _ request: FetchRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> Record?

    /// Returns those `spaces` that the principal may read, and so receive hints about their commits, in the same order.
    func readable(among spaces: [SpaceID], by principal: Principal) throws(AuthorityError) -> [SpaceID]

    /// Looks for damage in the whole store, which may take long. The health check calls it after a call has found
    /// damage.
    func checkStore(now: WallTime) throws(AuthorityError)

    /// Returns whether the store takes writes now, for the readiness of a server.
    func takesWrites() throws(AuthorityError) -> Bool

    /// A broadcast of the spaces that have new commits. It is published after the commits are durable.
    var commits: Broadcast<SpaceHeads> { get }
}

extension AuthorityService {
    /// Throws `unavailable`, for services that cannot compare a commit with the plan that the application's rules have
    /// judged.
    public func plan(_ push: PendingPush, now: WallTime) throws(AuthorityError) -> PushPlan {
        throw AuthorityError(.unavailable, "this server does not support rules of an application")
    }

    /// Performs the first push alone. Throws `unavailable` for a push with verdicts.
    public func pushTogether(_ pushes: [PendingPush], now: WallTime) -> [Result<PushResponse, AuthorityError>] {
        pushes.prefix(1).map { push in
            Result { () throws(AuthorityError) in
                guard push.verdicts == nil else {
                    throw AuthorityError(.unavailable, "this server does not support rules of an application")
                }
                return try self.push(push.request, by: push.principal, now: now)
            }
        }
    }

    /// Performs one waiting push.
    package func push(_ push: PendingPush, now: WallTime) throws(AuthorityError) -> PushResponse {
        guard let result = pushTogether([push], now: now).first else {
            throw AuthorityError(.unavailable, "the server has not performed the push")
        }
        return try result.get()
    }

    public func takesWrites() throws(AuthorityError) -> Bool { true }

    /// Only calls `hello`, which proves that the store can be read.
    public func checkStore(now: WallTime) throws(AuthorityError) {
        _ = try hello(for: Principal(name: "health check"), now: now)
    }

    /// Performs the call of a request.
    public func respond(
        to request: ServerRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> ServerResponse {
        switch request {
        case .hello: .hello(try hello(for: principal, now: now))
        case .push(let request): .push(try push(request, by: principal, now: now))
        case .pull(let request): .pull(try pull(request, by: principal, now: now))
        case .fetch(let request): .fetch(try fetch(request, by: principal, now: now))
        }
    }

    /// Returns the newest versions of those `spaces` that the principal may read, with which a stream of hints begins.
    public func heads(
        of spaces: [SpaceID], for principal: Principal, now: WallTime
    ) throws(AuthorityError) -> SpaceHeads {
        var heads: [SpaceID: Version] = [:]
        for space in try readable(among: spaces, by: principal) {
            let first = PullRequest(space: space, cursor: nil, limit: 1)
            if case .page(let page) = try pull(first, by: principal, now: now) { heads[space] = page.head }
        }
        return SpaceHeads(heads: heads)
    }
}

/// A push that waits to be performed.
public struct PendingPush: Sendable {
    /// The push as the client sent it, or a part of it.
    public let request: PushRequest
    /// The principal that pushes.
    public let principal: Principal
    /// The verdicts of the application's rules, by transaction number; nil for an application without rules. A
    /// transaction that already has an outcome needs none, and keeps its outcome.
    public let verdicts: [TransactionNumber: RuleVerdict]?
    /// The number of the first transaction of the client's push; nil if `request` is the whole push.
    public let start: TransactionNumber?
    /// The time at which the server received the push; nil if it has not waited since then. Its edits are older by the
    /// time that it has waited.
    public let received: WallTime?

    /// Creates a push without performing it.
    public init(
        request: PushRequest, principal: Principal, verdicts: [TransactionNumber: RuleVerdict]? = nil,
        start: TransactionNumber? = nil, received: WallTime? = nil
    ) {
        self.received = received
        self.request = request
        self.principal = principal
        self.verdicts = verdicts
        self.start = start
    }
}

/// The newest versions of some spaces: of those with new commits in a broadcast, of all requested ones at the start of
/// a stream of hints.
public struct SpaceHeads: Coalescing, Hashable, Sendable {
    /// The newest version of each space. A missing space has no new commits.
    public var heads: [SpaceID: Version]

    /// Creates a value from the newest version of each space.
    public init(heads: [SpaceID: Version]) {
        self.heads = heads
    }

    public mutating func absorb(_ later: SpaceHeads) {
        heads.merge(later.heads) { max($0, $1) }
    }
}

/// An error of the authority. A rejected transaction is a result, not an error.
public struct AuthorityError: Error, Hashable, Sendable {
    /// The reason, for programs.
    public let code: Code
    /// The message: what was wrong and what was expected. It contains no value of a record and no secret.
    public let message: String
    /// Details for the operator alone, in the server's log: they may name files. Never sent to a client.
    public let detail: String?
    /// The time after which the client should retry; nil when no time is known.
    public let retryAfter: Duration?
    /// Whether the store is damaged, so that its operator has to repair or restore it.
    public let isStoreDamaged: Bool
    /// Whether every other request would fail now, too: the store is locked or full, for example.
    let concernsAllRequests: Bool

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - message: what was wrong and what was expected, without secrets. Clients see it.
    ///   - detail: what only the operator may see.
    ///   - retryAfter: the time after which the client should retry; nil when no time is known.
    ///   - isStoreDamaged: whether the operator has to repair or restore the store.
    public init(
        _ code: Code, _ message: String, detail: String? = nil, retryAfter: Duration? = nil,
        isStoreDamaged: Bool = false
    ) {
        self.init(
            code, message, detail: detail, retryAfter: retryAfter, isStoreDamaged: isStoreDamaged,
            concernsAllRequests: false)
    }

    init(
        _ code: Code, _ message: String, detail: String?, retryAfter: Duration?, isStoreDamaged: Bool,
        concernsAllRequests: Bool
    ) {
        self.isStoreDamaged = isStoreDamaged
        self.concernsAllRequests = concernsAllRequests
        self.code = code
        self.message = message
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// The reasons, from which a server derives its response to the client.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The request names a different account than the principal's.
        case otherAccount
        /// The request violates the protocol: for example, by a negative limit.
        case malformed
        /// The request exceeds the limits that `hello` reports.
        case tooLarge
        /// The account stores as much as it may.
        case quotaExceeded
        /// The store is temporarily unavailable: for example, the disk is full, or the database is busy.
        case unavailable
    }
}

extension AuthorityError: CustomStringConvertible {
    /// For the operator: the details as well.
    public var description: String { detail.map { "\(message): \($0)" } ?? message }
}
