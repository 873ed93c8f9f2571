import SyncCore
import SyncModel

@testable import SyncRecording

/// A session that gets random events of a store, a server, and a link, chosen by a seed. Every text from outside the
/// session contains a secret.
struct RandomSession {
    static let canary = "canary-7f3a"

    let salt: (UInt64, UInt64) = (1, 2)
    /// Whether the server refuses each push of one transaction, so that the session withdraws transactions.
    let refusesSingleTransactions: Bool
    var random: SplitMix64
    private(set) var machine = SessionMachine()
    private(set) var now = Duration.seconds(100)
    private var commands: [PendingCommand] = []
    private var timers: [Serial] = []
    private var version: Int64 = 0

    /// A command of the session that still waits for its response.
    private enum PendingCommand {
        case server(Serial, EngineRequest)
        case store(StoreAction)
    }

    static let spaces: [SpaceID] = ["default", "canary_7f3a_of_ned"]

    var policy: SyncPolicy {
        var policy = SyncPolicy()
        policy.pageRows = 77
        policy.backoff.factor = 1.75
        return policy
    }

    init(seed: UInt64, refusesSingleTransactions: Bool = false) {
        self.refusesSingleTransactions = refusesSingleTransactions
        random = SplitMix64(state: seed)
    }

    /// Handles an event, and returns the turn that the engine would pass to a recorder.
    mutating func turn(_ event: SyncEvent) -> SessionTurn {
        let before = machine
        let recorded = RecordedDraws(random: random)
        let actions = machine.handle(event, now: now, policy: policy, random: RecordingRandom(recorded: recorded))
        random = recorded.random
        for action in actions { note(action) }
        return SessionTurn(
            at: now, wall: WallTime(milliseconds: 1_700_000_000_000), policy: policy, before: before, event: event,
            draws: recorded.numbers, actions: actions)
    }

    mutating func step() -> SessionTurn {
        now += .nanoseconds(Int64.random(in: 0..<2_000_000_000, using: &random))
        return turn(next())
    }

    private mutating func note(_ action: SyncAction) {
        switch action {
        case .timer(.arm(let serial, _)): timers.append(serial)
        case .timer(.disarm(let serial)): timers.removeAll { $0 == serial }
        case .server(.send(let serial, let request)): commands.append(.server(serial, request))
        case .store(let action): commands.append(.store(action))
        case .note, .checkpoint, .server(.abandon), .server(.closeHints), .finish: break
        }
    }

    // MARK: Events

