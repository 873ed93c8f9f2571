package import SyncCore
package import SyncModel
import SyncWire

/// The client's side of a transport that exchanges bytes: encodes requests and decodes replies.
package struct ByteClient: Sendable {
    package let catalog: SchemaCatalog
    /// Sends the body of a call and returns the body of its reply; nil when the requested record does not exist.
    package let exchange: @Sendable (ServerCall, [UInt8]) async throws(TransportFailure) -> [UInt8]?

    package init(
        catalog: SchemaCatalog,
        exchange: @escaping @Sendable (ServerCall, [UInt8]) async throws(TransportFailure) -> [UInt8]?
    ) {
        self.catalog = catalog
        self.exchange = exchange
    }

    package func hello() async throws(TransportFailure) -> ServerHello {
        let reply = try await reply(to: .hello, [])
        return try Self.reading { () throws(WireError) in try HelloCodec.decode(reply) }
    }

    package func push(_ request: PushRequest) async throws(TransportFailure) -> PushReply {
        let body = try Self.writing { () throws(WireError) in try PushCodec.encode(request) }
        let reply = try await reply(to: .push, body)
        return try Self.reading { () throws(WireError) in try PushCodec.decodeReply(reply) }
    }

    package func pull(_ request: PullRequest) async throws(TransportFailure) -> PullReply {
        let reply = try await reply(to: .pull, PullCodec.encode(request))
        return try Self.reading { () throws(WireError) in try PullCodec.decodeReply(reply, catalog: catalog) }
    }

    package func fetch(_ request: FetchRequest) async throws(TransportFailure) -> Record? {
        guard let reply = try await exchange(.fetch, FetchCodec.encode(request)) else { return nil }
        return try Self.reading { () throws(WireError) in
            try FetchCodec.decodeReply(reply, to: request, catalog: catalog)
        }
    }

    private func reply(to call: ServerCall, _ body: [UInt8]) async throws(TransportFailure) -> [UInt8] {
        guard let reply = try await exchange(call, body) else {
            throw TransportFailure(.notUnderstood, "\(call.rawValue): no reply, one expected")
        }
        return reply
    }

    private static func writing<Value>(_ body: () throws(WireError) -> Value) throws(TransportFailure) -> Value {
        do throws(WireError) { return try body() } catch { throw TransportFailure(unwritableRequest: error) }
    }

    private static func reading<Value>(_ body: () throws(WireError) -> Value) throws(TransportFailure) -> Value {
        do throws(WireError) { return try body() } catch { throw TransportFailure(unreadableReply: error) }
    }
}
