import NIOCore
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.unit)) struct ConnectionTableTests {
    private static let here = PeerAddress(bytes: [10, 0, 0, 1])

    private static func address(_ number: Int) -> PeerAddress {
        PeerAddress(bytes: [10, 1, UInt8(number / 256), UInt8(number % 256)])
    }

    private static func table(total: Int, perAddress: Int = 1_000) -> ConnectionTable<Int> {
        ConnectionTable(limits: .init(total: total, perAddress: perAddress))
    }

    @Test func `a full table closes the oldest unauthenticated connection`() {
        var table = Self.table(total: 3)
        for id in 1...3 { #expect(table.admit(id, from: Self.address(id)) == .admitted) }
        #expect(table.admit(4, from: Self.address(4)) == .admittedInstead(of: 1))
        table.closed(2)
        #expect(table.admit(5, from: Self.address(5)) == .admitted)
        #expect(table.admit(6, from: Self.address(6)) == .admittedInstead(of: 3))
        #expect(table.count == 3)
    }

    @Test func `unauthenticated connections cannot displace authenticated ones`() {
        var table = Self.table(total: 8)
        for id in 1...4 {
            _ = table.admit(id, from: Self.address(id))
            table.authenticated(id)
        }
        var cut: Set<Int> = []
        for id in 100..<200 {
            if case .admittedInstead(of: let other) = table.admit(id, from: Self.address(id)) { cut.insert(other) }
        }
        #expect(cut.isDisjoint(with: 1...4))
        #expect(table.count == 8)
    }

    @Test func `the longest-idle authenticated connections are closed if strangers have less than their share`() {
        var table = Self.table(total: 8)
        for id in 1...8 {
            _ = table.admit(id, from: Self.address(id))
            table.authenticated(id)
        }
        // The first two have requests in progress. The request of the third has just ended.
        for id in 1...3 { table.requestBegan(id) }
        table.requestEnded(3)
        #expect(table.admit(9, from: Self.address(9)) == .admittedInstead(of: 4))
        #expect(table.admit(10, from: Self.address(10)) == .admittedInstead(of: 5))
        #expect(table.admit(11, from: Self.address(11)) == .admittedInstead(of: 6))
        // From here on, strangers have more than a quarter of the connections.
        #expect(table.admit(12, from: Self.address(12)) == .admittedInstead(of: 9))
        #expect(table.strangers == 3)
    }

    @Test func `a connection with a request is never closed, and a new one is refused if all have requests`() {
        var table = Self.table(total: 2)
        for id in 1...2 {
            _ = table.admit(id, from: Self.address(id))
            table.authenticated(id)
            table.requestBegan(id)
        }
        #expect(table.admit(3, from: Self.address(3)) == .refused)
        table.requestEnded(2)
        #expect(table.admit(3, from: Self.address(3)) == .admittedInstead(of: 2))
    }

    @Test func `an address at its limit displaces only its own connections`() {
        var table = Self.table(total: 100, perAddress: 2)
        _ = table.admit(1, from: Self.address(1))
        _ = table.admit(2, from: Self.here)
        _ = table.admit(3, from: Self.here)
        #expect(table.admit(4, from: Self.here) == .admittedInstead(of: 2))
        table.authenticated(3)
        #expect(table.admit(5, from: Self.here) == .admittedInstead(of: 4))
        table.requestBegan(3)
        table.requestBegan(5)
        table.authenticated(5)
        #expect(table.admit(6, from: Self.here) == .refused)
        #expect(table.count == 3)
    }

    /// Regression test: with a place for one connection, a device that listened for hints could neither push nor pull.
    @Test func `the oldest event stream gives way if no other connection can`() {
        for perAddress in [3, 1_000] {
            var table = Self.table(total: perAddress == 3 ? 100 : 3, perAddress: perAddress)
            for id in 1...3 {
                _ = table.admit(id, from: Self.here)
                // Without an accepted token, no request is an event stream.
                table.streamBegan(id)
                table.requestBegan(id)
                table.authenticated(id)
            }
            #expect(table.admit(4, from: Self.here) == .refused)
            table.streamBegan(3)
            table.streamBegan(2)
            #expect(table.admit(4, from: Self.here) == .admittedInstead(of: 3))
            // The new connection, which is a stranger, is next.
            #expect(table.admit(5, from: Self.here) == .admittedInstead(of: 4))
            table.requestBegan(5)
            table.authenticated(5)
            // A stream that has ended is an idle connection.
            table.requestEnded(2)
            table.requestBegan(2)
            #expect(table.admit(6, from: Self.here) == .refused)
            #expect(table.count == 3)
        }
    }

    @Test func `late and repeated events change nothing`() {
        var table = Self.table(total: 2)
        _ = table.admit(1, from: Self.here)
        #expect(table.admit(1, from: Self.here) == .admitted)
        table.closed(1)
        table.closed(1)
        table.authenticated(1)
        table.requestBegan(1)
        table.requestEnded(1)
        table.streamBegan(1)
        table.requestEnded(2)
        #expect(table.count == 0 && table.strangers == 0)
    }

    /// Compares the table with a naive one that scans all connections on each decision.
    @Test(.ring(.test), arguments: 0..<20) func `a random history makes the same decisions as a naive table`(
        seed: UInt64
    ) {
        struct Naive {
            var order: [Int] = []
            var members: Set<Int> = []
            var requests: [Int: Int] = [:]
            var idle: [Int] = []
        }
        let random = TestServer.random(seed: seed)
        var table = Self.table(total: 12, perAddress: 6)
        var naive = Naive()
        var addresses: [Int: Int] = [:]
        func forget(_ id: Int) {
            naive.order.removeAll { $0 == id }
            naive.idle.removeAll { $0 == id }
            naive.members.remove(id)
            naive.requests[id] = nil
            addresses[id] = nil
        }
        for id in 0..<400 {
            let number = Int(random() % 4)
            let same = naive.order.filter { addresses[$0] == number }
            let isFullHere = same.count >= 6
            var expected = ConnectionTable<Int>.Admission.admitted
            if isFullHere || naive.order.count >= 12 {
                let strangers = naive.order.filter {
                    !naive.members.contains($0) && (!isFullHere || addresses[$0] == number)
                }
                let idle = naive.idle.filter { !isFullHere || addresses[$0] == number }
                let few = !isFullHere && strangers.count <= 3
                let victim = few ? idle.first ?? strangers.first : strangers.first ?? idle.first
                expected = victim.map { .admittedInstead(of: $0) } ?? .refused
                if let victim { forget(victim) }
            }
            #expect(table.admit(id, from: Self.address(number)) == expected)
            if expected != .refused {
                naive.order.append(id)
                addresses[id] = number
            }
            for _ in 0..<3 {
                guard let other = naive.order.isEmpty ? nil : naive.order[Int(random() % UInt64(naive.order.count))]
                else { break }
                switch random() % 5 {
                case 0, 1:
                    table.requestBegan(other)
                    naive.requests[other, default: 0] += 1
                    naive.idle.removeAll { $0 == other }
                case 2:
                    table.requestEnded(other)
                    guard let count = naive.requests[other], count > 0 else { break }
                    naive.requests[other] = count - 1
                    if count == 1, naive.members.contains(other) { naive.idle.append(other) }
                case 3:
                    table.authenticated(other)
                    guard naive.members.insert(other).inserted else { break }
                    if naive.requests[other] ?? 0 == 0 { naive.idle.append(other) }
                default:
                    table.closed(other)
                    forget(other)
                }
            }
            #expect(table.count == naive.order.count)
            #expect(table.strangers == naive.order.count { !naive.members.contains($0) })
        }
    }

    @Test func `an IPv6 address counts by its network, and a mapped IPv4 address counts as IPv4`() {
        let network: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 1]
        #expect(
            PeerAddress(bytes: network + [0, 0, 0, 0, 0, 0, 0, 1])
                == PeerAddress(bytes: network + [9, 9, 9, 9, 9, 9, 9, 9]))
        #expect(PeerAddress(bytes: network + Array(repeating: 0, count: 8)) != Self.here)
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        #expect(PeerAddress(bytes: mapped + [10, 0, 0, 1]) == Self.here)
        #expect(PeerAddress(bytes: mapped + [10, 0, 0, 2]) != Self.here)
    }

    @Test func `socket addresses are compared by IP address without the port`() throws {
        let first = PeerAddress(try .init(ipAddress: "10.0.0.1", port: 1))
        #expect(first == PeerAddress(try .init(ipAddress: "10.0.0.1", port: 2)) && first == Self.here)
        #expect(first != PeerAddress(try .init(ipAddress: "10.0.0.2", port: 1)))
        #expect(PeerAddress(try .init(ipAddress: "::ffff:10.0.0.1", port: 1)) == Self.here)
        #expect(
            PeerAddress(try .init(ipAddress: "2001:db8::1", port: 1))
                == PeerAddress(try .init(ipAddress: "2001:db8::2", port: 1)))
        #expect(PeerAddress(nil) == PeerAddress(try .init(unixDomainSocketPath: "/tmp/socket")))
    }
}

@Suite(.ring(.unit)) struct AgeQueueTests {
    @Test func `the first element is the oldest one that has not been removed`() {
        var queue = AgeQueue<Int>()
        for number in 0..<1_000 {
            queue.append(number)
            if number % 3 != 0 { queue.remove(number) }
        }
        #expect(queue.count == 334 && queue.first == 0)
        queue.remove(0)
        #expect(queue.first == 3)
        queue.append(3)
        #expect(queue.first == 3)
        queue.remove(3)
        queue.append(3)
        #expect(queue.first == 6)
        for number in 0..<1_000 { queue.remove(number) }
        #expect(queue.first == nil && queue.count == 0)
    }
}
