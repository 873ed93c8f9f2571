import NIOCore
import NIOPosix
import SyncConcurrency

/// A router that can silently drop its connections to a server: they stay open but no longer carry data.
struct ForgetfulRouter: Sendable {
    /// The number of times that connections were dropped. A connection from an earlier generation carries nothing.
    private let generation: Guarded<Int>
    /// Yields an element when data arrives on a dropped connection.
    let dropped: AsyncStream<Void>
    private let drop: AsyncStream<Void>.Continuation

    private init() {
        generation = Guarded(0)
        (dropped, drop) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Forwards data between a port of the router and the port `server` while `body` runs.
    static func run<Result>(
        to server: Int, _ body: (_ router: ForgetfulRouter, _ port: Int) async throws -> Result
    ) async throws -> Result {
        let router = ForgetfulRouter()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { router.connect($0, to: server) }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(router, listener.localAddress?.port ?? 0)
            try await listener.close()
            return result
        } catch {
            try await listener.close()
            throw error
        }
    }

    /// Drops all current connections without notifying either side.
    func forget() {
        generation.withLock { $0 += 1 }
    }

    private func connect(_ client: any Channel, to port: Int) -> EventLoopFuture<Void> {
        let openedIn = generation.withLock { $0 }
        let carries: @Sendable () -> Bool = {
            guard generation.withLock({ $0 }) != openedIn else { return true }
            drop.yield()
            return false
        }
        return ClientBootstrap(group: client.eventLoop)
            .channelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    try server.pipeline.syncOperations.addHandler(Carrier(to: client, carries))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .flatMapThrowing { server in
                try client.pipeline.syncOperations.addHandler(Carrier(to: server, carries))
            }
    }
}

private final class Carrier: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let carries: () -> Bool

    init(to other: any Channel, _ carries: @escaping () -> Bool) {
        self.other = other
        self.carries = carries
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard carries() else { return }
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
