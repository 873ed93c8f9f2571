/// The activity that a fault has struck.
public enum OperationPhase: String, Hashable, Sendable, CaseIterable {
    // Between a device and the server.
    case idle
    case awaitingHello = "hello"
    /// A push is on its way to the server.
    case pushTravels = "push travels"
    /// The server has done what a push asked, and the device has not heard of it.
    case pushCommitted = "push committed"
    case pullTravels = "pull travels"
    /// The server has answered a pull, and the page is on its way.
    case pageTravels = "page travels"

    // In the store of a device.
    case opening
    /// A user's write.
    case writing
    case takingBatch = "taking batch"
    case recordingResults = "recording results"
    case applyingPage = "applying page"
    /// A cursor is reset, an epoch adopted, an identity renewed.
    case changingSession = "changing session"
    /// Anything that only reads.
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
