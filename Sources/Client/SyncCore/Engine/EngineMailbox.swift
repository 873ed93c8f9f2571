import SyncConcurrency
import SyncModel

/// Carries events to the engine from any thread.
///
/// Its size is bounded, however fast a server sends hints or a program makes requests: a repeated request is kept once,
/// and only the newest hint of each space is kept. Each running task adds at most one response or timer event.
final class EngineMailbox: Sendable {
    typealias Events = Broadcast<WaitingEvents>.Subscription

    private let feed = Broadcast<WaitingEvents>()

    func post(_ event: SyncEvent) {
        feed.publish(WaitingEvents(event))
    }

    /// Ends the stream of events after the waiting ones have been taken.
    func finish() {
        feed.finish()
    }

    /// Returns the events that are posted from now on. Supports one reader.
    func events() -> Events { feed.subscribe() }
}

/// Events in order of arrival.
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
        case .host, .device(.outboxTouched), .device(.spacesTouched):
            // Keep only the later of two equal events, because it follows all events in between.
            events.removeAll { $0 == event }
            events.append(event)
        case .device(.linkChanged):
            // Keep the current state of the link and the last different one, so that the loss of a link is noticed even
            // if it is up again.
            let links = events.indices.filter { if case .device(.linkChanged) = events[$0] { true } else { false } }
            if let last = links.last, events[last] == event {
                events.remove(at: last)
            } else if links.count > 1 {
                events.remove(at: links[0])
            }
            events.append(event)
        case .server(.hint(let stream, let hint)):
            let earlier = events.firstIndex {
                if case .server(.hint(stream, let other)) = $0 { other.space == hint.space } else { false }
            }
            guard let earlier else { return events.append(event) }
            if case .server(.hint(_, let other)) = events[earlier], other.head < hint.head { events[earlier] = event }
        case .device(.timerFired), .store, .server(.helloEnded), .server(.pushEnded), .server(.pullEnded),
            .server(.hintsEnded):
            events.append(event)
        }
    }
}
