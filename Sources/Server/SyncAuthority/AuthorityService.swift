public import SyncConcurrency
public import SyncModel

/// The server's policy, as its routes and the in-process transport call it.
///
/// Each call is synchronous and may wait for a disk or a database: call it on a thread that may block. Safe to call
/// from any thread. It has happened, durably, when it returns; when it throws, nothing has.
public protocol AuthorityService: Sendable {
    /// - Parameter now: the server's wall clock.
    func hello(for principal: Principal, now: WallTime) throws(AuthorityFailure) -> ServerHello

    /// Applies transactions in order, each exactly once, each in one database transaction with its outcome.
    func push(
        _ request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityFailure) -> PushReply

    /// Does the same, and rejects the transactions of some numbers.
    ///
    /// - Parameter rejections: the application's verdicts. A transaction that was decided before keeps its outcome all the same.
    func push(
        _ request: PushRequest, by principal: Principal, now: WallTime,
        rejecting rejections: [TransactionNumber: Rejection]
    ) throws(AuthorityFailure) -> PushReply

    func pull(
        _ request: PullRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityFailure) -> PullReply

    /// One record; nil when there is none, or none that the principal may see.
    func fetch(
        _ request: FetchRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityFailure) -> Record?

    /// Whether the principal may be told of commits in the space.
    func mayRead(_ space: SpaceID, _ principal: Principal) -> Bool

    /// Tells which spaces have new commits, after they are durable.
    var commits: Broadcast<SpaceHeads> { get }
}

extension AuthorityService {
    /// Throws `unavailable` when there is something to reject: this service cannot.
    public func push(
        _ request: PushRequest, by principal: Principal, now: WallTime,
        rejecting rejections: [TransactionNumber: Rejection]
    ) throws(AuthorityFailure) -> PushReply {
        guard rejections.isEmpty else {
            throw AuthorityFailure(.unavailable, "this server cannot reject for the application")
        }
        return try push(request, by: principal, now: now)
    }

    /// The newest versions of those of `spaces` that the principal may read: what a stream of hints begins with.
    public func heads(
        of spaces: [SpaceID], for principal: Principal, now: WallTime
    ) throws(AuthorityFailure) -> SpaceHeads {
        var heads: [SpaceID: Version] = [:]
        for space in spaces where mayRead(space, principal) {
            let first = PullRequest(space: space, cursor: nil, limit: 1)
            if case .page(let page) = try pull(first, by: principal, now: now) { heads[space] = page.head }
        }
        return SpaceHeads(heads: heads)
    }
}

/// The newest versions of the spaces in which something was committed.
public struct SpaceHeads: Coalescing, Hashable, Sendable {
    public var heads: [SpaceID: Version]

    public init(heads: [SpaceID: Version]) {
        self.heads = heads
    }

    public mutating func absorb(_ later: SpaceHeads) {
        heads.merge(later.heads) { max($0, $1) }
    }
}

/// Why the authority did not do what it was asked. A rejected transaction is a result, not a failure.
public struct AuthorityFailure: Error, Hashable, Sendable {
    public let code: Code
    /// Says what was wrong and what was expected. Holds no value of a record and no secret.
    public let message: String
    public let retryAfter: Duration?

    public init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The request is on behalf of another account than the principal's.
        case otherAccount
        /// The request breaks the protocol: a cursor that this server did not make, a negative limit.
        case malformed
        /// The request is larger than the limits that `hello` tells.
        case tooLarge
        /// The store cannot be used just now: the disk is full, the database is busy.
        case unavailable
    }
}

extension AuthorityFailure: CustomStringConvertible {
    public var description: String { message }
}
