import Glibc
import SyncConcurrency
import SyncSimulation

/// A small program with the constructs that an engine uses: actors, streams, task groups, timeouts, and cancellation.
enum SampleProgram {
    static func traceHash(seed: UInt64, policy: SchedulingPolicy, slowProcessor: Double = 0) throws -> UInt64 {
        let simulation = Simulation(seed: seed, policy: policy, slowProcessor: slowProcessor)
        let shared = SampleActor(simulation: simulation)
        try simulation.run(limit: .seconds(3_600)) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in ["anna", "bo", "cleo"] {
                    group.addTask { try await shared.work(name) }
                }
                try await group.waitForAll()
            }
        }
        try simulation.finish()
        return simulation.trace.hash
    }
}

actor SampleActor {
    private let simulation: Simulation
    private let executor: SimulationSerialExecutor
    private var running = 0

    init(simulation: Simulation) {
        self.simulation = simulation
        executor = simulation.makeActorExecutor()
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated func work(_ name: String) async throws {
        let clock = simulation.clock(of: name)
        var random = simulation.random(name)
        let (signals, signal) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
        async let sum = signals.reduce(0, +)
        for round in 0..<20 {
            await arrive(name, round)
            signal.yield(round)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                let loading = random.duration(in: .milliseconds(1)...(.milliseconds(20)))
                group.addTask {
                    try await clock.sleep(for: loading)
                    return true
                }
                group.addTask {
                    try await clock.sleep(for: .milliseconds(10))
                    return false
                }
                let loaded = try await group.next() ?? false
                group.cancelAll()
                simulation.note(loaded ? "loaded" : "gave up", by: name)
            }
            await Task.yield()
            await leave(name, round)
        }
        signal.finish()
        simulation.note("heard \(await sum)", by: name)
    }

    private func arrive(_ name: String, _ round: Int) {
        running += 1
        simulation.note("arrives on round \(round), \(running) in shared", by: name)
    }

    private func leave(_ name: String, _ round: Int) {
        running -= 1
        simulation.note("leaves on round \(round), \(running) in shared", by: name)
    }
}

/// A gate on which tasks wait. Cancellation does not end the wait.
final class Gate: Sendable {
    private let waiting = Guarded<[CheckedContinuation<Void, Never>]>([])

    func wait() async {
        await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
    }

    func open() {
        let all = waiting.withLock { waiting in
            let all = waiting
            waiting = []
            return all
        }
        for continuation in all { continuation.resume() }
    }
}

/// A thread that the simulation does not schedule.
final class OtherThread {
    private var thread = pthread_t()

    /// Runs a body for all seeds at the same time, each on a thread of its own, and returns the results by seed.
    ///
    /// There is no result for a seed whose body throws.
    static func results<Value: Sendable>(
        of seeds: some Sequence<UInt64>, _ body: @escaping @Sendable (UInt64) throws -> Value
    ) -> [UInt64: Value] {
        let results = Guarded<[UInt64: Value]>([:])
        let threads = seeds.map { seed in
            OtherThread {
                let result = try? body(seed)
                results.withLock { $0[seed] = result }
            }
        }
        for thread in threads { thread.join() }
        return results.withLock { $0 }
    }

    init(_ body: @escaping @Sendable () -> Void) {
        let argument = Unmanaged.passRetained(Body(run: body)).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument)
        precondition(status == 0, "pthread_create failed with \(status)")
    }

    func join() {
        pthread_join(thread, nil)
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
