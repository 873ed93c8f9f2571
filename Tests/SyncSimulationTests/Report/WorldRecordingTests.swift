import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

@Suite(.ring(.check), .onWorldThreads)
struct WorldRecordingTests {
    @Test(arguments: [0, 3, 5, 9, 10, 12] as [UInt64])
    func `recording a run does not change it`(seed: UInt64) throws {
        let alone = World(.drawn(seed: seed, steps: 60), parts: .onSQLite())
        let heard = World(.drawn(seed: seed, steps: 60), parts: .onSQLite(), recording: WorldRecording())
        #expect(try alone.run() == heard.run())
        #expect(alone.simulation.trace.hash == heard.simulation.trace.hash)
        #expect(alone.simulation.trace.lines == heard.simulation.trace.lines)
    }

    @Test func `recording a failing run does not change the failure`() throws {
        let plan = WorldPlan.drawnForPlain(seed: 1, steps: 150)
        let alone = try #require(throws: WorldError.self) {
            _ = try World(plan, parts: .plain(bug: .repeatsUIDs)).run()
        }
        let recording = WorldRecording()
        let heard = try #require(throws: WorldError.self) {
            _ = try World(plan, parts: .plain(bug: .repeatsUIDs), recording: recording).run()
        }
        #expect("\(alone)" == "\(heard)")
        #expect(recording.failure == "\(heard.cause)")
        // The violation is the last event. It comes before the last step, which records the data at that time.
        let last = try #require(recording.events.last)
        #expect(last.kind == .violation)
        #expect(last.text == "\(heard.cause)")
        let steps = recording.steps.suffix(2).map(\.moment.number)
        #expect(steps[0] < last.moment.number && last.moment.number < steps[1])
        #expect(recording.steps.last?.name == "found in step \(heard.step)")
    }

    /// Checks that each network fault that a run counts is visible in a message, and that every kind of event is
    /// recorded.
    @Test func `the recording shows the fate of each message and every kind of event`() throws {
        var seen: Set<FaultKind> = []
        var kinds: Set<EventKind> = []
        for seed in 0..<8 as Range<UInt64> {
            let recording = WorldRecording()
            var plan = WorldPlan.drawn(seed: seed, steps: 60)
            // With the rate that is drawn, the server is rarely down when a message arrives.
            plan.rates.killServer = 0.1
            let world = World(plan, parts: .onSQLite(), recording: recording)
            let coverage = try world.run().coverage
            let messages = recording.messages
            func count(_ fits: (RecordedMessage) -> Bool) -> Int { messages.count(where: fits) }
            let counts: [(FaultKind, Int)] = [
                (.refused, count { $0.fate == .refused }),
                (.busy, count { $0.fate == .busy }),
                (.requestLost, count { $0.kind == .request && $0.fate == .lost }),
                (.responseLost, count { $0.kind == .response && $0.fate == .lost }),
                (.responseBroken, count { $0.fate == .broken }),
                (.serverGone, count { $0.fate == .unreachable }),
                (.requestDamaged, count { $0.kind == .request && $0.damage != nil }),
                (.responseDamaged, count { $0.kind == .response && $0.damage != nil }),
                (.doubled, count { $0.kind == .request && $0.copy == 1 }),
            ]
            for (fault, found) in counts {
                #expect(coverage.total(of: fault) == found, "seed \(seed): \(fault.rawValue)")
                if found > 0 { seen.insert(fault) }
            }
            if count({ $0.isLate }) > 0 { seen.insert(.late) }
            // Each request that arrives has a response.
            let arrived = count { $0.kind == .request && $0.fate == .arrived }
            #expect(arrived == count { $0.kind == .response }, "seed \(seed)")
            #expect(
                messages.allSatisfy { message in
                    guard let ended = message.ended else { return message.fate == .onItsWay }
                    return ended.number > message.sent.number && ended.time >= message.sent.time
                })
            kinds.formUnion(recording.events.map(\.kind))
            #expect(recording.forgotten == 0)
        }
        // With slow messages, users edit records before they see each other's edits.
        var slow = WorldPlan.calm(seed: 1, devices: 3, steps: 60)
        slow.setting.network.delay = .seconds(5)...(.seconds(30))
        let recording = WorldRecording()
        _ = try World(slow, parts: .onSQLite(), recording: recording).run()
        kinds.formUnion(recording.events.map(\.kind))
        #expect(seen.count == 10, "the worlds were too calm: only \(seen)")
        #expect(kinds == Set(EventKind.allCases).subtracting([.violation]))
    }

    @Test func `only the end of a long run is kept`() throws {
        let whole = WorldRecording()
        let short = WorldRecording(events: 40, messages: 9, steps: 5)
        for recording in [whole, short] {
            _ = try World(.drawn(seed: 5, steps: 30), parts: .onSQLite(), recording: recording).run()
        }
        #expect(whole.forgotten == 0)
        let (events, messages, steps) = (short.events, short.messages, short.steps)
        #expect((30...40).contains(events.count) && (7...9).contains(messages.count) && (4...5).contains(steps.count))
        #expect(events == whole.events.suffix(events.count))
        #expect(messages == whole.messages.suffix(messages.count))
        #expect(steps == whole.steps.suffix(steps.count))
        let lost = whole.events.count + whole.messages.count + whole.steps.count
        #expect(short.forgotten == lost - events.count - messages.count - steps.count)
    }

    @Test func `a long text is truncated between characters`() throws {
        let recording = WorldRecording()
        let simulation = Simulation(seed: 1, recording: recording)
        let flag = "\u{1F1EE}\u{1F1F8}"
        simulation.note(String(repeating: flag, count: 1_500), by: "device0")
        let text = try #require(recording.events.first?.text)
        #expect(text == String(repeating: flag, count: SimulationLimits.recordedTextBytes / 8) + " …")
        try simulation.finish()
    }

    @Test func `each step records the data of every party`() throws {
        let recording = WorldRecording()
        let report = try World(.calm(seed: 1, steps: 40), parts: .onSQLite(), recording: recording).run()
        let steps = recording.steps
        #expect(steps.map(\.name).prefix(3) == ["start", "step 1", "step 2"])
        #expect(steps.last?.name == "everything is in sync")
        for step in steps { #expect(step.holdings.keys.sorted() == ["device0", "device1", "server"]) }
        func fact(_ name: String, of party: String, at step: RecordedStep?) -> String? {
            step?.holdings[party]?.facts.first { $0.name == name }?.value
        }
        for party in ["device0", "device1"] {
            #expect(fact("version of default", of: party, at: steps.last) == "\(report.commits)")
            #expect(fact("outbox", of: party, at: steps.last) == "0 waiting, 0 sent, 0 answered")
        }
        #expect(fact("head of default", of: "server", at: steps.last) == "\(report.commits)")
        #expect(fact("epoch", of: "server", at: steps.last)?.isEmpty == false)
    }

    @Test func `the number of listed outbox entries matches the outbox`() throws {
        let recording = WorldRecording()
        _ = try World(.drawn(seed: 5, steps: 40), parts: .onSQLite(), recording: recording).run()
        var listed = 0
        for holdings in recording.steps.flatMap({ $0.holdings.values }) {
            guard let fact = holdings.facts.first(where: { $0.name == "outbox" }) else { continue }
            let counts = fact.value.split(separator: " ").compactMap { Int($0) }
            #expect(counts.count == 3)
            #expect(counts.reduce(0, +) == holdings.outbox.count + holdings.unlisted)
            listed += holdings.outbox.count
        }
        #expect(listed > 20)
    }

    @Test func `the data of a killed device is read from its disk`() throws {
        var script = WorldPlan.calm(seed: 1, devices: 1, steps: 20).script
        script.moments[19].happenings.append(.device(0, .killed))
        let recording = WorldRecording()
        _ = try World(script, parts: .onSQLite(), recording: recording).run()
        let step = try #require(recording.steps.first { $0.name == "step 20" })
        let holdings = try #require(step.holdings["device0"])
        #expect(!holdings.isUp)
        #expect(holdings.facts.contains { $0.name == "records of customer" && $0.value != "0" })
    }
}
