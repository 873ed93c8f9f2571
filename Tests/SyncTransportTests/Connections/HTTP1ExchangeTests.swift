import NIOCore
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.unit)) struct HTTP1ExchangeTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private static func at(_ seconds: Int64) -> NIODeadline { start + .seconds(seconds) }

    private static func exchange() -> HTTP1Exchange {
        HTTP1Exchange(now: start, headDeadline: .seconds(10), closeDelay: .seconds(5))
    }

    @Test func `a silent connection is cut at the deadline for a head`() {
        let exchange = Self.exchange()
        #expect(exchange.deadlinePassed(now: Self.at(9)) == .wait(until: Self.at(10)))
        #expect(exchange.deadlinePassed(now: Self.at(10)) == .cut)
    }

    @Test func `the first head is timed from the start of the connection, and later heads from their first byte`() {
        var exchange = Self.exchange()
        exchange.bytesArrived(now: Self.at(9))
        #expect(exchange.deadlinePassed(now: Self.at(10)) == .refuseSlowHead)
        exchange.headArrived(isLast: false)
        #expect(exchange.deadlinePassed(now: Self.at(100)) == .none)
        exchange.requestEnded(now: Self.at(100))
        exchange.responseLeft(now: Self.at(100))
        // The idle timeout is handled elsewhere.
        #expect(exchange.deadlinePassed(now: Self.at(200)) == .none)
        exchange.bytesArrived(now: Self.at(200))
        exchange.bytesArrived(now: Self.at(205))
        #expect(exchange.deadlinePassed(now: Self.at(209)) == .wait(until: Self.at(210)))
        #expect(exchange.deadlinePassed(now: Self.at(210)) == .refuseSlowHead)
    }

    @Test func `the next request waits until the response has been sent`() {
        var exchange = Self.exchange()
        exchange.headArrived(isLast: false)
        #expect(exchange.takesBytes && !exchange.takesHead)
        exchange.requestEnded(now: Self.at(1))
        #expect(!exchange.takesBytes && !exchange.takesHead && exchange.awaitsResponse)
        exchange.responseLeft(now: Self.at(2))
        #expect(exchange.takesBytes && exchange.takesHead && !exchange.awaitsResponse)
    }

    @Test func `a connection whose body continues after the response is cut`() {
        var exchange = Self.exchange()
        exchange.headArrived(isLast: false)
        exchange.responseLeft(now: Self.at(1))
        #expect(exchange.takesBytes && !exchange.takesHead)
        #expect(exchange.deadlinePassed(now: Self.at(6)) == .cut)
        exchange.requestEnded(now: Self.at(4))
        #expect(exchange.takesHead)
        #expect(exchange.deadlinePassed(now: Self.at(6)) == .none)
    }

    @Test func `after the last request nothing more is read, and the peer gets time to disconnect`() {
        var exchange = Self.exchange()
        exchange.headArrived(isLast: true)
        exchange.requestEnded(now: Self.at(1))
        exchange.responseLeft(now: Self.at(2))
        #expect(exchange.isClosing && !exchange.takesHead)
        #expect(exchange.deadlinePassed(now: Self.at(6)) == .wait(until: Self.at(7)))
        #expect(exchange.deadlinePassed(now: Self.at(7)) == .cut)
    }

    @Test func `a refusal starts the close only once`() {
        var exchange = Self.exchange()
        exchange.headArrived(isLast: false)
        exchange.refused(now: Self.at(1))
        exchange.refused(now: Self.at(3))
        #expect(exchange.isClosing)
        #expect(exchange.deadlinePassed(now: Self.at(6)) == .cut)
    }

    /// Sends random events and checks that nothing traps, that a closing connection stays closing, and that no head is
    /// read while a response is pending.
    @Test(arguments: 0..<50) func `no sequence of events mixes up requests and responses`(seed: UInt64) {
        let random = TestServer.random(seed: seed)
        var exchange = Self.exchange()
        var now = Self.start
        for _ in 0..<200 {
            now = now + .milliseconds(Int64(random() % 3_000))
            let wasClosing = exchange.isClosing
            switch random() % 6 {
            case 0: exchange.bytesArrived(now: now)
            case 1: exchange.headArrived(isLast: random() % 8 == 0)
            case 2: exchange.requestEnded(now: now)
            case 3: exchange.responseLeft(now: now)
            case 4: if random() % 16 == 0 { exchange.refused(now: now) }
            default: _ = exchange.deadlinePassed(now: now)
            }
            #expect(!wasClosing || exchange.isClosing)
            #expect(!(exchange.awaitsResponse && exchange.takesHead))
            #expect(!exchange.takesHead || exchange.takesBytes)
        }
    }
}

@Suite(.ring(.unit)) struct WriteAllowanceTests {
    private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1) + .seconds(seconds) }

    private static func allowance() -> WriteAllowance { WriteAllowance(timeout: .seconds(30), slowest: 1_000) }

    @Test func `a peer without pending data has no deadline`() {
        var allowance = Self.allowance()
        #expect(allowance.update(taken: 5, waiting: 0, now: Self.at(0)) == .rest)
        #expect(allowance.update(taken: 5, waiting: 0, now: Self.at(1_000)) == .rest)
    }

    @Test func `a peer that reads nothing is cut after the timeout`() {
        var allowance = Self.allowance()
        #expect(allowance.update(taken: 0, waiting: 10, now: Self.at(0)) == .wait(until: Self.at(30)))
        #expect(allowance.update(taken: 0, waiting: 99, now: Self.at(29)) == .wait(until: Self.at(30)))
        #expect(allowance.update(taken: 0, waiting: 99, now: Self.at(30)) == .close)
    }

    @Test func `a peer that reads only one byte per second is cut too`() {
        var allowance = Self.allowance()
        var taken = 0
        _ = allowance.update(taken: 0, waiting: 100_000, now: Self.at(0))
        var cutAt: Int64?
        for second in (1...200).map(Int64.init) {
            taken += 1
            if allowance.update(taken: taken, waiting: 100_000, now: Self.at(second)) == .close {
                cutAt = second
                break
            }
        }
        #expect(cutAt == 31)
    }

    @Test func `a peer that reads at the slowest allowed rate is never cut`() {
        for step in [1, 7, 29] {
            var allowance = Self.allowance()
            for second in stride(from: 0, through: 10_000, by: step) {
                #expect(allowance.update(taken: second * 1_001, waiting: 1, now: Self.at(Int64(second))) != .close)
            }
        }
    }

    @Test func `a fast start gives a peer no lasting credit`() {
        var allowance = Self.allowance()
        _ = allowance.update(taken: 0, waiting: 10, now: Self.at(0))
        #expect(allowance.update(taken: 1_000_000_000, waiting: 10, now: Self.at(1)) == .wait(until: Self.at(31)))
        #expect(allowance.update(taken: 1_000_000_000, waiting: 10, now: Self.at(31)) == .close)
    }

    @Test func `the deadline restarts after all data has been read`() {
        var allowance = Self.allowance()
        _ = allowance.update(taken: 0, waiting: 10, now: Self.at(0))
        #expect(allowance.update(taken: 10, waiting: 0, now: Self.at(29)) == .rest)
        #expect(allowance.update(taken: 10, waiting: 10, now: Self.at(40)) == .wait(until: Self.at(70)))
    }
}
