import SyncCore
import SyncModel
import Testing

@testable import SyncRecording

/// A replay reports where the session behaves differently than in the recording.
@Suite struct ReplayTests {
    static func entries(seed: UInt64 = 7, turns: Int = 120) -> [RecordingEntry] {
        var life = RandomLife(seed: seed)
        let ring = MemoryRing()
        var recorder = RingRecorder(store: ring, turns: 200, salt: life.salt, logger: .silent)
        for _ in 0..<turns { recorder.record(life.step()) }
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
        #expect(found.description.contains("then hello #99; now hello #"))
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
        #expect(words.contains { $0.hasPrefix("differs at turn \(first),") && $0.contains("then nothing; now ") })
        #expect(
            words.contains { $0.hasPrefix("differs at turn \(second),") && $0.hasSuffix("then dance; now nothing") })
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
                == "differs at turn \(turn): then 2 random numbers were drawn; now 1")

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
