import Logging
import NIOCore
import NIOSSL
import SyncConcurrency

/// The connections that are open: within their bounds, and so that a shutdown can end those that do not end by themselves.
///
/// A peer that has gone without a word answers no GOAWAY and finishes no handshake: waiting for it would last forever.
final class OpenConnections: Sendable {
    typealias Table = ConnectionTable<ObjectIdentifier>

    private let state: Guarded<State>
    private let logger: Logger

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var table: Table
        var isClosed = false
        /// Connections that were cut or refused for want of room.
        var turnedAway = 0
    }

    init(limits: Table.Limits, logger: Logger) {
        state = Guarded(State(table: Table(limits: limits)))
        self.logger = logger
    }

    var count: Int { state.withLock { $0.channels.count } }

    /// Remembers a connection until it is closed. Where there is no room it cuts another one, or this one; after
    /// `closeAll()` it cuts this one.
    func add(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        let address = PeerAddress(channel.remoteAddress)
        let (unwanted, turnedAway) = state.withLock { state -> ((any Channel)?, Int) in
            guard !state.isClosed else { return (channel, 0) }
            switch state.table.admit(key, from: address) {
            case .admitted:
                state.channels[key] = channel
                return (nil, 0)
            case .admittedInstead(of: let other):
                state.channels[key] = channel
                state.turnedAway += 1
                return (state.channels.removeValue(forKey: other), state.turnedAway)
            case .refused:
                state.turnedAway += 1
                return (channel, state.turnedAway)
            }
        }
        // At each doubling: a flood of connections is no flood of lines.
        if turnedAway > 0, turnedAway & (turnedAway - 1) == 0 {
            logger.warning(
                "a connection was closed to make room; see listen.connections and listen.connections-per-address",
                metadata: ["closed so far": "\(turnedAway)"])
        }
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { state in
                state.channels[key] = nil
                state.table.closed(key)
            }
        }
        if let unwanted { Self.cut(unwanted) }
    }

    // MARK: What the connections do

    /// A request on the connection has shown a good token.
    func authenticated(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        state.withLock { $0.table.authenticated(key) }
    }

    func requestBegan(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        state.withLock { $0.table.requestBegan(key) }
    }

    func requestEnded(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        state.withLock { $0.table.requestEnded(key) }
    }

    func isStranger(_ channel: any Channel) -> Bool {
        let key = ObjectIdentifier(channel)
        return state.withLock { $0.table.isStranger(key) }
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
    static func cut(_ channel: any Channel) {
        channel.eventLoop.execute {
            if let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                tls.close(promise: nil)
            } else {
                channel.close(promise: nil)
            }
        }
    }
}
