import Foundation
import SyncCore
import SyncModel
import Testing

@testable import SyncRecording

/// Checks that this build writes and reads `Schemas/recording/example.jsonl`.
@Suite struct ExampleTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Schemas/recording/example.jsonl")

    /// Returns the recording of a short sync of two spaces: a hello that fails once, a push with a rejection, a page,
    /// and a stop.
    private static func recording() -> Recording {
        var session = ScriptedSession()
        let epoch = Epoch(rawValue: "first")
        let account = AccountID(rawValue: "ada")
        let hello = ServerHello(
            protocolVersions: 1...1, epoch: epoch, account: account,
            serverTime: HybridTime(wall: ScriptedSession.wall),
            limits: ServerLimits(pushBytes: 4_194_304, pushTransactions: 1_000, pageRows: 10_000))
        let identity = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 2)), incarnation: 0)
        let outbox = OutboxSummary(waiting: 1, sent: 0, answered: 0, bytes: 130, activeJournalEntries: 0)
        let none = OutboxSummary(activeJournalEntries: 1)
        let spaces: [SpaceID] = [.default, "letters"]
        session.handle(
            .host(
                .started(
                    StoredSession(
                        identity: identity, epoch: epoch, account: account,
                        spaces: spaces.map { StoredSpace(space: $0, cursor: nil, version: .zero, isComplete: false) },
                        outbox: outbox), .up)), after: .zero)
        session.handle(.server(.helloEnded(Serial(rawValue: 0), .failure(TransportError(.unreachable, "no route")))))
        session.handle(.device(.timerFired(Serial(rawValue: 2))), after: .milliseconds(800))
        session.handle(.server(.helloEnded(Serial(rawValue: 3), .success(hello))))
        session.handle(
            .store(
                .batchTaken(
                    PushBatch(
                        identity: identity, epoch: epoch, acknowledged: .first,
                        transactions: [Redaction.transaction(.first, in: "letters")], outbox: outbox))), after: .zero)
        let rejection = Rejection(code: .forbidden, message: "not yours", mutation: 0)
        session.handle(
            .server(
                .pushEnded(
                    Serial(rawValue: 10),
                    .success(
                        .answered(
                            [TransactionResult(number: .first, outcome: .rejected(rejection))], epoch: epoch,
                            serverTime: hello.serverTime)))))
        session.handle(.store(.resultsRecorded(none)), after: .zero)
        let cursor = Cursor(rawValue: "1")
        let page = PullPage(
            space: .default, epoch: epoch, serverTime: hello.serverTime,
            content: .snapshot([], isFirst: true, isLast: true), cursor: cursor, version: Version(4), head: Version(4),
            hasMore: false)
        session.handle(.server(.pullEnded(Serial(rawValue: 6), .default, .success(.page(page)))))
        session.handle(
            .store(
                .pageApplied(
                    .default,
                    .applied(
                        StoredSpace(space: .default, cursor: cursor, version: Version(4), isComplete: true),
                        outbox: none,
                        changedRecords: 2))), after: .zero)
        session.handle(.host(.stopRequested), after: .seconds(2))
        return Recording(
            header: RecordingHeader(
                exportedAt: WallTime(milliseconds: ScriptedSession.wall.milliseconds + 60_000), build: "0.1.0",
                schema: 2),
            entries: RingReader((try? session.ring.recording()) ?? []).entries)
    }

    /// To update the golden file after an intended change, set TOMBOLO_WRITE_GOLDEN=1.
    @Test func `this build writes the example file, and its replay has the same actions`() throws {
        let bytes = RecordingFile.bytes(Self.recording())
        if ProcessInfo.processInfo.environment["TOMBOLO_WRITE_GOLDEN"] != nil {
            try Data(bytes).write(to: Self.file)
        }
        let found = try Array(Data(contentsOf: Self.file))
        #expect(String(decoding: found, as: UTF8.self) == String(decoding: bytes, as: UTF8.self))
        let recording = try RecordingFile.recording(found)
        #expect(recording.turnCount == 10)
        var replay = Replay()
        #expect(recording.entries.compactMap { replay.follow($0).difference } == [])
    }
}

/// A session, with a recorder, that gets the events that a test sends.
private struct ScriptedSession {
    static let wall = WallTime(milliseconds: 1_760_000_000_000)

    let ring = MemoryRing()
    private var recorder: RingRecorder
    private var session = SessionMachine()
    private var now = Duration.seconds(5)

    init() {
        recorder = RingRecorder(store: ring, turns: 100, salt: (3, 4), logger: .silent)
    }

    mutating func handle(_ event: SyncEvent, after pause: Duration = .milliseconds(40)) {
        now += pause
        let before = session
        let policy = SyncPolicy()
        var draws: [UInt64] = []
        if case .server(.helloEnded(_, .failure)) = event { draws = [0xC000_0000_0000_0000] }
        let actions = session.handle(event, now: now, policy: policy, random: ScriptedRandom(draws))
        recorder.record(
            SessionTurn(
                at: now, wall: Self.wall, policy: policy, before: before, event: event, draws: draws, actions: actions))
        recorder.save()
    }
}
