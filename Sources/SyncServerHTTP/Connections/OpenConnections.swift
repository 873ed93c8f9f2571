import NIOCore
import NIOSSL
import SyncConcurrency

/// The connections that are open, so that a shutdown can end those that do not end by themselves.
///
/// A peer that has gone without a word answers no GOAWAY and finishes no handshake: waiting for it would last for ever.
final class OpenConnections: Sendable {
    private let state = Guarded(State())

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }

    /// Remembers a connection until it is closed. After `closeAll()` it is closed at once.
    func add(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        let isTooLate = state.withLock { state in
            if !state.isClosed { state.channels[key] = channel }
            return state.isClosed
        }
        guard !isTooLate else { return Self.cut(channel) }
        channel.closeFuture.whenComplete { [self] _ in state.withLock { $0.channels[key] = nil } }
    }

    /// Closes all connections, and those that come later.
    func closeAll() {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { Self.cut(channel) }
    }

    /// Closes the socket, past TLS. That would wait for seconds for the peer's word, and read what the peer sends meanwhile: a
    /// request that nobody takes any more, over which NIO ends the process (https://github.com/apple/swift-nio/issues/3481).
    private static func cut(_ channel: any Channel) {
        channel.eventLoop.execute {
            if let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                tls.close(promise: nil)
            } else {
                channel.close(promise: nil)
            }
        }
    }
}
