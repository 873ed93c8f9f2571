import SyncConcurrency
import SyncModel

/// Carries events to the engine from any thread.
///
/// It holds no more than the engine can have a use for, however fast a server hints or a program asks: what is asked for twice is
/// there once, and of each space only the newest hint. Answers and timers are as many as the tasks that wait for them.
final class EngineMailbox: Sendable {
    typealias Events = Broadcast<WaitingEvents>.Subscription

    private let feed = Broadcast<WaitingEvents>()

    func post(_ event: SyncEvent) {
        feed.publish(WaitingEvents(event))
    }

    /// Ends the events, once those that wait have been taken.
    func finish() {
        feed.finish()
    }

    /// Returns the events that are posted from now on. For one reader.
    func events() -> Events { feed.subscribe() }
}

/// Events in the order in which they came.
struct WaitingEvents: Coalescing, Hashable {
    private(set) var events: [SyncEvent]

    init(_ event: SyncEvent) {
        events = [event]
    }

    mutating func absorb(_ later: WaitingEvents) {
        for event in later.events { add(event) }
    }

    private mutating func add(_ event: SyncEvent) {
        switch event {
        case .syncRequested, .credentialsChanged, .deletesAllowed, .stopRequested, .outboxTouched:
            // The later one stands for both: it is behind whatever came between them.
            events.removeAll { $0 == event }
            events.append(event)
        case .linkChanged:
            // The last two say where the link stands, and that it was elsewhere before.
            let links = events.indices.filter { if case .linkChanged = events[$0] { true } else { false } }
            if links.count > 1 { events.remove(at: links[0]) }
            events.append(event)
        case .hint(let stream, let hint):
            let earlier = events.firstIndex {
                if case .hint(stream, let other) = $0 { other.space == hint.space } else { false }
            }
            guard let earlier else { return events.append(event) }
            if case .hint(_, let other) = events[earlier], other.head < hint.head { events[earlier] = event }
        case .started, .aborted, .timerFired, .helloEnded, .pushEnded, .pullEnded, .hintsEnded, .batchTaken,
            .nothingToPush,
            .outboxCounted, .resultsRecorded, .transactionWithdrawn, .pageApplied, .cursorReset, .spaceVacated,
            .sessionChanged, .storeFailed:
            events.append(event)
        }
    }
}
