package import SyncAuthority
package import SyncModel
import SyncWire

/// A call of the protocol that consists of one request and one reply.
package enum ServerCall: String, Hashable, Sendable, CaseIterable {
    case hello, push, pull, fetch
}

/// The server's side of the in-process transport, which exchanges bytes like the routes of an HTTP server.
package struct AuthorityEndpoint: Sendable {
    package let authority: any AuthorityService
    package let catalog: SchemaCatalog
    package let principal: Principal
    let now: @Sendable () -> WallTime

    package init(
        authority: any AuthorityService, catalog: SchemaCatalog, principal: Principal,
        now: @escaping @Sendable () -> WallTime
    ) {
        self.authority = authority
        self.catalog = catalog
        self.principal = principal
        self.now = now
    }

    /// Performs a call as `principal`. Returns nil when the requested record does not exist.
    ///
    /// Throws an `AuthorityFailure`, or a `WireError` when the request cannot be decoded.
    package func answer(_ call: ServerCall, _ body: [UInt8]) throws -> [UInt8]? {
        switch call {
        case .hello:
            return HelloCodec.encode(try authority.hello(for: principal, now: now()))
        case .push:
            let request = try PushCodec.decodeRequest(body)
            return try PushCodec.encode(authority.push(request, by: principal, now: now()))
        case .pull:
            let request = try PullCodec.decodeRequest(body)
            return try PullCodec.encode(authority.pull(request, by: principal, now: now()), catalog: catalog)
        case .fetch:
            let request = try FetchCodec.decodeRequest(body)
            guard let record = try authority.fetch(request, by: principal, now: now()) else { return nil }
            return try FetchCodec.encode(record, of: request.collection, catalog: catalog)
        }
    }
}
