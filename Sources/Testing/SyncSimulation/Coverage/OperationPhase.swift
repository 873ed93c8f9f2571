/// The activity during which a fault happens.
public enum OperationPhase: String, Hashable, Sendable, CaseIterable {
    // Between a device and the server.
    case idle
    case awaitingHello = "hello"
    /// A push is in transit to the server.
    case pushTravels = "push travels"
    /// The server has handled a push, and the device has not received the response.
    case pushCommitted = "push committed"
    case pullTravels = "pull travels"
    /// The server has answered a pull, and the page is in transit.
    case pageTravels = "page travels"

    // In the store of a device.
    case opening
    /// A user's write, or a checkpoint of the WAL.
    case writing
    case takingBatch = "taking batch"
    case recordingResults = "recording results"
    case applyingPage = "applying page"
    /// The stored state of the session changes: for example, a cursor is reset, a space vacated, or an epoch adopted.
    case changingSession = "changing session"
    /// Any operation that only reads.
    case reading

    // In the store of the server.
    case serverOpening = "server opens"
    case serverCommitting = "server commits"
    case serverReading = "server reads"

    static let exchanges: [OperationPhase] = [.awaitingHello, .pushTravels, .pushCommitted, .pullTravels, .pageTravels]
    static let ofStores: [OperationPhase] = [
        .opening, .writing, .takingBatch, .recordingResults, .applyingPage, .changingSession, .reading,
    ]
    static let ofServers: [OperationPhase] = [.serverOpening, .serverCommitting, .serverReading]
}