    private mutating func next() -> SyncEvent {
        if machine == SessionMachine() { return .host(.started(stored(), one(in: 4) ? .down(Self.canary) : .up)) }
        if !commands.isEmpty, !one(in: 6) {
            switch commands.remove(at: Int.random(in: 0..<commands.count, using: &random)) {
            case .server(let serial, let request): return .server(response(request, serial))
            case .store(let action): return .store(response(action))
            }
        }
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<12:
            guard let timer = timers.randomElement(using: &random) else { return .host(.syncRequested) }
            return .device(.timerFired(timer))
        case 12..<15: return .device(.outboxTouched)
        case 15: return .device(.spacesTouched)
        case 16..<19: return .device(.linkChanged(one(in: 2) ? .up : .down("network \(Self.canary)")))
        case 19: return .device(.linkChanged(.up))
        case 20: return .host(.credentialsChanged)
        case 21..<25: return .host(.deletesAllowed(space()))
        case 25..<27: return .host(.syncRequested)
        case 27: return one(in: 12) ? .host(.stopRequested) : .device(.outboxTouched)
        case 28: return one(in: 30) ? .host(.aborted) : .device(.outboxTouched)
        case 29..<33:
            return .server(
                .hint(machine.hints.openStream ?? serial(), Hint(space: space(), head: Version(version + 1))))
        case 33: return .server(.hintsEnded(machine.hints.openStream ?? serial()))
        case 34: return .store(.nothingToPush(outbox()))
        case 35: return .store(.failed(.session(.countingOutbox), broken()))
        case 36: return .store(.sessionChanged(stored()))
        default: return .store(.outboxCounted(outbox()))
        }
    }

    private mutating func response(_ request: EngineRequest, _ serial: Serial) -> ServerEvent {
        switch request {
        case .hello: .helloEnded(serial, one(in: 5) ? .failure(failure()) : .success(hello()))
        case .push(let request): .pushEnded(serial, pushResult(request))
        case .pull(let request): .pullEnded(serial, request.space, pullResult(request))
        case .hints: .hint(serial, Hint(space: .default, head: Version(version)))
        }
    }

    private mutating func response(_ action: StoreAction) -> StoreEvent {
        switch action {
        case .countOutbox: return one(in: 8) ? .failed(.session(.countingOutbox), broken()) : .outboxCounted(outbox())
        case .readSpaces:
            return one(in: 8)
                ? .failed(.session(.readingSpaces), broken()) : .spacesRead(stored().spaces.filter { _ in !one(in: 4) })
        case .takeBatch:
            if one(in: 8) { return .failed(.outbox(.takingBatch), broken()) }
            return one(in: 4) ? .nothingToPush(OutboxSummary()) : .batchTaken(batch())
        case .record: return one(in: 8) ? .failed(.outbox(.recordingResults), broken()) : .resultsRecorded(outbox())
        case .withdraw: return one(in: 8) ? .failed(.outbox(.withdrawing), broken()) : .transactionWithdrawn(outbox())
        case .apply(let page, _, let brake):
            if one(in: 8) { return .failed(.space(page.space, .applyingPage), broken()) }
            if brake != nil, one(in: 6) { return .pageApplied(page.space, .braked(deletes: 90, of: 100)) }
            return .pageApplied(
                page.space,
                .applied(
                    StoredSpace(space: page.space, cursor: page.cursor, version: page.version, isComplete: !one(in: 3)),
                    outbox: outbox(), changedRecords: 3))
        case .resetCursor(let space):
            return one(in: 4) ? .failed(.space(space, .resettingCursor), broken()) : .cursorReset(space)
        case .vacate(let space, _, let brake):
            if brake != nil, one(in: 5) { return .spaceVacated(space, .braked(deletes: 9, of: 9)) }
            let stored = StoredSpace(
                space: space, cursor: nil, version: .zero, isComplete: false, hasAccess: one(in: 3))
            return one(in: 4)
                ? .failed(.space(space, .vacating), broken())
                : .spaceVacated(
                    space, .vacated(VacatedSpace(stored: stored, outbox: outbox(), removedRecords: 4)))
        case .adopt: return one(in: 6) ? .failed(.session(.adopting), broken()) : .sessionChanged(stored())
        case .renewIdentity:
            return one(in: 4) ? .failed(.outbox(.renewingIdentity), broken()) : .sessionChanged(stored())
        }
    }

    private mutating func pushResult(_ request: PushRequest) -> Result<PushResponse, TransportError> {
        if refusesSingleTransactions, request.transactions.count == 1 {
            return .failure(TransportError(.refused, "not \(Self.canary)", isDefinite: true))
        }
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<3: return .failure(failure())
        case 3: return .success(.refused(.gap(expected: TransactionNumber(4))))
        case 4: return .success(.refused(.identityConflict(number: TransactionNumber(5))))
        case 5: return .success(.refused(.epochChanged(Epoch(rawValue: "other \(Self.canary)"))))
        case 6: return .success(.answered([], epoch: epoch(), serverTime: time()))
        default:
            let results = request.transactions.map { transaction in
                TransactionResult(number: transaction.number, outcome: outcome())
            }
            return .success(.answered(results, epoch: epoch(), serverTime: time()))
        }
    }

    private mutating func outcome() -> Outcome {
        version += 1
        if one(in: 4) {
            let codes: [RejectionCode] = [.forbidden, .malformed, RejectionCode(rawValue: Self.canary)]
            return .rejected(
                Rejection(
                    code: codes[Int.random(in: 0..<3, using: &random)], message: "no \(Self.canary)", mutation: 0))
        }
        let conflict = FieldConflict(
            collection: "users", record: id(), field: "username", base: .text(Self.canary),
            winner: .init(value: .text(Self.canary), stamp: stamp()),
            loser: .init(value: .text(Self.canary), stamp: stamp()), rule: .latestEdit)
        return .applied(
            version: Version(version), uids: [AssignedUID(collection: "users", record: id(), uid: UID(7))],
            conflicts: [conflict])
    }

    private mutating func pullResult(_ request: PullRequest) -> Result<PullResponse, TransportError> {
        switch Int.random(in: 0..<14, using: &random) {
        case 0..<2: return .failure(failure())
        case 2: return .success(.mustReset(.horizon))
        case 3: return one(in: 3) ? .success(.mustReset(.epoch)) : .success(.mustReset(.horizon))
        case 4: return .success(.noAccess(one(in: 4) ? Epoch(rawValue: "other \(Self.canary)") : epoch()))
        default: return .success(.page(page(of: request)))
        }
    }

    private mutating func page(of request: PullRequest) -> PullPage {
        version += 1
        let stands = one(in: 6)
        let content: PullPage.Content =
            one(in: 3)
            ? .snapshot(
                [SnapshotRows(collection: "users", records: [record()])], isFirst: one(in: 2), isLast: one(in: 2))
            : .commits([
                Commit(
                    version: Version(version),
                    changes: [
                        RecordChange(
                            collection: "users", id: id(),
                            effect: .created(uid: UID(1), ["username": .text(Self.canary)]))
                    ])
            ])
        return PullPage(
            space: one(in: 20) ? space() : request.space, epoch: epoch(), serverTime: time(), content: content,
            cursor: stands ? request.cursor ?? cursor() : cursor(),
            version: Version(one(in: 10) ? max(0, version - 5) : version), head: Version(version + 2),
            hasMore: one(in: 3))
    }

    private mutating func record() -> Record {
        Record(
            id: id(), uid: UID(3), version: Version(version), values: [.text(Self.canary), .integer(4)],
            unknown: ["motto": .text(Self.canary)])
    }

    private mutating func batch() -> PushBatch {
        let first = Int64.random(in: 0..<50, using: &random)
        let count = Int64.random(in: 1..<5, using: &random)
        // A push of a large transaction has a later deadline.
        let text = Self.canary + String(repeating: "x", count: one(in: 2) ? 0 : 30_000)
        return PushBatch(
            identity: identity(), epoch: epoch(), acknowledged: TransactionNumber(first),
            transactions: (first..<(first + count)).map { number in
                NumberedTransaction(
                    number: TransactionNumber(number), hash: PayloadHash(rawValue: Self.canary),
                    transaction: Transaction(
                        space: space(),
                        mutations: [
                            Mutation(
                                collection: "users", record: RecordID(bits: Identifier128(high: 1, low: 2)),
                                time: .zero, intent: .create(["username": .text(text)]))
                        ]))
            }, outbox: outbox())
    }

    // MARK: Values

    private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    private mutating func serial() -> Serial { Serial(rawValue: Int.random(in: 0..<40, using: &random)) }

    private mutating func space() -> SpaceID { Self.spaces[Int.random(in: 0..<2, using: &random)] }

    private mutating func epoch() -> Epoch { Epoch(rawValue: one(in: 12) ? "b \(Self.canary)" : "a \(Self.canary)") }

    private mutating func account() -> AccountID {
        AccountID(rawValue: one(in: 60) ? "b \(Self.canary)" : "a \(Self.canary)")
    }

    private mutating func cursor() -> Cursor { Cursor(rawValue: "\(Self.canary) \(version)") }

    private mutating func time() -> HybridTime {
        HybridTime(wall: WallTime(milliseconds: 1_700_000_000_000 + version), counter: 3)
    }

    private mutating func stamp() -> Stamp { Stamp(time: time(), client: identity().client) }

    private mutating func id() -> RecordID { RecordID.make(at: WallTime(milliseconds: 5), random: &random) }

    private mutating func identity() -> ClientIdentity {
        ClientIdentity(
            client: ClientID(bits: Identifier128(high: 0xCA9A_27F3_ACA9_A27F, low: 1)),
            incarnation: one(in: 3) ? 2 : 1)
    }

    private mutating func outbox() -> OutboxSummary {
        OutboxSummary(
            waiting: Int.random(in: 0..<4, using: &random), sent: Int.random(in: 0..<3, using: &random),
            answered: 1, bytes: 300, activeJournalEntries: 2)
    }

    private mutating func stored() -> StoredSession {
        StoredSession(
            identity: identity(), epoch: one(in: 3) ? nil : epoch(), account: one(in: 12) ? nil : account(),
            spaces: Self.spaces.map {
                StoredSpace(
                    space: $0, cursor: one(in: 3) ? nil : cursor(), version: Version(version), isComplete: one(in: 2))
            }, outbox: outbox())
    }

    private mutating func hello() -> ServerHello {
        ServerHello(
            protocolVersions: one(in: 12) ? 2...3 : 1...1, epoch: epoch(), account: account(),
            serverTime: time(),
            limits: ServerLimits(pushBytes: 9_000, pushTransactions: 3, pageRows: 50))
    }

    private mutating func failure() -> TransportError {
        let codes = TransportError.Code.allCases
        return TransportError(
            codes[Int.random(in: 0..<codes.count, using: &random)], "https://ned:\(Self.canary)@example.org said no",
            retryAfter: one(in: 4) ? .milliseconds(2_500) : nil, isDefinite: one(in: 3))
    }

    private mutating func broken() -> StoreError {
        let codes = StoreError.Code.allCases
        return StoreError(
            codes[Int.random(in: 0..<codes.count, using: &random)], "'\(Self.canary)' is not a valid name")
    }
}

extension HintsMachine {
    fileprivate var openStream: Serial? {
        switch state {
        case .opening(let stream), .open(let stream): stream
        case .closed, .waiting: nil
        }
    }
}

struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

private final class RecordedDraws {
    var random: SplitMix64
    var numbers: [UInt64] = []

    init(random: SplitMix64) {
        self.random = random
    }
}

private struct RecordingRandom: RandomNumberGenerator {
    let recorded: RecordedDraws

    mutating func next() -> UInt64 {
        let number = recorded.random.next()
        recorded.numbers.append(number)
        return number
    }
}
