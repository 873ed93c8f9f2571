import SyncCore
import SyncTestKit
import TestRings
import Testing

@testable import SyncReachabilityLinux

/// Builds netlink messages as the kernel of a little-endian machine sends them, with only the parts that are read.
private enum NetlinkBytes {
    static func message(_ type: UInt16, _ body: [UInt8], length: UInt32? = nil, flags: UInt8 = 0) -> [UInt8] {
        let count = length ?? UInt32(16 + body.count)
        var bytes: [UInt8] = []
        for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: count >> UInt32(shift))) }
        bytes += [UInt8(truncatingIfNeeded: type), UInt8(truncatingIfNeeded: type >> 8), flags, 0]
        bytes += [0, 0, 0, 0, 0, 0, 0, 0]
        bytes += body
        while bytes.count % 4 != 0 { bytes.append(0) }
        return bytes
    }

    /// Returns an `ifinfomsg`, whose fields are family, padding, type, index, flags, and change.
    static func link(_ index: UInt8, flags: UInt32, family: UInt8 = 0) -> [UInt8] {
        [family, 0, 1, 0, index, 0, 0, 0]
            + [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: flags >> UInt32($0)) } + [0, 0, 0, 0]
    }

    /// Returns an `rtmsg` of a route over an interface, with RTA_TABLE and RTA_OIF. With the prefix 0 and the kind 1
    /// (unicast), it is a default route.
    static func route(prefix: UInt8 = 0, kind: UInt8 = 1, interface: UInt8) -> [UInt8] {
        [2, prefix, 0, 0, 254, 3, 0, kind, 0, 0, 0, 0]
            + [8, 0, 15, 0, 254, 0, 0, 0] + [8, 0, 4, 0, interface, 0, 0, 0]
    }

    static let upAndRunning: UInt32 = 0x1 | 0x40
    static let loopback: UInt32 = 0x1 | 0x40 | 0x8
}

private func read(_ bytes: [UInt8]) -> [RouteMessage] {
    bytes.withUnsafeBytes { RouteMessage.read($0) }
}

@Suite struct RouteMessageTests {
    @Test func `links and default routes are read, and other messages are skipped`() {
        let datagram =
            NetlinkBytes.message(16, NetlinkBytes.link(1, flags: NetlinkBytes.loopback))
            + NetlinkBytes.message(16, NetlinkBytes.link(2, flags: NetlinkBytes.upAndRunning))
            + NetlinkBytes.message(24, NetlinkBytes.route(interface: 2))
            + NetlinkBytes.message(24, NetlinkBytes.route(prefix: 24, interface: 2))
            + NetlinkBytes.message(24, NetlinkBytes.route(kind: 6, interface: 2))
            + NetlinkBytes.message(20, [1, 2, 3, 4]) + NetlinkBytes.message(3, [0, 0, 0, 0])
        let route = RouteMessage.Route(family: 2, table: 254, interface: 2, priority: 0)
        #expect(
            read(datagram) == [
                .link(index: 1, isUp: true, isLoopback: true), .link(index: 2, isUp: true, isLoopback: false),
                .defaultRoute(route), .done,
            ])
    }

    @Test func `a link without a carrier is not up`() {
        #expect(
            read(NetlinkBytes.message(16, NetlinkBytes.link(3, flags: 0x1))) == [
                .link(index: 3, isUp: false, isLoopback: false)
            ])
    }

    @Test func `a link that leaves a bridge is not gone`() {
        let bridge: UInt8 = 7
        #expect(read(NetlinkBytes.message(17, NetlinkBytes.link(3, flags: 0x1, family: bridge))).isEmpty)
        #expect(read(NetlinkBytes.message(16, NetlinkBytes.link(3, flags: 0x1, family: bridge))).isEmpty)
        #expect(read(NetlinkBytes.message(17, NetlinkBytes.link(3, flags: 0x1))) == [.linkGone(index: 3)])
    }

    @Test func `an interrupted list is reported as interrupted`() {
        #expect(read(NetlinkBytes.message(3, [0, 0, 0, 0], flags: 0x10)) == [.interrupted, .done])
    }

    @Test func `an error message gives its error, and an acknowledgment gives nothing`() {
        #expect(read(NetlinkBytes.message(2, [0xFF, 0xFF, 0xFF, 0xFF])) == [.failed(errno: 1)])
        #expect(read(NetlinkBytes.message(2, [0, 0, 0, 0])).isEmpty)
    }

    @Test(arguments: [0, 1, 15, 17, 4_096, UInt32.max])
    func `a wrong length ends the reading within the buffer`(length: UInt32) {
        let whole = NetlinkBytes.message(16, NetlinkBytes.link(2, flags: NetlinkBytes.upAndRunning))
        let wrongLength = NetlinkBytes.message(16, [0, 0, 1, 0], length: length)
        #expect(read(whole + wrongLength) == [.link(index: 2, isUp: true, isLoopback: false)])
    }

    @Test func `every truncation of a datagram is read without a trap`() {
        let datagram =
            NetlinkBytes.message(16, NetlinkBytes.link(2, flags: NetlinkBytes.upAndRunning))
            + NetlinkBytes.message(24, NetlinkBytes.route(interface: 2))
        for count in 0...datagram.count {
            #expect(read(Array(datagram.prefix(count))).count <= 2)
        }
        #expect(read(datagram).count == 2)
    }
}

