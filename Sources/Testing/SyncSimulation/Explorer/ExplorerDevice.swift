import SyncCore
import SyncModel

/// A device of a small world: the real session machine over a model of its store, with its timers and messages.
struct ExplorerDevice: Hashable, Sendable {
    let name: String
    private(set) var session = SessionMachine()
    var store: ModelStore
    /// The writes that the application has not made yet, in order.
    var script: [ExplorerWrite]
    private(set) var timers: [Serial: Duration] = [:]
    /// The requests in transit, and the responses on their way back.
    private(set) var inFlight: [Serial: Message] = [:]
    /// The pushes that the device has abandoned and that may still arrive. At most one is kept.
    private(set) var lateRequests: [PushRequest] = []

    enum Message: Hashable, Sendable {
        case request(EngineRequest)
        case response(ServerEvent)
    }

    init(name: String, client: ClientID, script: [ExplorerWrite]) {
        self.name = name
        self.script = script
        store = ModelStore(client: client)
        restart()
    }

    /// Starts the process, or restarts it after a crash. Only the store survives.
    mutating func restart() {
        for serial in inFlight.keys.sorted() { abandon(of: serial) }
        session = SessionMachine()
        timers = [:]
        inFlight = [:]
        handle(.host(.started(store.session, .up)))
    }

    /// Passes an event to the machine and carries out its actions, as the engine does.
    mutating func handle(_ first: SyncEvent) {
        var queue = [first]
        while !queue.isEmpty {
            let event = queue.removeFirst()
            let actions = session.handle(event, now: .zero, policy: ExplorerWorld.policy, random: ExplorerWorld.steady)
            for action in actions {
                switch action {
                case .server(.send(let serial, let request)): inFlight[serial] = .request(request)
                case .server(.abandon(let serial)), .server(.closeHints(let serial)): abandon(of: serial)
                case .timer(.arm(let serial, let delay)): timers[serial] = delay
                case .timer(.disarm(let serial)): timers[serial] = nil
                case .store(let action): queue.append(.store(store.response(action)))
                case .note, .checkpoint, .finish: break
                }
            }
        }
    }

    mutating func put(_ response: ServerEvent, at serial: Serial) {
        inFlight[serial] = .response(response)
    }

    /// Removes a message from transit and returns it; nil when it is not in transit.
    mutating func take(_ serial: Serial) -> Message? {
        inFlight.removeValue(forKey: serial)
    }

    mutating func takeDelayedPush() -> PushRequest? {
        lateRequests.popLast()
    }

    /// Fires the timer that is due first.
    mutating func fireEarliest() {
        guard let next = timers.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) else { return }
        fire(next.key)
    }

    mutating func fire(_ timer: Serial) {
        timers[timer] = nil
        handle(.device(.timerFired(timer)))
    }

    private mutating func abandon(of serial: Serial) {
        if case .request(.push(let request))? = inFlight.removeValue(forKey: serial), lateRequests.count < 1 {
            lateRequests.append(request)
        }
    }
}

/// A write of the application. Updates and deletes wait until the record exists on the device.
struct ExplorerWrite: Hashable, Sendable {
    let record: RecordID
    let kind: Kind

    enum Kind: Hashable, Sendable {
        case create(Int64)
        case set(Int64)
        case delete
    }
}
