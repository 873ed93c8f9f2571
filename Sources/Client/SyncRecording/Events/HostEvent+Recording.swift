import SyncCore
import SyncJSON
import SyncModel

extension JSONWriter {
    mutating func event(_ event: HostEvent) {
        name(event.label)
        switch event {
        case .started(let session, let link):
            self.link(link)
            member("session") { $0.session(session) }
        case .deletesAllowed(let space): member("space", space.rawValue)
        case .syncRequested, .credentialsChanged, .stopRequested, .aborted: break
        }
    }
}

extension RecordingNode {
    func event(_ name: HostEvent.Name) throws(RecordingError) -> HostEvent {
        switch name {
        case .started: .started(try member("session").session(), try link())
        case .syncRequested: .syncRequested
        case .credentialsChanged: .credentialsChanged
        case .deletesAllowed: .deletesAllowed(try member("space").space())
        case .stopRequested: .stopRequested
        case .aborted: .aborted
        }
    }
}

extension Redaction {
    func event(_ event: HostEvent) -> HostEvent {
        switch event {
        case .started(let stored, let state): .started(session(stored), link(state))
        case .deletesAllowed(let name): .deletesAllowed(space(name))
        case .syncRequested, .credentialsChanged, .stopRequested, .aborted: event
        }
    }
}
