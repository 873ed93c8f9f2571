import SyncCore
import SyncModel
import Testing

@testable import SyncRecording

/// A replay reports where the session behaves differently than in the recording.
@Suite struct ReplayTests {
    static func entries(seed: UInt64 = 7, turns: Int = 120) -> [RecordingEntry] {
        var session = RandomSession(seed: seed)
        let ring = MemoryRing()
        var recorder = RingRecorder(store: ring, turns: 200, salt: session.salt, logger: .silent)
        for _ in 0..<turns { recorder.record(session.step()) }
        recorder.save()
        return RingReader((try? ring.recording()) ?? []).entries
    }

    private func differences(_ entries: [RecordingEntry]) -> [Replay.Difference] {
        var replay = Replay()
        return entries.compactMap { replay.follow($0).difference }
    }

    private func change(_ entries: inout [RecordingEntry], _ body: (inout RecordedTurn) -> Bool) throws -> Int {
        var number = 0
        for index in entries.indices {
            guard case .turn(var turn) = entries[index] else { continue }
            number += 1
            if body(&turn) {
                entries[index] = .turn(turn)
                return number
            }
        }
        throw StoreError(.missingEntry, "no turn was changed")
    }

    @Test func `a different action is reported with its turn and both actions`() throws {
        var entries = Self.entries()
        #expect(differences(entries) == [])
        let turn = try change(&entries) { turn in
            guard let index = turn.actions.firstIndex(where: { $0.hasPrefix("hello ") }) else { return false }
            turn.actions[index] = "hello #99"
            return true
        }
        let found = try #require(differences(entries).first)
        #expect(differences(entries).count == 1)
        #expect(found.turn == turn)
        #expect(found.description.hasPrefix("differs at turn \(turn), action "))
        #expect(found.description.contains("recorded: hello #99; replayed: hello #"))
    }

    @Test func `a missing and an additional action are reported`() throws {
        var entries = Self.entries()
        let first = try change(&entries) { turn in
            guard !turn.actions.isEmpty else { return false }
            turn.actions.removeLast()
            return true
        }
        let second = try change(&entries) { turn in
            guard turn.actions.isEmpty else { return false }
            turn.actions.append("dance")
            return true
        }
        let words = differences(entries).sorted { $0.turn < $1.turn }.map(\.description)
        #expect(words.count == 2)
        #expect(
            words.contains { $0.hasPrefix("differs at turn \(first),") && $0.contains("recorded: nothing; replayed: ") }
        )
        #expect(
            words.contains {
                $0.hasPrefix("differs at turn \(second),") && $0.hasSuffix("recorded: dance; replayed: nothing")
            })
    }

    @Test func `different random numbers and a different count of them are reported`() throws {
        var entries = Self.entries()
        let turn = try change(&entries) { turn in
            guard !turn.draws.isEmpty else { return false }
            turn.draws.append(1)
            return true
        }
        #expect(
            differences(entries).first?.description
                == "differs at turn \(turn) in the count of random numbers: recorded: 2; replayed: 1")

        entries = Self.entries()
        let empty = try change(&entries) { turn in
            guard !turn.draws.isEmpty else { return false }
            turn.draws = []
            return true
        }
        #expect(differences(entries).first?.turn == empty)

        entries = Self.entries()
        let other = try change(&entries) { turn in
            guard !turn.draws.isEmpty else { return false }
            turn.draws[0] ^= 1 << 60
            return true
        }
        #expect(differences(entries).first?.turn == other)
    }

    /// Regression test: the pause was not recorded, so the replay sent a hello at once.
    @Test func `a run that starts within a server's pause waits in its replay, too`() throws {
        var session = RandomSession(seed: 7)
        var stored = StoredSession(
            identity: ClientIdentity(client: Redaction.redactedClient, incarnation: 0), epoch: nil, account: nil,
            spaces: [], outbox: OutboxSummary())
        stored.pause = .seconds(40)
        let ring = MemoryRing()
        var recorder = RingRecorder(store: ring, turns: 200, salt: session.salt, logger: .silent)
        let turn = session.turn(.host(.started(stored, .up)))
        #expect(!turn.actions.contains { $0.recordedText.hasPrefix("hello ") }, "\(turn.actions)")
        recorder.record(turn)
        recorder.save()
        #expect(differences(RingReader(try ring.recording()).entries) == [])
    }

    @Test func `actions that differ in one value have different texts`() {
        let identity = ClientIdentity(client: Redaction.redactedClient, incarnation: 0)
        func push(_ cursors: [Cursor]) -> SyncAction {
            let request = PushRequest(
                identity: identity, epoch: nil, cursors: cursors, acknowledged: .first, transactions: [])
            return .server(.send(Serial(rawValue: 1), .push(request)))
        }
        func pull(_ receipt: Cursor?) -> SyncAction {
            let request = PullRequest(space: .default, cursor: nil, receipt: receipt, limit: 10)
            return .server(.send(Serial(rawValue: 1), .pull(request)))
        }
        func record(_ receipt: CommitReceipt?) -> SyncAction {
            let result = TransactionResult(
                number: .first, outcome: .applied(version: Version(7), uids: [], conflicts: []), receipt: receipt)
            return .store(.record([result], of: identity, serverTime: .zero))
        }
        func apply(_ hasMoreNotices: Bool) -> SyncAction {
            let page = PullPage(
                space: .default, epoch: Epoch(rawValue: "e"), serverTime: .zero, content: .commits([]),
                cursor: Cursor(rawValue: "c"), version: Version(7), head: Version(7), hasMore: false,
                hasMoreNotices: hasMoreNotices)
            return .store(.apply(page, after: nil, brake: nil))
        }
        let (one, two) = (Cursor(rawValue: "c_1"), Cursor(rawValue: "c_2"))
        let actions = [
            push([]), push([one]), push([one, two]), pull(nil), pull(one), pull(two), record(nil),
            record(CommitReceipt(space: .default, version: Version(7), cursor: one)),
            record(CommitReceipt(space: .default, version: Version(8), cursor: one)),
            record(CommitReceipt(space: .default, version: Version(7), cursor: two)), apply(false), apply(true),
        ]
        #expect(Set(actions.map(\.recordedText)).count == actions.count, "\(actions.map(\.recordedText))")
    }

    @Test func `a session that has silently diverged is reported at the next start`() throws {
        var entries = Self.entries()
        let index = try #require(
            entries.indices.last { index in
                if case .start(let start) = entries[index] { start.continues } else { false }
            })
        guard case .start(var start) = entries[index] else { return }
        let session = start.session
        start.session = SessionMachine(
            phase: session.phase, link: session.link, outbox: session.outbox, pulls: session.pulls,
            hints: session.hints, epoch: session.epoch, account: session.account, nextSerial: session.nextSerial + 1)
        entries[index] = .start(start)
        let found = try #require(differences(entries).first)
        #expect(found.what == .state)
        #expect(found.description.contains("before turn"))
    }
}
