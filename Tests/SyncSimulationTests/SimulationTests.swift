import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import TestRings
import Testing

@Suite(.ring(.unit), .onWorldThreads)
struct SimulationTests {
    @Test(.ring(.test), arguments: SchedulingPolicy.allCases)
    func `the same seed gives the same trace`(policy: SchedulingPolicy) throws {
        for seed in 0..<20 as Range<UInt64> {
            let first = try SampleProgram.traceHash(seed: seed, policy: policy)
            let second = try SampleProgram.traceHash(seed: seed, policy: policy)
            #expect(first == second, "seed \(seed)")
        }
    }

    @Test func `different seeds give different orders`() throws {
        let hashes = try Set((0..<20).map { try SampleProgram.traceHash(seed: $0, policy: .random) })
        #expect(hashes.count == 20)
    }

    @Test func `concurrent simulations do not affect each other`() throws {
        @Sendable func hash(seed: UInt64) throws -> UInt64 {
            try SampleProgram.traceHash(seed: seed, policy: .random)
        }
        let seeds = 0..<5 as Range<UInt64>
        let alone = seeds.map { OtherThread.results(of: [$0], hash)[$0] }
        #expect(!alone.contains(nil))
        for _ in 0..<10 {
            let concurrent = OtherThread.results(of: seeds, hash)
            #expect(seeds.map { concurrent[$0] } == alone)
        }
    }

    @Test func `a slow processor changes the order reproducibly`() throws {
        let quick = try SampleProgram.traceHash(seed: 3, policy: .random)
        let slow = try SampleProgram.traceHash(seed: 3, policy: .random, slowProcessor: 0.2)
        #expect(quick != slow)
        #expect(try SampleProgram.traceHash(seed: 3, policy: .random, slowProcessor: 0.2) == slow)
    }

    @Test func `virtual time passes without real waiting`() throws {
        let simulation = Simulation(seed: 1)
        let clock = simulation.clock(of: "phone")
        let elapsed = try simulation.run(limit: .seconds(100_000)) {
            let start = clock.now
            for _ in 0..<1_000 { try await clock.sleep(for: .seconds(60)) }
            return start.duration(to: clock.now)
        }
        #expect(elapsed == .seconds(60_000))
        try simulation.finish()
    }

    @Test func `a cancelled sleep ends at once with a cancellation error`() throws {
        let simulation = Simulation(seed: 1)
        let clock = simulation.clock(of: "phone")
        let woke = Guarded<[String]>([])
        let task = simulation.start("sleeper") {
            do {
                try await clock.sleep(for: .seconds(3_600))
                woke.withLock { $0.append("by time") }
            } catch {
                woke.withLock { $0.append(error is CancellationError ? "cancelled" : "\(error)") }
            }
        }
        try simulation.settle()
        #expect(woke.withLock { $0 } == [])
        task.cancel()
        try simulation.settle()
        #expect(woke.withLock { $0 } == ["cancelled"])
        #expect(simulation.now == .zero)
        try simulation.finish()
    }

    @Test func `a sleep in a cancelled task ends at once`() throws {
        let simulation = Simulation(seed: 1)
        let clock = simulation.clock(of: "phone")
        let reached = Guarded(false)
        simulation.start("sleeper") {
            try? await clock.sleep(for: .seconds(3_600))
            reached.withLock { $0 = true }
        }
        .cancel()
        try simulation.settle()
        #expect(reached.withLock { $0 })
        #expect(simulation.now == .zero)
    }

    @Test func `a timeout that loses its race leaves no pending sleep`() throws {
        let simulation = Simulation(seed: 5)
        let clock = simulation.clock(of: "phone")
        let winner = try simulation.run(limit: .seconds(60)) {
            try await withThrowingTaskGroup(of: String.self) { group in
                group.addTask {
                    try await clock.sleep(for: .seconds(30))
                    return "timeout"
                }
                group.addTask {
                    try await clock.sleep(for: .seconds(2))
                    return "response"
                }
                let first = try await group.next()
                group.cancelAll()
                return first
            }
        }
        #expect(winner == "response")
        #expect(simulation.now == .seconds(2))
        try simulation.finish()
    }

