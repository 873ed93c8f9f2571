/// An event on the device itself: on its network, in its database, or of its clock.
package enum DeviceEvent: Hashable, Sendable {
    case linkChanged(LinkState)
    /// A commit in the store, by this process or another, touched the outbox or the journal.
    case outboxTouched
    case timerFired(Serial)

    package enum Name: String {
        case linkChanged = "link_changed"
        case outboxTouched = "outbox_touched"
        case timerFired = "timer_fired"
    }

    package var label: EventLabel<Name> {
        switch self {
        case .linkChanged(let link): EventLabel(.linkChanged, ": \(link.word)")
        case .outboxTouched: EventLabel(.outboxTouched)
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
