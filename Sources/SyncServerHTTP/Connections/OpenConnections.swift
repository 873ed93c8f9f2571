import NIOCore
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
        guard !isTooLate else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { [self] _ in state.withLock { $0.channels[key] = nil } }
    }

    /// Closes all connections, and those that come later.
    func closeAll() {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.close(promise: nil) }
    }
}
