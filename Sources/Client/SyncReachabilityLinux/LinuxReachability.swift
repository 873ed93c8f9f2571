public import SyncConcurrency
public import SyncCore

/// Follows the links and routes of a Linux machine through rtnetlink.
///
/// Changes are published within milliseconds, and watching costs nothing while there are none. If the kernel does not
/// report links, as in a sandbox without netlink, the network counts as up, and the server's response decides.
public final class LinuxReachability: Reachability {
    public let changes = Broadcast<LinkState>()
    private let serverIsLoopback: Bool
    private let state: Guarded<LinkState>

    /// Creates a watch, and reads the current state of the links.
    ///
    /// - Parameter serverIsLoopback: Whether the server runs on this machine, which needs no link. The state is then
    ///   always up.
    public init(serverIsLoopback: Bool) {
        self.serverIsLoopback = serverIsLoopback
        state = Guarded(serverIsLoopback ? .up : Self.currentState())
    }

    public var current: LinkState { state.withLock { $0 } }

    /// Watches on a separate thread until the task is cancelled. If the server runs on this machine, there is nothing
    /// to watch.
    ///
    /// - Throws: `NetlinkError` or `CancellationError`.
    public func run() async throws {
        guard !serverIsLoopback else {
            for await _ in AsyncStream<Never>.makeStream().stream {}
            throw CancellationError()
        }
        let wake: WakeSignal
        do throws(NetlinkError) {
            wake = try WakeSignal()
        } catch {
            report(.up, always: false)
            throw error
        }
        let isStopped = Guarded(false)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                do throws(NetlinkError) {
                    try WatchThread.start { [self] in
                        done.resume(with: Result { try watch(until: { isStopped.withLock { $0 } }, wake) })
                    }
                } catch {
                    report(.up, always: false)
                    done.resume(throwing: error)
                }
            }
        } onCancel: {
            isStopped.withLock { $0 = true }
            wake.ring()
        }
        try Task.checkCancellation()
    }

    private func watch(until isStopped: () -> Bool, _ wake: WakeSignal) throws(NetlinkError) {
        do throws(NetlinkError) {
            try follow(until: isStopped, wake)
        } catch {
            // No one will report when a link comes back, so count the network as up.
            report(.up, always: false)
            throw error
        }
    }

    /// Processes the kernel's messages until stopped, sleeping in the kernel in between.
    private func follow(until isStopped: () -> Bool, _ wake: WakeSignal) throws(NetlinkError) {
        let socket = try NetlinkSocket()
        var table = try Self.list(socket)
        report(table.state, always: false)
        while !isStopped() {
            switch try socket.receive(within: nil, until: wake) {
            case .overrun:
                table = try Self.list(socket)
                report(table.state, always: true)
            case .messages(let messages):
                guard !messages.isEmpty else { continue }
                let routes = table.routes
                for message in messages { table.note(message) }
                report(table.state, always: routes != table.routes)
            }
        }
    }

    /// Publishes a change of the state. With `always`, publishes even an unchanged state, because new routes justify
    /// another attempt.
    private func report(_ new: LinkState, always: Bool) {
        let isNew = state.withLock { state in
            defer { state = new }
            return state != new
        }
        if isNew || always { changes.publish(new) }
    }

    private static func list(_ socket: borrowing NetlinkSocket) throws(NetlinkError) -> LinkTable {
        try LinkTable.listed { what throws(NetlinkError) in
            try socket.list(what)
        } receiving: { () throws(NetlinkError) in
            try socket.receive(within: 200, until: nil)
        }
    }

    private static func currentState() -> LinkState {
        guard let socket = try? NetlinkSocket(), let table = try? list(socket) else { return .up }
        return table.state
    }
}
