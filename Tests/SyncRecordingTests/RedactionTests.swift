import SyncCore
import SyncModel
import TestRings
import Testing

@testable import SyncRecording

/// Tests redaction, and that the session behaves the same without the removed data.
@Suite struct RedactionTests {
    @Test(.ring(.test), arguments: TestRing.sample(0..<6, 0..<40))
    func `the session's actions for a redacted event are the redacted actions for the event`(seed: Int) {
        var session = RandomSession(seed: UInt64(seed))
        let redaction = Redaction(salt: session.salt)
        var redacted = SessionMachine()
        for _ in 0..<300 {
            let turn = session.step()
            let actions = redacted.handle(
                redaction.event(turn.event), now: turn.at, policy: turn.policy, random: ScriptedRandom(turn.draws))
            // As in a replay, the messages that the session itself creates are not compared.
            #expect(
                actions.map(Redaction.messagesOnly.action) == turn.actions.map(redaction.action), "\(turn.event)")
            guard Redaction.messagesOnly.session(redacted) == redaction.session(session.machine) else {
                Issue.record("the states differ after \(turn.event)")
                return
            }
        }
    }

    @Test(.ring(.test), arguments: 0..<10)
    func `no line of a recording contains a secret`(seed: Int) {
        var session = RandomSession(seed: UInt64(seed))
        let ring = MemoryRing()
        var recorder = RingRecorder(store: ring, turns: 50, salt: session.salt, logger: .silent)
        for _ in 0..<300 { recorder.record(session.step()) }
        recorder.save()
        for line in ring.everything {
            for secret in ["canary", "7f3a", "example", "ned", "ca9a27f3"] {
                #expect(!line.lowercased().contains(secret), "\(secret) in \(line)")
            }
        }
        #expect(ring.everything.count > 300)
    }

    @Test func `redacted names are consistent within a recording and differ between recordings`() {
        let one = Redaction(salt: (1, 2))
        let other = Redaction(salt: (1, 3))
        let cursor = Cursor(rawValue: "here")
        #expect(one.cursor(cursor) == one.cursor(cursor))
        #expect(one.cursor(cursor) != other.cursor(cursor))
        #expect(one.cursor(cursor) != one.cursor(Cursor(rawValue: "there")))
        #expect(one.cursor(cursor)?.rawValue.dropFirst(2) != one.epoch(Epoch(rawValue: "here")).rawValue.dropFirst(2))
        #expect(one.space(.default) == .default)
        #expect(one.space("default_of_ned").rawValue.hasPrefix("s_"))
    }
}

/// A generator that returns the given numbers, and then pseudorandom ones. If it repeated one number, some draws would
/// never end.
struct ScriptedRandom: RandomNumberGenerator {
    private var rest: ArraySlice<UInt64>
    private var more = SplitMix64(state: 1)

    init(_ numbers: [UInt64]) {
        rest = numbers[...]
    }

    mutating func next() -> UInt64 { rest.popFirst() ?? more.next() }
}
