package import SyncModel

/// An event from the program that runs the engine, or from its user.
package enum HostEvent: Hashable, Sendable {
    case started(StoredSession, LinkState)
    case syncRequested
    case credentialsChanged
    /// The user has agreed to the deletions that the mass-delete brake held back.
    case deletesAllowed(SpaceID)
    case stopRequested
    /// The host has cancelled the run. The session ends without waiting for requests in flight.
    case aborted

    package enum Name: String, CaseIterable {
        case started
        case syncRequested = "sync_requested"
        case credentialsChanged = "credentials_changed"
        case deletesAllowed = "deletes_allowed"
        case stopRequested = "stop_requested"
        case aborted
    }

    package var label: EventLabel<Name> {
        switch self {
        case .started(let session, let link):
            EventLabel(
                .started, " as incarnation \(session.identity.incarnation), link \(link.word), \(session.outbox.facts)")
        case .syncRequested: EventLabel(.syncRequested)
        case .credentialsChanged: EventLabel(.credentialsChanged)
        case .deletesAllowed(let space): EventLabel(.deletesAllowed, " in \(space)")
        case .stopRequested: EventLabel(.stopRequested)
        case .aborted: EventLabel(.aborted)
        }
    }
}
