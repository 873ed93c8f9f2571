import SyncCore
import SyncJSON

extension JSONWriter {
    mutating func event(_ event: DeviceEvent) {
        name(event.label)
        switch event {
        case .linkChanged(let link): self.link(link)
        case .outboxTouched, .spacesTouched: break
        case .timerFired(let serial): member("serial", serial.rawValue)
        }
    }
}

extension RecordingNode {
    func event(_ name: DeviceEvent.Name) throws(RecordingError) -> DeviceEvent {
        switch name {
        case .linkChanged: .linkChanged(try link())
        case .outboxTouched: .outboxTouched
        case .spacesTouched: .spacesTouched
        case .timerFired: .timerFired(try eventSerial())
        }
    }
}

extension Redaction {
    func event(_ event: DeviceEvent) -> DeviceEvent {
        switch event {
        case .linkChanged(let state): .linkChanged(link(state))
        case .outboxTouched, .spacesTouched, .timerFired: event
        }
    }
}
