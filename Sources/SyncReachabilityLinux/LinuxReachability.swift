import Dispatch
public import SyncConcurrency
public import SyncCore

/// Follows the links and routes of a Linux machine by rtnetlink: a change is told within milliseconds, and costs
/// nothing while there is none.
///
/// Where the kernel does not tell (a sandbox without netlink), the way counts as open, and the server decides.
public final class LinuxReachability: Reachability {
    public let changes = CoalescingFeed<LinkState>()
    private let serverIsLoopback: Bool
    private let state: Guarded<LinkState>

    /// - Parameter serverIsLoopback: whether the server is this machine itself, which needs no link: always up then.
    public init(serverIsLoopback: Bool) {
        self.serverIsLoopback = serverIsLoopback
        state = Guarded(serverIsLoopback ? .up : Self.currentState())
    }

    public var current: LinkState { state.withLock { $0 } }

    /// Watches until the task is cancelled, on a thread of its own.
    ///
    /// - Throws: `NetlinkFailure`, or `CancellationError`.
    public func run() async throws {
        let bell = try Bell()
        let isStopped = Guarded(false)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                let watch = { @Sendable [self] in
                    done.resume(with: Result { try follow(until: { isStopped.withLock { $0 } }, bell) })
                }
                DispatchQueue(label: "tombolo.links").async(execute: watch)
            }
        } onCancel: {
            isStopped.withLock { $0 = true }
            bell.ring()
        }
        try Task.checkCancellation()
    }

    /// Sleeps in the kernel until it has something to tell.
    private func follow(until isStopped: () -> Bool, _ bell: Bell) throws(NetlinkFailure) {
        let socket = try NetlinkSocket()
        var table = try Self.list(socket)
        publish(table, routesChanged: false)
        while !isStopped() {
            switch try socket.receive(within: nil, until: bell) {
            case .overrun:
                table = try Self.list(socket)
                publish(table, routesChanged: true)
            case .messages(let messages):
                guard !messages.isEmpty else { continue }
                let hadRoute = table.hasDefaultRoute
                for message in messages { table.note(message) }
                publish(table, routesChanged: hadRoute != table.hasDefaultRoute)
            }
        }
    }

    /// Tells a change; a new default route too, because it is worth another try.
    private func publish(_ table: LinkTable, routesChanged: Bool) {
        guard !serverIsLoopback else { return }
        let new = table.state
        let isNew = state.withLock { state in
            defer { state = new }
            return state != new
        }
        if isNew || routesChanged { changes.publish(new) }
    }

    private static func list(_ socket: borrowing NetlinkSocket) throws(NetlinkFailure) -> LinkTable {
        var table = LinkTable()
        for what in [NetlinkSocket.List.links, .routes] {
            try socket.list(what)
            var isDone = false
            // Bounded: a kernel that does not answer is one that does not tell.
            var silences = 0
            while !isDone, silences < 5 {
                guard case .messages(let messages) = try socket.receive(within: 200, until: nil) else { continue }
                if messages.isEmpty { silences += 1 }
                for message in messages {
                    table.note(message)
                    if case .failed(let code) = message { throw NetlinkFailure("listing the \(what)", errno: code) }
                    if message == .done { isDone = true }
                }
            }
        }
        return table
    }

    private static func currentState() -> LinkState {
        guard let socket = try? NetlinkSocket(), let table = try? list(socket) else { return .up }
        return table.state
    }
}
