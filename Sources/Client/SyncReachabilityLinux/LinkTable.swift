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
        case .done, .failed: break
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
        var table = LinkTable()
        for what in [NetlinkSocket.List.links, .routes] {
            try ask(what)
            var isDone = false
            var silences = 0
            while !isDone {
                guard case .messages(let messages) = try receive() else { continue }
                if messages.isEmpty {
                    silences += 1
                    guard silences < attempts else { throw NetlinkError("listing the \(what)", errno: ETIMEDOUT) }
                }
                for message in messages {
                    table.note(message)
                    if case .failed(let code) = message { throw NetlinkError("listing the \(what)", errno: code) }
                    if message == .done { isDone = true }
                }
            }
        }
        return table
    }

    /// Number of empty waits after which the kernel counts as unresponsive.
    static let attempts = 5
}
