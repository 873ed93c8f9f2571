import SyncModel
import Testing

@testable import SyncCore

@Suite struct EngineMailboxTests {
    private func waiting(_ events: SyncEvent...) -> [SyncEvent] {
        var waiting = WaitingEvents(events[0])
        for event in events.dropFirst() { waiting.absorb(WaitingEvents(event)) }
        return waiting.events
    }

    private func hint(_ head: Int64, _ space: SpaceID = .default, on stream: Int = 1) -> SyncEvent {
        .server(.hint(Serial(rawValue: stream), Hint(space: space, head: Version(head))))
    }

    @Test func `what is asked for twice waits once, behind what came between`() {
        #expect(
            waiting(
                .host(.syncRequested), .device(.linkChanged(.up)), .host(.syncRequested), .device(.outboxTouched),
                .device(.outboxTouched))
                == [.device(.linkChanged(.up)), .host(.syncRequested), .device(.outboxTouched)])
    }

    @Test func `of each stream and space the newest hint waits`() {
        #expect(
            waiting(hint(1), hint(5, "other"), hint(9), hint(3), hint(2, on: 2))
                == [hint(9), hint(5, "other"), hint(2, on: 2)])
    }

    @Test func `a link that came and went is still known to have gone`() {
        #expect(
            waiting(.device(.linkChanged(.up)), .device(.linkChanged(.down("cut"))), .device(.linkChanged(.up)))
                == [.device(.linkChanged(.down("cut"))), .device(.linkChanged(.up))])
    }

    @Test func `answers and timers all wait, in their order`() {
        let first = SyncEvent.device(.timerFired(Serial(rawValue: 1)))
        let second = SyncEvent.device(.timerFired(Serial(rawValue: 2)))
        #expect(waiting(first, second, first) == [first, second, first])
    }

    @Test func `a flood of wishes, links and hints does not grow`() {
        var waiting = WaitingEvents(.host(.syncRequested))
        for number in 0..<10_000 {
            waiting.absorb(WaitingEvents(hint(Int64(number), number.isMultiple(of: 2) ? .default : "other")))
            waiting.absorb(WaitingEvents(.device(.linkChanged(number.isMultiple(of: 2) ? .up : .down("cut")))))
            waiting.absorb(WaitingEvents(.device(.outboxTouched)))
            waiting.absorb(WaitingEvents(.host(.deletesAllowed(.default))))
        }
        #expect(waiting.events.count == 7)
    }
}
