import SyncAuthority
import SyncModel

/// The entry of one message in the recording. Does nothing when there is no recording.
struct MessageRecord: Sendable {
    private let simulation: Simulation
    private let id: RecordedMessage.ID?
    private let call: Int
    private let copy: Int
    private let device: String

    private var recording: WorldRecording? { simulation.recording }

    /// Records a request of a device.
    init(
        _ simulation: Simulation, _ number: Int?, _ call: ServerRequest, copy: Int, from device: String, isLate: Bool
    ) {
        self.simulation = simulation
        self.call = number ?? 0
        self.copy = copy
        self.device = device
        id = simulation.recording?.sent(
            .request, call.word, detail: call.detail, call: number ?? 0, copy: copy, from: device, to: "server",
            at: simulation.now, isLate: isLate)
    }

    /// Records a hint of the server.
    init(_ simulation: Simulation, hint: SpaceHeads, to device: String) {
        self.simulation = simulation
        self.device = device
        copy = 0
        call = simulation.recording?.call() ?? 0
        id = simulation.recording?.sent(
            .hint,
            "hint " + hint.heads.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "),
            call: call, from: "server", to: device, at: simulation.now)
    }

    private init(response label: String, _ detail: String, to request: MessageRecord, isLate: Bool) {
        simulation = request.simulation
        call = request.call
        copy = request.copy
        device = request.device
        id = simulation.recording?.sent(
            .response, label, detail: detail, call: call, copy: copy, from: "server", to: device, at: simulation.now,
            isLate: isLate)
    }

    func ended(_ fate: RecordedMessage.Fate) {
        recording?.ended(id, fate, at: simulation.now)
    }

    func damaged(_ damage: Damage) {
        recording?.damaged(id, damage.words)
    }

    // MARK: Requests

    /// Records that the server starts to handle the request.
    func requestArrived() {
        ended(.arrived)
        recording?.takenInHand(id)
    }

    /// Records that no server was running, or that the server died while handling the request.
    func nobodyAnswers() {
        _ = recording?.answered()
        recording?.changeFate(id, .unreachable)
    }

    /// Records that the server sends its response, and returns the entry of the response.
    func response(isLate: Bool) -> MessageRecord {
        let response = recording?.answered()
        return MessageRecord(response: response?.label ?? "response", response?.detail ?? "", to: self, isLate: isLate)
    }
}

extension Damage {
    fileprivate var words: String {
        switch self {
        case .flip(let place): "a bit was flipped \(Int(place * 100)) % of the way"
        case .cut(let place): "only the first \(Int(place * 100)) % arrived"
        case .page: "a captive portal's page came instead"
        case .empty: "nothing was in it"
        }
    }
}
