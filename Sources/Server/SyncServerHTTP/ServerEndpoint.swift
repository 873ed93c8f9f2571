import NIOCore
import NIOPosix
import SyncAuthority
import SyncModel
import SyncWire

/// The calls of the protocol, with requests and responses as bytes. The authority runs on threads that may block.
struct ServerEndpoint: Sendable {
    let authority: any AuthorityService
    let catalog: SchemaCatalog
    let threads: NIOThreadPool
    let now: @Sendable () -> WallTime
    let review: (any TransactionReview)?
    /// The folder whose disk must have room for writes; nil for a store on another machine.
    let folder: String?
    private let pushes: PushQueue

    init(
        authority: any AuthorityService, catalog: SchemaCatalog, threads: NIOThreadPool,
        now: @escaping @Sendable () -> WallTime, review: (any TransactionReview)?, folder: String?
    ) {
        self.authority = authority
        self.catalog = catalog
        self.threads = threads
        self.now = now
        self.review = review
        self.folder = folder
        pushes = PushQueue(authority: authority, now: now)
    }

    /// Performs a call. Returns nil when the requested item does not exist, or the principal may not see it. The
    /// response does not distinguish the two.
    ///
    /// - Parameter metrics: the metrics in which to count the outcomes of a push; nil counts nothing.
    func respond(
        to call: ServerCall, _ body: [UInt8], by principal: Principal, _ metrics: RequestMetrics?
    ) async throws -> [UInt8]? {
        if call == .push { return try await push(body, by: principal, metrics) }
        return try await threads.runIfActive {
            let request = try ServerRequest.decode(body, of: call)
            let response = try authority.respond(to: request, by: principal, now: now())
            return try response.encode(to: request, catalog: catalog)
        }
    }

    /// Pushes, together with other pushes that wait, after the application has reviewed each transaction.
    private func push(
        _ body: [UInt8], by principal: Principal, _ metrics: RequestMetrics?
    ) async throws -> [UInt8]? {
        let received = now()
        let (request, response) =
            if let review {
                try await reviewed(body, by: principal, review, received: received)
            } else {
                try await queued {
                    PendingPush(request: try Self.push(in: body), principal: principal, received: received)
                }
            }
        metrics?.decided(response)
        return try PushCodec.encode(response, to: request)
    }

    private func reviewed(
        _ body: [UInt8], by principal: Principal, _ review: any TransactionReview, received: WallTime
    ) async throws -> (PushRequest, PushResponse) {
        let request = try await threads.runIfActive { try Self.push(in: body) }
        let push = ReviewedPush(
            principal: principal, received: received, uptime: { review.uptime() },
            plan: { part in try await threads.runIfActive { try authority.plan(part, now: now()) } },
            judge: { planned in try await review.rejection(of: planned, by: principal)?.shortened },
            commit: { part in try await queued { part }.response })
        return (request, try await push.response(to: request))
    }

    private static func push(in body: [UInt8]) throws(WireError) -> PushRequest {
        try PushCodec.decodeRequest(body)
    }

    /// Returns the push that `make` returns on a thread that may block, and the response to it. A push that takes
    /// several database transactions does not use the queue, so that small ones are performed between them.
    private func queued(
        _ make: @escaping @Sendable () throws -> PendingPush
    ) async throws -> (request: PushRequest, response: PushResponse) {
        try await withCheckedThrowingContinuation { continuation in
            threads.submit { state in
                guard state == .active else { return continuation.resume(throwing: CancellationError()) }
                do {
                    let push = try make()
                    let complete: PushQueue.Completion = { result in
                        continuation.resume(with: result.map { (push.request, $0) }.mapError { $0 as any Error })
                    }
                    if push.request.transactions.count > AuthorityLimits.transactionsPerWrite {
                        PushQueue.perform(push, with: authority, now: now(), completion: complete)
                    } else {
                        pushes.add(push, completion: complete)
                    }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// Returns the principal of a token. A blocking authenticator may read a file.
    func principal(bearing token: String, by authentication: Authentication) async throws -> Principal? {
        switch authentication {
        case .blocking(let authenticator):
            try await threads.runIfActive { authenticator.principal(bearing: token) }
        case .asynchronous(let authenticate): try await authenticate(token)
        case .webTokens(let webTokens, let authenticator):
            try await threads.runIfActive {
                authenticator.principal(bearing: token) ?? webTokens.principal(bearing: token)
            }
        }
    }

    /// Reads from the store. The future fails when the read fails or finds damage, and with `NoWrites`.
    func checkStore(_ extent: StoreHealth.Extent) -> EventLoopFuture<Void> {
        threads.runIfActive(eventLoop: MultiThreadedEventLoopGroup.singleton.any()) {
            switch extent {
            case .state:
                _ = try authority.hello(for: Self.inspector, now: now())
                if let folder, !DiskSpace.hasRoom(in: folder) { throw StoreHealth.NoWrites.disk }
                guard try authority.takesWrites() else { throw StoreHealth.NoWrites.readOnly }
            case .wholeStore: try authority.checkStore(now: now())
            }
        }
    }

    /// The principal for health checks. No token file can name it, because its name contains a space.
    private static let inspector = Principal(name: "health check")

    /// Returns the newest versions of the spaces.
    func heads(of spaces: [SpaceID], for principal: Principal) async throws -> SpaceHeads {
        try await threads.runIfActive { try authority.heads(of: spaces, for: principal, now: now()) }
    }

    /// Returns those `spaces` that the principal may read.
    func readable(among spaces: [SpaceID], to principal: Principal) async throws -> [SpaceID] {
        try await threads.runIfActive { try authority.readable(among: spaces, by: principal) }
    }
}
