/// An event on the device itself: a change of its network link, a commit in its local store, or the end of a timer.
package enum DeviceEvent: Hashable, Sendable {
    case linkChanged(LinkState)
    /// A commit in the store, by this process or another, may have changed the outbox or the journal.
    case outboxTouched
    /// A commit in the store, by this process or another, may have changed the set of spaces that the device follows.
    case spacesTouched
    case timerFired(Serial)

    package enum Name: String, CaseIterable {
        case linkChanged = "link_changed"
        case outboxTouched = "outbox_touched"
        case spacesTouched = "spaces_touched"
        case timerFired = "timer_fired"
    }

    package var label: EventLabel<Name> {
        switch self {
        case .linkChanged(let link): EventLabel(.linkChanged, ": \(link.word)")
        case .outboxTouched: EventLabel(.outboxTouched)
        case .spacesTouched: EventLabel(.spacesTouched)
        case .timerFired(let serial): EventLabel(.timerFired, ": \(serial)")
        }
    }
}

extension LinkState {
    var word: String {
        switch self {
        case .up: "up"
        case .down: "down"
        }
    }
}
