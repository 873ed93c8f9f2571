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

    @Test func `a repeated request is queued once, after the events that arrived in between`() {
        #expect(
            waiting(
                .host(.syncRequested), .device(.linkChanged(.up)), .host(.syncRequested), .device(.outboxTouched),
                .device(.outboxTouched))
                == [.device(.linkChanged(.up)), .host(.syncRequested), .device(.outboxTouched)])
    }

    @Test func `only the newest hint of each stream and space is queued`() {
        #expect(
            waiting(hint(1), hint(5, "other"), hint(9), hint(3), hint(2, on: 2))
                == [hint(9), hint(5, "other"), hint(2, on: 2)])
    }

    @Test func `a link that went down and came back up is still reported as having gone down`() {
        #expect(
            waiting(.device(.linkChanged(.up)), .device(.linkChanged(.down("cut"))), .device(.linkChanged(.up)))
                == [.device(.linkChanged(.down("cut"))), .device(.linkChanged(.up))])
        // When routes change while the link is up, it is reported as up a second time.
        #expect(
            waiting(.device(.linkChanged(.down("cut"))), .device(.linkChanged(.up)), .device(.linkChanged(.up)))
                == [.device(.linkChanged(.down("cut"))), .device(.linkChanged(.up))])
    }

    @Test func `timer events are all queued, in order`() {
        let first = SyncEvent.device(.timerFired(Serial(rawValue: 1)))
        let second = SyncEvent.device(.timerFired(Serial(rawValue: 2)))
        #expect(waiting(first, second, first) == [first, second, first])
    }

    @Test func `a flood of sync requests, link changes, and hints does not grow the queue`() {
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
