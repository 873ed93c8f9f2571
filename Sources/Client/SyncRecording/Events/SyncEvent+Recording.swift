package import SyncCore
import SyncJSON

// An event is encoded as an object whose member "is" names it. One file for each origin of events encodes, decodes, and
// redacts its events. The names come from `EventLabel`.

extension JSONWriter {
    mutating func event(_ event: SyncEvent) {
        switch event {
        case .host(let event): self.event(event)
        case .device(let event): self.event(event)
        case .server(let event): self.event(event)
        case .store(let event): self.event(event)
        }
    }

    mutating func name<Name>(_ label: EventLabel<Name>) {
        member("is", label.name.rawValue)
    }
}

extension RecordingNode {
    func event() throws(RecordingError) -> SyncEvent {
        let name = try member("is").text()
        if let name = HostEvent.Name(rawValue: name) { return .host(try event(name)) }
        if let name = DeviceEvent.Name(rawValue: name) { return .device(try event(name)) }
        if let name = ServerEvent.Name(rawValue: name) { return .server(try event(name)) }
        if let name = StoreEvent.Name(rawValue: name) { return .store(try event(name)) }
        throw try member("is").wrong("the name of an event")
    }

    func eventSerial() throws(RecordingError) -> Serial { try member("serial").serial() }
}

extension Redaction {
    package func event(_ event: SyncEvent) -> SyncEvent {
        switch event {
        case .host(let event): .host(self.event(event))
        case .device(let event): .device(self.event(event))
        case .server(let event): .server(self.event(event))
        case .store(let event): .store(self.event(event))
        }
    }
}

extension SyncEvent {
    /// Number of records or transactions that the event carries.
    package var carried: Int {
        switch self {
        case .server(let event): event.carried
        case .store(let event): event.carried
        case .host, .device: 0
        }
    }
}
