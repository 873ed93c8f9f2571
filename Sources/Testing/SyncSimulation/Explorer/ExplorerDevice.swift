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
    /// The requests in transit, and the answers on their way back.
    private(set) var mail: [Serial: Letter] = [:]
    /// The pushes that the device has abandoned and that may still arrive.
    private(set) var strays: [PushRequest] = []

    enum Letter: Hashable, Sendable {
        case request(EngineRequest)
        case answer(ServerEvent)
    }

    init(name: String, client: ClientID, script: [ExplorerWrite]) {
        self.name = name
        self.script = script
        store = ModelStore(client: client)
        restart()
    }

    /// Starts the process, or restarts it after a crash. Only the store survives.
    mutating func restart() {
        for serial in mail.keys.sorted() { letGo(of: serial) }
        session = SessionMachine()
        timers = [:]
        mail = [:]
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
                case .server(.send(let serial, let request)): mail[serial] = .request(request)
                case .server(.abandon(let serial)), .server(.closeHints(let serial)): letGo(of: serial)
                case .timer(.arm(let serial, let delay)): timers[serial] = delay
                case .timer(.disarm(let serial)): timers[serial] = nil
                case .store(let action): queue.append(.store(store.answer(action)))
                case .note, .checkpoint, .finish: break
                }
            }
        }
    }

    mutating func put(_ answer: ServerEvent, at serial: Serial) {
        mail[serial] = .answer(answer)
    }

    /// Removes a message from transit and returns it.
    mutating func take(_ serial: Serial) -> Letter? {
        mail.removeValue(forKey: serial)
    }

    mutating func takeStray() -> PushRequest? {
        strays.popLast()
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

    private mutating func letGo(of serial: Serial) {
        if case .request(.push(let request))? = mail.removeValue(forKey: serial), strays.count < 1 {
            strays.append(request)
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