    @Test func `the seed decides the order of tasks that are due at the same moment`() throws {
        var firsts: Set<String> = []
        for seed in 0..<32 as Range<UInt64> {
            let simulation = Simulation(seed: seed)
            let clock = simulation.clock(of: "phone")
            let order = Guarded<[String]>([])
            for name in ["response", "timeout"] {
                simulation.start(name) {
                    try? await clock.sleep(for: .seconds(5))
                    order.withLock { $0.append(name) }
                }
            }
            try simulation.advance(by: .seconds(5))
            firsts.formUnion(order.withLock { $0 }.prefix(1))
            try simulation.finish()
        }
        #expect(firsts == ["response", "timeout"])
    }

    @Test func `a deadlock is reported with the tasks in it`() throws {
        let simulation = Simulation(seed: 9)
        let never = AsyncStream.makeStream(of: Int.self)
        let failure = #expect(throws: SimulationError.self) {
            try simulation.run(limit: .seconds(10), name: "waits forever") {
                for await _ in never.stream {}
            }
        }
        #expect(failure?.kind == .deadlock)
        #expect(failure?.unfinished == ["waits forever"])
        #expect(failure?.seed == 9)
        try simulation.finish()
    }

    @Test func `a run that takes too long reports the pending sleeps`() throws {
        let simulation = Simulation(seed: 9)
        let clock = simulation.clock(of: "kiosk")
        let failure = #expect(throws: SimulationError.self) {
            try simulation.run(limit: .seconds(10)) {
                while true { try await clock.sleep(for: .seconds(3)) }
            }
        }
        #expect(failure?.kind == .tooLong(.seconds(10)))
        #expect(failure?.sleepers == ["kiosk until 12.0 seconds"])
        try simulation.finish()
    }

    @Test(.ring(.test)) func `a livelock is reported with the task that causes it`() throws {
        let simulation = Simulation(seed: 9)
        simulation.start("spinner") { while !Task.isCancelled { await Task.yield() } }
        let failure = #expect(throws: SimulationError.self) { try simulation.settle() }
        #expect(failure?.kind == .livelock)
        #expect(failure?.unfinished == ["spinner"])
        try simulation.finish()
    }

    @Test func `a task that does not end is reported when the simulation finishes`() throws {
        let simulation = Simulation(seed: 9)
        let gate = Gate()
        simulation.start("deaf") { await gate.wait() }
        let failure = #expect(throws: SimulationError.self) { try simulation.finish() }
        #expect(failure?.kind == .unfinished)
        #expect(failure?.unfinished == ["deaf"])
        gate.open()
        try simulation.settle()
    }

    @Test func `work that escapes to the global thread pool is detected`() throws {
        let simulation = Simulation(seed: 4)
        try #require(simulation.scheduler.hasTripwire)
        let failure = #expect(throws: SimulationError.self) {
            try simulation.run(limit: .seconds(1)) {
                _ = Task.detached {}
            }
        }
        guard case .leak(_, let escaped)? = failure?.kind else {
            Issue.record("expected a leak, found \(String(describing: failure?.kind))")
            return
        }
        #expect(escaped == 1)
    }

    @Test func `work that is enqueued from another thread is detected`() throws {
        let simulation = Simulation(seed: 4)
        let gate = Gate()
        simulation.start("waits for a thread") { await gate.wait() }
        try simulation.settle()
        let thread = OtherThread { gate.open() }
        thread.join()
        let failure = #expect(throws: SimulationError.self) { try simulation.settle() }
        #expect(failure?.kind == .leak(foreign: 1, escaped: 0))
    }

    @Test func `the overdue sleeps of a suspended device end when it resumes`() throws {
        let simulation = Simulation(seed: 6)
        let woke = Guarded<[String]>([])
        for (device, seconds) in [("phone", 1), ("phone", 2), ("kiosk", 3), ("phone", 100)] {
            let clock = simulation.clock(of: device)
            simulation.start("\(device) \(seconds)") {
                try? await clock.sleep(for: .seconds(seconds))
                woke.withLock { $0.append("\(device) \(seconds) at \(clock.now.offset)") }
            }
        }
        try simulation.settle()
        simulation.suspend("phone")
        try simulation.advance(by: .seconds(50))
        #expect(woke.withLock { $0 } == ["kiosk 3 at 3.0 seconds"])
        simulation.resume("phone")
        try simulation.settle()
        #expect(woke.withLock { Set($0.dropFirst()) } == ["phone 1 at 50.0 seconds", "phone 2 at 50.0 seconds"])
        try simulation.advance(by: .seconds(50))
        #expect(woke.withLock { $0.last } == "phone 100 at 100.0 seconds")
        try simulation.finish()
    }

    @Test func `sleeps on a paused clock continue after the pause`() throws {
        let simulation = Simulation(seed: 6)
        let clock = simulation.clock(of: "phone")
        let wall = simulation.makeWallClock(start: WallTime(milliseconds: 0))
        let woke = Guarded<[String]>([])
        for seconds in [10, 30] {
            simulation.start("\(seconds)") {
                try? await clock.sleep(for: .seconds(seconds))
                woke.withLock { $0.append("\(clock.now.offset) at \(simulation.now)") }
            }
        }
        try simulation.advance(by: .seconds(5))
        simulation.suspend("phone", pausingClock: true)
        // A second call to suspend has no effect.
        simulation.suspend("phone")
        try simulation.advance(by: .seconds(100))
        #expect(clock.now.offset == .seconds(5))
        #expect(wall.now == WallTime(milliseconds: 105_000))
        simulation.resume("phone")
        try simulation.settle()
        #expect(woke.withLock { $0 } == [])
        try simulation.advance(by: .seconds(5))
        #expect(woke.withLock { $0 } == ["10.0 seconds at 110.0 seconds"])
        simulation.suspend("phone", pausingClock: true)
        try simulation.advance(by: .seconds(1_000))
        simulation.resume("phone")
        try simulation.advance(by: .seconds(20))
        #expect(woke.withLock { $0.last } == "30.0 seconds at 1130.0 seconds")
        try simulation.finish()
    }

    @Test func `jumps and drift of a wall clock do not affect the simulation's time`() throws {
        let simulation = Simulation(seed: 6)
        let wall = simulation.makeWallClock(start: WallTime(milliseconds: 1_000_000))
        let other = simulation.makeWallClock(start: WallTime(milliseconds: 1_000_000))
        wall.jump(by: .seconds(-500))
        #expect(wall.now == WallTime(milliseconds: 500_000))
        wall.drift(partsPerMillion: 50_000)
        try simulation.advance(by: .seconds(100))
        #expect(wall.now == WallTime(milliseconds: 605_000))
        #expect(other.now == WallTime(milliseconds: 1_100_000))
        wall.set(to: WallTime(milliseconds: -5))
        #expect(wall.now == WallTime(milliseconds: -5))
        #expect(simulation.now == .seconds(100))
    }

    @Test func `a runtime's random numbers depend only on the seed and the device`() {
        func draws(seed: UInt64, device: String) -> [UInt64] {
            let runtime = Simulation(seed: seed).makeRuntime(device: device)
            return (0..<8).map { _ in runtime.random() }
        }
        #expect(draws(seed: 1, device: "phone") == draws(seed: 1, device: "phone"))
        #expect(draws(seed: 1, device: "phone") != draws(seed: 1, device: "kiosk"))
        #expect(draws(seed: 1, device: "phone") != draws(seed: 2, device: "phone"))
    }
}
