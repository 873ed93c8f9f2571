import Dispatch
public import SyncConcurrency
public import SyncCore

/// Follows the links and routes of a Linux machine by rtnetlink: a change is told within milliseconds, and costs
/// nothing while there is none.
///
/// Where the kernel does not tell (a sandbox without netlink), the way counts as open, and the server decides.
public final class LinuxReachability: Reachability {
    public let changes = Broadcast<LinkState>()
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
        let wake = try WakeSignal()
        let isStopped = Guarded(false)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                let work = { @Sendable [self] in
                    done.resume(with: Result { try watch(until: { isStopped.withLock { $0 } }, wake) })
                }
                DispatchQueue(label: "tombolo.links").async(execute: work)
            }
        } onCancel: {
            isStopped.withLock { $0 = true }
            wake.ring()
        }
        try Task.checkCancellation()
    }

    private func watch(until isStopped: () -> Bool, _ wake: WakeSignal) throws(NetlinkFailure) {
        do throws(NetlinkFailure) {
            try follow(until: isStopped, wake)
        } catch {
            // Nobody tells any more when a link comes back: the way counts as open.
            tell(.up, always: false)
            throw error
        }
    }

    /// Sleeps in the kernel until it has something to tell.
    private func follow(until isStopped: () -> Bool, _ wake: WakeSignal) throws(NetlinkFailure) {
        let socket = try NetlinkSocket()
        var table = try Self.list(socket)
        tell(table.state, always: false)
        while !isStopped() {
            switch try socket.receive(within: nil, until: wake) {
            case .overrun:
                table = try Self.list(socket)
                tell(table.state, always: true)
            case .messages(let messages):
                guard !messages.isEmpty else { continue }
                let routes = table.routes
                for message in messages { table.note(message) }
                tell(table.state, always: routes != table.routes)
            }
        }
    }

    /// Tells a change of the state; `always` also when it is the same: other routes are worth another try.
    private func tell(_ new: LinkState, always: Bool) {
        guard !serverIsLoopback else { return }
        let isNew = state.withLock { state in
            defer { state = new }
            return state != new
        }
        if isNew || always { changes.publish(new) }
    }

    private static func list(_ socket: borrowing NetlinkSocket) throws(NetlinkFailure) -> LinkTable {
        try LinkTable.listed { what throws(NetlinkFailure) in
            try socket.list(what)
        } hearing: { () throws(NetlinkFailure) in
            try socket.receive(within: 200, until: nil)
        }
    }

    private static func currentState() -> LinkState {
        guard let socket = try? NetlinkSocket(), let table = try? list(socket) else { return .up }
        return table.state
    }
}
