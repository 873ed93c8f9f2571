import Glibc
import SyncCore

/// The machine's links and default routes, as reported by the kernel.
///
/// It is a value type, so that recorded messages can be applied to it.
struct LinkTable: Hashable {
    /// For each link other than the loopback, by index, whether it is up.
    private var links: [Int32: Bool] = [:]
    /// The default routes. A change of the routes justifies another attempt, even while the links stay the same.
    private(set) var routes: Set<RouteMessage.Route> = []

    mutating func note(_ message: RouteMessage) {
        switch message {
        case .link(let index, let isUp, let isLoopback):
            links[index] = isLoopback ? nil : isUp
            // When a link goes down, the kernel removes its routes without a message for each.
            if !isUp { routes = routes.filter { $0.interface != index } }
        case .linkGone(let index):
            links[index] = nil
            routes = routes.filter { $0.interface != index }
        case .defaultRoute(let route): routes.insert(route)
        case .defaultRouteGone(let route): routes.remove(route)
        case .done, .interrupted, .failed: break
        }
    }

    /// The state of the network. A link without a default route counts as up, because the server may be on the local
    /// network and an attempt costs little.
    var state: LinkState {
        if links.values.contains(true) { return .up }
        return .down(links.isEmpty ? "this machine has no network link" : "no network link is up")
    }

    /// Returns all links and routes, as the kernel lists them.
    ///
    /// - Parameter receive: Returns the messages that arrived within a fraction of a second.
    /// - Throws: `NetlinkError` when the kernel reports an error or stays silent. An empty table would mean that this
    ///   machine has no link.
    static func listed(
        asking ask: (NetlinkSocket.List) throws(NetlinkError) -> Void,
        receiving receive: () throws(NetlinkError) -> NetlinkSocket.Received
    ) throws(NetlinkError) -> LinkTable {
        for _ in 0..<attempts {
            var table = LinkTable()
            // Both lists, even if one is incomplete: the kernel refuses a list while another is running.
            var isComplete = true
            for what in [NetlinkSocket.List.links, .routes] {
                isComplete = try table.list(what, asking: ask, receiving: receive) && isComplete
            }
            if isComplete { return table }
        }
        throw NetlinkError("listing the links and routes, which change all the time,", errno: EAGAIN)
    }

    /// Adds all links or all routes, as the kernel lists them.
    ///
    /// - Returns: false if messages were lost, or if something changed during the listing.
    private mutating func list(
        _ what: NetlinkSocket.List, asking ask: (NetlinkSocket.List) throws(NetlinkError) -> Void,
        receiving receive: () throws(NetlinkError) -> NetlinkSocket.Received
    ) throws(NetlinkError) -> Bool {
        try ask(what)
        var isDone = false
        var isComplete = true
        var silences = 0
        while !isDone {
            guard case .messages(let messages) = try receive() else {
                isComplete = false
                continue
            }
            if messages.isEmpty {
                silences += 1
                guard silences < Self.attempts else { throw NetlinkError("listing the \(what)", errno: ETIMEDOUT) }
            }
            for message in messages {
                note(message)
                switch message {
                case .failed(let code): throw NetlinkError("listing the \(what)", errno: code)
                case .interrupted: isComplete = false
                case .done: isDone = true
                case .link, .linkGone, .defaultRoute, .defaultRouteGone: break
                }
            }
        }
        return isComplete
    }

    /// Number of incomplete lists after which listing fails, and of empty waits after which the kernel counts as
    /// unresponsive.
    static let attempts = 5
}
