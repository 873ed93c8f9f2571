import Glibc
import SyncCore

/// The links of the machine and its default routes, as far as the kernel has told: a value, so that recorded
/// messages can be played to it.
struct LinkTable: Hashable {
    /// Links that are up and not the loopback, by index.
    private var links: [Int32: Bool] = [:]
    /// The default routes. A change of them is worth another try, also while links stay.
    private(set) var routes: Set<RouteMessage.Route> = []

    mutating func note(_ message: RouteMessage) {
        switch message {
        case .link(let index, let isUp, let isLoopback):
            links[index] = isUp && !isLoopback
            // The kernel takes the routes of a link that goes down without a message for each.
            if !isUp { routes = routes.filter { $0.interface != index } }
        case .linkGone(let index):
            links[index] = nil
            routes = routes.filter { $0.interface != index }
        case .defaultRoute(let route): routes.insert(route)
        case .defaultRouteGone(let route): routes.remove(route)
        case .done, .failed: break
        }
    }

    /// A link without a default route is enough: the server may be a neighbour, and an attempt costs little. The
    /// words tell the more likely reason.
    var state: LinkState {
        if links.values.contains(true) { return .up }
        return .down(links.isEmpty ? "this machine has no network link" : "no network link is up")
    }

    /// All links and routes as the kernel lists them.
    ///
    /// - Parameter hear: gives what came within a fraction of a second.
    /// - Throws: also when the kernel stays silent: an empty table would say that this machine has no link.
    static func listed(
        asking ask: (NetlinkSocket.List) throws(NetlinkFailure) -> Void,
        hearing hear: () throws(NetlinkFailure) -> NetlinkSocket.Received
    ) throws(NetlinkFailure) -> LinkTable {
        var table = LinkTable()
        for what in [NetlinkSocket.List.links, .routes] {
            try ask(what)
            var isDone = false
            var silences = 0
            while !isDone {
                guard case .messages(let messages) = try hear() else { continue }
                if messages.isEmpty {
                    silences += 1
                    guard silences < patience else { throw NetlinkFailure("listing the \(what)", errno: ETIMEDOUT) }
                }
                for message in messages {
                    table.note(message)
                    if case .failed(let code) = message { throw NetlinkFailure("listing the \(what)", errno: code) }
                    if message == .done { isDone = true }
                }
            }
        }
        return table
    }

    /// After so many silences a kernel counts as one that does not tell.
    static let patience = 5
}
