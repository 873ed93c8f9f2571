import SyncCore

/// The links of the machine and its default routes, as far as the kernel has told: a value, so that recorded
/// messages can be played to it.
struct LinkTable: Hashable {
    /// Links that are up and not the loopback, by index.
    private var links: [Int32: Bool] = [:]
    private var routes: Set<RouteMessage.Route> = []

    mutating func note(_ message: RouteMessage) {
        switch message {
        case .link(let index, let isUp, let isLoopback): links[index] = isUp && !isLoopback
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

    /// Whether any route leads out of the neighbourhood. A change of it is worth another try, also while links stay.
    var hasDefaultRoute: Bool { !routes.isEmpty }
}
