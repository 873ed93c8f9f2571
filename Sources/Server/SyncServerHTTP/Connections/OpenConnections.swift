import Logging
import NIOCore
import NIOSSL
import SyncConcurrency

/// The open connections of the server. It enforces their limits, and lets a shutdown close the connections that do not
/// end otherwise.
///
/// A peer that disappeared without closing its connection never ends its request and never finishes a handshake, so
/// waiting for it could last forever.
final class OpenConnections: Sendable {
    typealias Table = ConnectionTable<ObjectIdentifier>

    private let state: Guarded<State>
    private let logger: Logger

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var table: Table
        /// The connections whose current request has arrived completely.
        var arrived: Set<ObjectIdentifier> = []
        var isClosed = false
        /// The number of connections that were cut or refused for lack of room.
        var turnedAway = 0
    }

    init(limits: Table.Limits, logger: Logger) {
        state = Guarded(State(table: Table(limits: limits)))
        self.logger = logger
    }

    var count: Int { state.withLock { $0.channels.count } }

    /// The number of connections that were closed or refused for lack of room, since the start.
    var turnedAway: Int { state.withLock { $0.turnedAway } }

    /// Registers a connection until it is closed.
    ///
    /// If there is no room, another connection or this one is cut. After `closeAll()`, this one is cut.
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
        // Log at each doubling only, so that a flood of connections does not cause a flood of messages.
        if turnedAway > 0, turnedAway & (turnedAway - 1) == 0 {
            logger.warning(
                "a connection was closed to make room; see listen.connections and listen.connections-per-address",
                metadata: ["closed so far": "\(turnedAway)"])
        }
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { state in
                state.channels[key] = nil
                state.arrived.remove(key)
                state.table.closed(key)
            }
        }
        if let unwanted { Self.cut(unwanted) }
    }

    // MARK: Events of the connections

    /// Notes that a request on the connection had a valid token.
    func authenticated(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        state.withLock { $0.table.authenticated(key) }
    }

    func requestBegan(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        state.withLock { state in
            state.arrived.remove(key)
            state.table.requestBegan(key)
        }
    }

    func requestArrived(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        state.withLock { state in
            // The server may have cut the connection in the meantime.
            if state.channels[key] != nil { state.arrived.insert(key) }
        }
    }

    /// Notes that the current request on the connection is an event stream, which may be cut to make room.
    func streamBegan(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        state.withLock { $0.table.streamBegan(key) }
    }

    func requestEnded(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        state.withLock { $0.table.requestEnded(key) }
    }

    /// Whether the current request on the connection has arrived completely, so that reading its body does not wait for
    /// the peer.
    func hasWholeRequest(_ channel: any Channel) -> Bool {
        let key = ObjectIdentifier(channel)
        return state.withLock { $0.arrived.contains(key) }
    }

    /// Closes all current and all later connections.
    func closeAll() {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { Self.cut(channel) }
    }

    /// Closes the socket without a TLS shutdown.
    ///
    /// A TLS shutdown would wait for the peer for seconds, and meanwhile read what the peer sends. A request that
    /// arrives then has no reader, and NIO terminates the process (https://github.com/apple/swift-nio/issues/3481).
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