@Suite struct LinkTableTests {
    private let route = RouteMessage.Route(family: 2, table: 254, interface: 2, priority: 0)

    @Test func `the network counts as down if only the loopback is up`() {
        var table = LinkTable()
        table.note(.link(index: 1, isUp: true, isLoopback: true))
        #expect(table.state == .down("this machine has no network link"))
        #expect(LinkTable().state == .down("this machine has no network link"))
    }

    @Test func `changes and removals of links are followed, with their routes`() {
        var table = LinkTable()
        table.note(.link(index: 2, isUp: true, isLoopback: false))
        table.note(.defaultRoute(route))
        #expect(table.state == .up)
        #expect(table.routes == [route])
        table.note(.link(index: 2, isUp: false, isLoopback: false))
        #expect(table.state == .down("no network link is up"))
        #expect(table.routes.isEmpty)
        table.note(.link(index: 2, isUp: true, isLoopback: false))
        #expect(table.state == .up)
        table.note(.defaultRoute(route))
        table.note(.linkGone(index: 2))
        #expect(table.state == .down("this machine has no network link"))
        #expect(table.routes.isEmpty)
    }

    /// Lists links and routes from a kernel that sends these messages.
    ///
    /// - Parameter answers: the messages of each read; nil for a read that reports lost messages.
    private func listed(_ answers: [[RouteMessage]?]) throws(NetlinkError) -> LinkTable {
        var rest = answers[...]
        return try LinkTable.listed { _ in
        } receiving: {
            guard let answer = rest.popFirst() else { return .messages([]) }
            return answer.map { .messages($0) } ?? .overrun
        }
    }

    @Test func `a list that is incomplete is made again, but not forever`() throws {
        let link = RouteMessage.link(index: 2, isUp: true, isLoopback: false)
        let gone = RouteMessage.link(index: 3, isUp: true, isLoopback: false)
        let again: [[RouteMessage]?] = [[link], [.done], [.done]]
        #expect(try listed([[gone], nil, [.done], [.done]] + again).state == .up)
        #expect(try listed([[gone, .interrupted], [.done], [.done], [.done], [.done]]).state != .up)
        #expect(try listed([[.done], [.interrupted, .done]] + again).state == .up)
        let failure = try #require(throws: NetlinkError.self) {
            try listed(Array(repeating: [.interrupted, .done], count: 100))
        }
        #expect(failure.description.contains("change all the time"), "\(failure)")
    }

    @Test func `the list of links ends at the kernel's done message`() throws {
        let link = RouteMessage.link(index: 2, isUp: true, isLoopback: false)
        let table = try listed([[link], [], [.done], [.defaultRoute(route), .done]])
        #expect(table.state == .up)
        #expect(table.routes == [route])
    }

    @Test(arguments: [[], [[RouteMessage.done]], [[.link(index: 2, isUp: false, isLoopback: false)]]])
    func `a kernel that stops responding is reported as a failure`(answers: [[RouteMessage]]) throws {
        let failure = try #require(throws: NetlinkError.self) { try listed(answers) }
        #expect(failure.description.contains("timed out"), "\(failure)")
    }
}

@Suite(.ring(.test)) struct LinuxReachabilityTests {
    @Test func `a server on this machine needs no link`() {
        #expect(LinuxReachability(serverIsLoopback: true).current == .up)
    }

    @Test(.timeLimit(.minutes(10)), arguments: suite.rules)
    func `the links of this machine keep the rules of the port`(rule: String) async throws {
        do {
            try await Self.suite.run(rule)
        } catch let error as NetlinkError {
            // A sandbox may forbid the socket. The watch then ends, and the network counts as up.
            #expect(!Self.hasRouteSocket, "\(error)")
        }
    }

    private static var hasRouteSocket: Bool {
        do throws(NetlinkError) {
            let socket = try NetlinkSocket()
            try socket.list(.links)
            return true
        } catch {
            return false
        }
    }

    private static let suite = ReachabilityConformance(
        .init(make: { LinuxReachability(serverIsLoopback: false) }))
}
