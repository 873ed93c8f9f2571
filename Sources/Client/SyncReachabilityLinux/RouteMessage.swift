/// A kernel message about a link or a route (rtnetlink(7)), parsed from the bytes of a datagram.
enum RouteMessage: Hashable {
    case link(index: Int32, isUp: Bool, isLoopback: Bool)
    case linkGone(index: Int32)
    /// A default route appeared or is listed.
    case defaultRoute(Route)
    case defaultRouteGone(Route)
    /// The end of a requested list.
    case done
    /// Something has changed while the kernel made the requested list, which may therefore be inconsistent.
    case interrupted
    /// The kernel refused a request.
    case failed(errno: Int32)

    struct Route: Hashable {
        let family: UInt8
        let table: UInt32
        let interface: Int32
        let priority: UInt32
    }

    /// Returns all messages of one datagram. Unknown messages are skipped; an invalid length ends the parsing.
    static func read(_ datagram: UnsafeRawBufferPointer) -> [RouteMessage] {
        var messages: [RouteMessage] = []
        var rest = datagram[...]
        while rest.count >= Layout.header {
            let bytes = UnsafeRawBufferPointer(rebasing: rest)
            let length = Int(bytes.loadUnaligned(as: UInt32.self))
            guard length >= Layout.header, length <= bytes.count else { break }
            let type = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
            if bytes.loadUnaligned(fromByteOffset: 6, as: UInt16.self) & Flag.interrupted != 0 {
                messages.append(.interrupted)
            }
            let body = UnsafeRawBufferPointer(rebasing: bytes[Layout.header..<length])
            if let message = message(type: type, body) { messages.append(message) }
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return messages
    }

    private static func message(type: UInt16, _ body: UnsafeRawBufferPointer) -> RouteMessage? {
        switch type {
        case Kind.error:
            guard body.count >= 4 else { return nil }
            let code = body.loadUnaligned(as: Int32.self)
            return code == 0 ? nil : .failed(errno: -code)
        case Kind.done: return .done
        case Kind.newLink, Kind.deleteLink:
            // Messages of another family describe a role of the link. When a link leaves a bridge, the kernel says that
            // its role there is gone; the link stays.
            guard body.count >= Layout.link, body[0] == Family.unspecified else { return nil }
            let index = body.loadUnaligned(fromByteOffset: 4, as: Int32.self)
            if type == Kind.deleteLink { return .linkGone(index: index) }
            let flags = body.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
            // Up means that an administrator enabled the link. Running means that it has a carrier.
            let isUp = flags & Flag.up != 0 && flags & Flag.running != 0
            return .link(index: index, isUp: isUp, isLoopback: flags & Flag.loopback != 0)
        case Kind.newRoute, Kind.deleteRoute:
            guard let route = route(body) else { return nil }
            return type == Kind.newRoute ? .defaultRoute(route) : .defaultRouteGone(route)
        default: return nil
        }
    }

    /// Returns nil for routes that are not default routes, or that lead nowhere (blackhole, unreachable).
    private static func route(_ body: UnsafeRawBufferPointer) -> Route? {
        guard body.count >= Layout.route, body[1] == 0, body[7] == Kind.unicast else { return nil }
        var table = UInt32(body[4])
        var interface: Int32 = 0
        var priority: UInt32 = 0
        var rest = body[Layout.route...]
        while rest.count >= 4 {
            let bytes = UnsafeRawBufferPointer(rebasing: rest)
            let length = Int(bytes.loadUnaligned(as: UInt16.self))
            guard length >= 4, length <= bytes.count else { break }
            if length >= 8 {
                switch bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self) {
                case Attribute.outInterface: interface = bytes.loadUnaligned(fromByteOffset: 4, as: Int32.self)
                case Attribute.priority: priority = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
                case Attribute.table: table = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
                default: break
                }
            }
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return Route(family: body[0], table: table, interface: interface, priority: priority)
    }

    // The values come from linux/netlink.h, linux/rtnetlink.h, and linux/if.h, which are a stable interface of the
    // kernel.
    private enum Layout {
        static let header = 16
        static let link = 16
        static let route = 12
    }
    private enum Kind {
        static let error: UInt16 = 2
        static let done: UInt16 = 3
        static let newLink: UInt16 = 16
        static let deleteLink: UInt16 = 17
        static let newRoute: UInt16 = 24
        static let deleteRoute: UInt16 = 25
        static let unicast: UInt8 = 1
    }
    private enum Family {
        static let unspecified: UInt8 = 0
    }
    private enum Flag {
        /// `NLM_F_DUMP_INTR`, in the header of a message.
        static let interrupted: UInt16 = 0x10
        static let up: UInt32 = 0x1
        static let loopback: UInt32 = 0x8
        static let running: UInt32 = 0x40
    }
    private enum Attribute {
        static let outInterface: UInt16 = 4
        static let priority: UInt16 = 6
        static let table: UInt16 = 15
    }
}
