import NIOCore
import NIOPosix
import SyncAuthority
import SyncModel
import SyncWire

/// The calls of the protocol as bytes in, bytes out. The authority works on threads that may block.
struct ServerEndpoint: Sendable {
    let authority: any AuthorityService
    let catalog: SchemaCatalog
    let threads: NIOThreadPool
    let now: @Sendable () -> WallTime
    let review: (any TransactionReview)?

    func hello(_ principal: Principal) async throws -> [UInt8] {
        try await threads.runIfActive {
            HelloCodec.encode(try authority.hello(for: principal, now: now()))
        }
    }

    func push(_ body: [UInt8], by principal: Principal) async throws -> [UInt8] {
        guard let review else {
            return try await threads.runIfActive {
                let request = try PushCodec.decodeRequest(body)
                return try PushCodec.encode(authority.push(request, by: principal, now: now()))
            }
        }
        let request = try await threads.runIfActive { try PushCodec.decodeRequest(body) }
        let reader = RecordReader { space, collection, id in
            let request = FetchRequest(space: space, collection: collection, key: .id(id))
            return try await threads.runIfActive { try authority.fetch(request, by: principal, now: now()) }
        }
        var rejections: [TransactionNumber: Rejection] = [:]
        for numbered in request.transactions {
            rejections[numbered.number] = try await review.rejection(
                of: numbered.transaction, by: principal, records: reader)
        }
        return try await threads.runIfActive { [rejections] in
            try PushCodec.encode(authority.push(request, by: principal, now: now(), rejecting: rejections))
        }
    }

    func pull(_ body: [UInt8], by principal: Principal) async throws -> [UInt8] {
        try await threads.runIfActive {
            let request = try PullCodec.decodeRequest(body)
            return try PullCodec.encode(authority.pull(request, by: principal, now: now()), catalog: catalog)
        }
    }

    /// Nil when there is no such record, or none that the principal may see: the answer is the same.
    func fetch(_ body: [UInt8], by principal: Principal) async throws -> [UInt8]? {
        try await threads.runIfActive {
            let request = try FetchCodec.decodeRequest(body)
            guard let record = try authority.fetch(request, by: principal, now: now()) else { return nil }
            return try FetchCodec.encode(record, of: request.collection, catalog: catalog)
        }
    }

    /// Returns the principal of a token. The authenticator may read a file.
    func principal(bearing token: String, by authentication: Authentication) async throws -> Principal? {
        switch authentication {
        case .blocking(let authenticator):
            try await threads.runIfActive { authenticator.principal(bearing: token) }
        case .asynchronous(let authenticate): try await authenticate(token)
        }
    }

    /// Reads from the store; the result fails when that fails.
    func lookAtStore() -> EventLoopFuture<Void> {
        threads.runIfActive(eventLoop: MultiThreadedEventLoopGroup.singleton.any()) {
            _ = try authority.hello(for: Self.inspector, now: now())
        }
    }

    /// On whose behalf the store is looked at. No token names it: the name has a space.
    private static let inspector = Principal(name: "health check")

    /// The newest versions of the spaces.
    func heads(of spaces: [SpaceID], for principal: Principal) async throws -> SpaceHeads {
        try await threads.runIfActive { try authority.heads(of: spaces, for: principal, now: now()) }
    }

    /// Those of `spaces` of which the principal may be told.
    func readable(among spaces: [SpaceID], to principal: Principal) async throws -> [SpaceID] {
        try await threads.runIfActive { spaces.filter { authority.mayRead($0, principal) } }
    }
}
