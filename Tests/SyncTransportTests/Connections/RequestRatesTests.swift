import NIOCore
import SyncAuthority
import SyncConcurrency
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.unit)) struct RequestRatesTests {
    private static let ann = Principal(name: "ann")
    private static let ben = Principal(name: "ben")

    /// A clock that tests set.
    private final class Clock: Sendable {
        private let time = Guarded(NIODeadline.uptimeNanoseconds(1_000_000_000_000))

        var now: NIODeadline { time.withLock { $0 } }

        func advance(by amount: TimeAmount) { time.withLock { $0 = $0 + amount } }
    }

    private let clock = Clock()

    private func rates(requests: Int, bytes: Int) -> RequestRates {
        RequestRates(limits: .init(requests: requests, bytes: bytes)) { [clock] in clock.now }
    }

    @Test func `an idle principal may send the requests of ten seconds at once, and then as many as its rate allows`() {
        let rates = rates(requests: 2, bytes: 1_000)
        for _ in 0..<20 { #expect(rates.admit(Self.ann) == nil) }
        #expect(rates.admit(Self.ann) == .milliseconds(500))
        // A refused request costs nothing.
        #expect(rates.admit(Self.ann) == .milliseconds(500))
        #expect(rates.admit(Self.ben) == nil)
        clock.advance(by: .milliseconds(499))
        #expect(rates.admit(Self.ann) == .milliseconds(1))
        clock.advance(by: .milliseconds(1))
        #expect(rates.admit(Self.ann) == nil && rates.admit(Self.ann) == .milliseconds(500))
        // After an idle hour, the principal may send no more than the requests of ten seconds.
        clock.advance(by: .hours(1))
        for _ in 0..<20 { #expect(rates.admit(Self.ann) == nil) }
        #expect(rates.admit(Self.ann) != nil)
    }

    @Test func `a principal that has transferred too many bytes waits before its next request`() {
        let rates = rates(requests: 100, bytes: 1_000)
        #expect(rates.admit(Self.ann) == nil)
        rates.charge(10_000, to: Self.ann)
        #expect(rates.admit(Self.ann) == nil)
        rates.charge(3_000, to: Self.ann)
        #expect(rates.admit(Self.ann) == .seconds(3) && rates.admit(Self.ben) == nil)
        clock.advance(by: .seconds(3))
        #expect(rates.admit(Self.ann) == nil)
    }

    @Test func `the use of idle principals is removed from memory`() {
        let rates = rates(requests: 1, bytes: 1_000)
        for number in 0..<10_000 {
            #expect(rates.admit(Principal(name: "\(number)")) == nil)
            clock.advance(by: .milliseconds(10))
        }
        #expect(rates.principals < 2_000)
        // The use of a principal that is at its limit is kept.
        for _ in 0..<10 { #expect(rates.admit(Self.ann) == nil) }
        for number in 0..<5_000 { _ = rates.admit(Principal(name: "other \(number)")) }
        #expect(rates.admit(Self.ann) != nil)
    }
}
