import SyncCore
import SyncJSON
import SyncModel
import TestRings
import Testing

@testable import SyncRecording

/// Tests the lines of a recording: entries are read back unchanged, and errors are located.
@Suite struct EntryCodecTests {
    @Test(.ring(.test), arguments: 0..<20)
    func `every entry is read back unchanged from its line`(seed: Int) throws {
        var session = RandomSession(seed: UInt64(seed))
        let redaction = Redaction(salt: session.salt)
        for number in 0..<TestRing.sample(15, 100) {
            let turn = session.step()
            let entries: [RecordingEntry] = [
                .start(
                    RecordedStart(
                        at: turn.at, wall: turn.wall, continues: number % 2 == 0, policy: turn.policy,
                        session: redaction.session(turn.before))),
                .turn(
                    RecordedTurn(
                        at: turn.at, event: redaction.event(turn.event), carried: turn.event.carried,
                        draws: turn.draws, actions: turn.actions.map { redaction.action($0).recordedText })),
            ]
            for entry in entries {
                let line = EntryCodec.line(entry)
                #expect(!line.contains("\n"))
                guard try EntryCodec.entry(line) == entry else {
                    Issue.record("another entry came back from \(line)")
                    return
                }
            }
        }
    }

    @Test(.ring(.check)) func `the random events cover every kind of event and state`() {
        var words: Set<String> = []
        for seed in 0..<120 {
            var session = RandomSession(seed: UInt64(seed), refusesSingleTransactions: seed % 2 == 1)
            for _ in 0..<300 {
                let turn = session.step()
                var writer = JSONWriter()
                writer.object {
                    $0.event(Redaction.messagesOnly.event(turn.event))
                    $0.machine(turn.before)
                }
                for word in writer.bytes.split(separator: UInt8(ascii: "\"")) where word.count < 24 {
                    words.insert(String(decoding: word, as: UTF8.self))
                }
            }
        }
        let events =
            HostEvent.Name.allCases.map(\.rawValue) + DeviceEvent.Name.allCases.map(\.rawValue)
            + ServerEvent.Name.allCases.map(\.rawValue) + StoreEvent.Name.allCases.map(\.rawValue)
        let tasks =
            StoreTask.SessionTask.allCases.map(\.rawValue) + StoreTask.OutboxTask.allCases.map(\.rawValue)
            + StoreTask.SpaceTask.allCases.map(\.rawValue)
        let states = [
            "not_started", "running", "stopping", "finished", "down", "awaiting_hello", "online", "refused", "waiting",
            "in_flight", "renewing", "recording", "taking", "withdrawing", "pulling", "applying", "resetting", "braked",
            "resting", "opening", "open", "closed", "vacating",
        ]
        let details = [
            "gap", "identity_conflict", "epoch_changed", "must_reset", "no_access", "until", "again", "rest",
            "shrunk_limit", "shrunk_page", "identity", "reset", "store",
        ]
        let expected = events + tasks + states + details
        #expect(expected.filter { !words.contains($0) } == [])
    }

    @Test func `an invalid turn is refused with the location and the expected form`() throws {
        let good =
            #"{"turn":{"at":"1.5","event":{"is":"timer_fired","serial":3},"draws":["00000000000000ff"],"actions":["hello #4"]}}"#
        guard case .turn(let turn) = try EntryCodec.entry(good) else {
            Issue.record("no turn was read")
            return
        }
        #expect(turn.event == .device(.timerFired(Serial(rawValue: 3))))
        #expect(turn.draws == [255])
        let broken: [(String, String, String)] = [
            (#""1.5""#, "1.5", "turn.at: expected text of at most 4096 bytes"),
            (#""1.5""#, #""soon""#, "turn.at: expected seconds such as"),
            ("timer_fired", "timer_fried", "turn.event.is: expected the name of an event"),
            (#""serial":3"#, #""serial":-3"#, "turn.event.serial: expected a whole number from 0"),
            (#""serial":3"#, #""serial":9007199254740993"#, "turn.event.serial: expected a whole number from 0"),
            (#","serial":3"#, "", #"turn.event: expected an object with the key "serial""#),
            ("00000000000000ff", "+0000000000000ff", "turn.draws[0]: expected 16 hexadecimal digits"),
            ("00000000000000ff", "ff", "turn.draws[0]: expected 16 hexadecimal digits"),
            (#"["hello #4"]"#, "7", "turn.actions: expected an array"),
            (#"["hello #4"]"#, "[true]", "turn.actions[0]: expected text"),
            (#"{"turn""#, #"{"tern""#, #"a "start" or a "turn""#),
            ("}}", "}", "not JSON: "), (#""at""#, #""event":7,"at""#, "occurs twice"),
        ]
        for (old, new, words) in broken {
            let line = good.replacing(old, with: new, maxReplacements: 1)
            #expect(line != good)
            do throws(RecordingError) {
                _ = try EntryCodec.entry(line)
                Issue.record("\(line) was read")
            } catch {
                #expect(error.description.contains(words), "\(error)")
            }
        }
    }

    @Test func `an unknown code is refused with the known ones`() throws {
        let line =
            #"{"turn":{"at":"1","event":{"is":"hello_ended","serial":3,"failure":{"code":"gone"}},"actions":[]}}"#
        do throws(RecordingError) {
            _ = try EntryCodec.entry(line)
            Issue.record("\(line) was read")
        } catch {
            let codes = TransportError.Code.allCases.map(\.rawValue).joined(separator: ", ")
            #expect(error.description.contains("turn.event.failure.code: expected one of: \(codes)"), "\(error)")
        }
    }

    @Test(.ring(.test), arguments: 0..<12)
    func `a damaged line is read or refused and never traps`(seed: Int) {
        var session = RandomSession(seed: UInt64(seed))
        var random = SplitMix64(state: UInt64(seed) ^ 0x5EED)
        for _ in 0..<60 { _ = session.step() }
        let turn = session.step()
        var lines = [
            EntryCodec.line(
                .start(
                    RecordedStart(
                        at: turn.at, wall: turn.wall, continues: false, policy: turn.policy,
                        session: Redaction.messagesOnly.session(turn.before))))
        ]
        for _ in 0..<8 {
            let turn = session.step()
            lines.append(
                EntryCodec.line(
                    .turn(
                        RecordedTurn(
                            at: turn.at, event: Redaction.messagesOnly.event(turn.event), carried: 1, draws: turn.draws,
                            actions: []))))
        }
        var replay = Replay()
        for line in lines {
            for _ in 0..<20 {
                var bytes = Array(line.utf8)
                for _ in 0..<Int.random(in: 1..<4, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: bytes[place] = UInt8(ascii: "9")
                    case 1: bytes.remove(at: place)
                    default: bytes.insert(UInt8.random(in: 0x20..<0x7F, using: &random), at: place)
                    }
                }
                // Readable entries are replayed, too, because a hostile file must not crash the program.
                if let entry = try? EntryCodec.entry(String(decoding: bytes, as: UTF8.self)) {
                    _ = replay.follow(entry)
                }
            }
        }
    }
}
