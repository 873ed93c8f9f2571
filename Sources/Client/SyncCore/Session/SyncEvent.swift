/// An event of the session, grouped by its origin. Nothing else reaches the session.
package enum SyncEvent: Hashable, Sendable {
    case host(HostEvent)
    case device(DeviceEvent)
    case server(ServerEvent)
    case store(StoreEvent)
}

extension SyncEvent: CustomStringConvertible {
    package var description: String {
        switch self {
        case .host(let event): event.label.description
        case .device(let event): event.label.description
        case .server(let event): event.label.description
        case .store(let event): event.label.description
        }
    }
}

/// The name of an event, with facts about the event.
///
/// All texts about an event come from its label: the printed text is the name with the facts, and recordings contain
/// the raw value of `name`. Messages are left out, so that the text is the same in a trace, a log, and a replay.
package struct EventLabel<Name: RawRepresentable<String>>: CustomStringConvertible {
    package let name: Name
    /// Facts, each with the separator that precedes it.
    private let facts: String

    init(_ name: Name, _ facts: String = "") {
        self.name = name
        self.facts = facts
    }

    package var description: String { name.plainText + facts }
}

extension RawRepresentable<String> {
    /// The raw value with spaces instead of underscores.
    var plainText: String {
        String(rawValue.map { $0 == "_" ? " " : $0 })
    }
}
