import SyncCore
import SyncModel
import Testing

/// Drives a session step by step. It holds the clock, the armed timers, and the open requests, and a test answers the
/// requests.
struct SessionHarness {
    var session = SessionMachine()
    var policy = SyncPolicy()
    var now = Duration.zero
    var random = TestRandom(seed: 1)
    private(set) var timers: [Serial: Duration] = [:]
    private(set) var requests: [Serial: EngineRequest] = [:]
    private(set) var hintStreams: Set<Serial> = []
    /// The store actions that the test has not yet answered, oldest first.
    var storeActions: [StoreAction] = []
    var notes: [ContactChange] = []
    private(set) var isFinished = false
    private var turns: [(now: Duration, event: SyncEvent, actions: [SyncAction])] = []

    static let epoch = Epoch(rawValue: "epoch-1")
    static let account = AccountID(rawValue: "ada")
    static let identity = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: 0)
    static let hello = hello(of: epoch)

    static func hello(of epoch: Epoch) -> ServerHello {
        ServerHello(
            protocolVersions: 1...1, epoch: epoch, account: account, serverTime: HybridTime(rawValue: 1),
            limits: ServerLimits(pushBytes: 1_000_000, pushTransactions: 100, pageRows: 500))
    }

    static func stored(
        epoch: Epoch? = epoch, account: AccountID? = account, outbox: OutboxSummary = OutboxSummary(),
        spaces: [SpaceID] = [.default], cursor: Cursor? = nil, version: Version = .zero, isComplete: Bool = false
    ) -> StoredSession {
        StoredSession(
            identity: identity, epoch: epoch, account: account,
            spaces: spaces.map { StoredSpace(space: $0, cursor: cursor, version: version, isComplete: isComplete) },
            outbox: outbox)
    }

    @discardableResult
    mutating func send(_ event: SyncEvent) -> [SyncAction] {
        let actions = session.handle(event, now: now, policy: policy, random: random)
        // The session draws from a copy of the generator, so the next event needs a different state.
        random.state &+= 0x9E37_79B9_7F4A_7C15
        turns.append((now, event, actions))
        for action in actions { note(action) }
        return actions
    }

    /// Returns the newest events with their times and actions, one per line.
    ///
    /// The text is made only here, because printing a page by reflection takes longer than handling it.
    func log(last count: Int) -> String {
        turns.suffix(count).map { "\($0.now) \($0.event) -> \($0.actions)" }.joined(separator: "\n")
    }

    private mutating func note(_ action: SyncAction) {
        switch action {
        case .server(.send(let serial, .hints)): hintStreams.insert(serial)
        case .server(.send(let serial, let request)): requests[serial] = request
        case .server(.closeHints(let serial)): hintStreams.remove(serial)
        case .server(.abandon(let serial)): requests[serial] = nil
        case .timer(.arm(let serial, let delay)): timers[serial] = now + delay
        case .timer(.disarm(let serial)): timers[serial] = nil
        case .store(let action): storeActions.append(action)
        case .checkpoint: break
        case .note(let report): notes.append(report)
        case .finish: isFinished = true
        }
    }

    /// Fires the next timer. Returns false if none is armed.
    @discardableResult
    mutating func fireNextTimer() -> Bool {
        guard let next = timers.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) else { return false }
        now = max(now, next.value)
        timers[next.key] = nil
        send(.device(.timerFired(next.key)))
        return true
    }

    /// Fires the next timer. Fails the test and returns false if none is armed.
    @discardableResult
    mutating func wake() -> Bool {
        let isArmed = fireNextTimer()
        if !isArmed { Issue.record("no timer is armed:\n\(log(last: 6))") }
        return isArmed
    }

    /// Fires timers while a condition holds. Fails the test if no timer is armed, or if the condition still holds after
    /// many timers.
    ///
    /// - Parameter failure: the result of each pull that is open before a timer fires; nil to leave pulls open.
    mutating func wake(while condition: (SessionHarness) -> Bool, failingPullsWith failure: TransportError? = nil) {
        for _ in 0..<1_000 {
            guard condition(self) else { return }
            if let failure, pull != nil { answerPull(.failure(failure)) }
            guard fireNextTimer() else { break }
        }
        if condition(self) { Issue.record("the timers do not end the wait:\n\(log(last: 6))") }
    }

    /// Returns the first value that `match` returns for an open request.
    func open<Value>(_ match: (Serial, EngineRequest) -> Value?) -> Value? {
        for serial in requests.keys.sorted() {
            if let request = requests[serial], let value = match(serial, request) { return value }
        }
        return nil
    }

    var openHello: Serial? {
        open { if case .hello = $1 { $0 } else { nil } }
    }

    var push: (serial: Serial, request: PushRequest)? {
        open { if case .push(let request) = $1 { ($0, request) } else { nil } }
    }

    var pull: (serial: Serial, request: PullRequest)? {
        open { if case .pull(let request) = $1 { ($0, request) } else { nil } }
    }

    mutating func answerHello(_ result: Result<ServerHello, TransportError> = .success(hello)) {
        guard let serial = openHello else {
            Issue.record("no hello is open")
            return
        }
        requests[serial] = nil
        send(.server(.helloEnded(serial, result)))
    }

    mutating func answerPush(_ result: Result<PushResponse, TransportError>) {
        guard let serial = push?.serial else {
            Issue.record("no push is open")
            return
        }
        requests[serial] = nil
        send(.server(.pushEnded(serial, result)))
    }

    mutating func answerPull(_ result: Result<PullResponse, TransportError>) {
        guard let (serial, request) = pull else {
            Issue.record("no pull is open")
            return
        }
        requests[serial] = nil
        send(.server(.pullEnded(serial, request.space, result)))
    }

    /// Answers the oldest store action.
    @discardableResult
    mutating func answerStore(_ event: StoreEvent) -> [SyncAction] {
        guard !storeActions.isEmpty else {
            Issue.record("the store was not asked anything")
            return []
        }
        storeActions.removeFirst()
        return send(.store(event))
    }

    static func page(
        version: Version, head: Version? = nil, cursor: String? = nil, hasMore: Bool = false,
        hasMoreNotices: Bool = false, epoch: Epoch = epoch, of space: SpaceID = .default
    ) -> PullPage {
        PullPage(
            space: space, epoch: epoch, serverTime: HybridTime(rawValue: 1), content: .commits([]),
            cursor: Cursor(rawValue: cursor ?? "at-\(version)"), version: version, head: head ?? version,
            hasMore: hasMore, hasMoreNotices: hasMoreNotices)
    }

    static func applied(
        version: Version, cursor: String? = nil, outbox: OutboxSummary = OutboxSummary(), changed: Int = 0,
        notice: Int64? = nil, of space: SpaceID = .default
    ) -> StoreEvent {
        .pageApplied(
            space,
            .applied(
                StoredSpace(
                    space: space, cursor: Cursor(rawValue: cursor ?? "at-\(version)"), version: version,
                    isComplete: true, notices: notice.map { NoticeRequest(clients: [identity.client], after: $0) }),
                outbox: outbox, changedRecords: changed))
    }

    static func vacated(
        _ space: SpaceID = .default, outbox: OutboxSummary = OutboxSummary(), removed: Int = 0
    ) -> StoreEvent {
        .spaceVacated(
            space,
            .vacated(
                VacatedSpace(
                    stored: StoredSpace(space: space, cursor: nil, version: .zero, isComplete: false, hasAccess: false),
                    outbox: outbox, removedRecords: removed)))
    }

    static func batch(
        _ numbers: ClosedRange<Int64>, outbox: OutboxSummary, in space: SpaceID = .default, text: String? = nil,
        isEmptied: Bool = false
    ) -> PushBatch {
        PushBatch(
            identity: identity, epoch: epoch, acknowledged: TransactionNumber(numbers.lowerBound),
            transactions: numbers.map {
                NumberedTransaction(
                    number: TransactionNumber($0), hash: PayloadHash(rawValue: "\($0)"),
                    transaction: Transaction(space: space, mutations: text.map { [mutation(text: $0)] } ?? []))
            }, outbox: outbox, isEmptied: isEmptied)
    }

    private static func mutation(text: String) -> Mutation {
        Mutation(
            collection: "users", record: RecordID(bits: Identifier128(high: 1, low: 1)), time: .zero,
            intent: .create(["name": .text(text)]))
    }

    static func results(_ numbers: ClosedRange<Int64>, version: Int64) -> PushResponse {
        .answered(
            numbers.map {
                TransactionResult(
                    number: TransactionNumber($0),
                    outcome: .applied(version: Version(version + $0), uids: [], conflicts: []))
            }, epoch: epoch, serverTime: HybridTime(rawValue: 1))
    }

    /// Returns a harness whose session is online and, by default, has nothing to do.
    static func online(outbox: OutboxSummary = OutboxSummary(), spaces: [SpaceID] = [.default]) -> SessionHarness {
        var harness = SessionHarness()
        harness.send(.host(.started(stored(spaces: spaces, cursor: Cursor(rawValue: "at-0"), isComplete: true), .up)))
        harness.answerHello()
        for space in spaces {
            harness.answerPull(.success(.page(page(version: .zero, of: space))))
            harness.answerStore(applied(version: .zero, of: space))
        }
        if outbox.count > 0 { harness.send(.store(.outboxCounted(outbox))) }
        return harness
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a small repeatable generator.
struct TestRandom: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
