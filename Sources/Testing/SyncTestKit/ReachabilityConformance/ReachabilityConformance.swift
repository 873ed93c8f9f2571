import SyncConcurrency
public import SyncCore
import SyncSimulation

/// The rules that every implementation of `Reachability` must satisfy, as plain checks that any test framework can run.
///
/// Links that a test can set are checked on virtual time, where a check can prove that nothing more will happen. Such
/// links must not depend on their own thread. Real links are checked only against the rules that need no such
/// proof. No rule waits in real time.
public struct ReachabilityConformance: Sendable {
    let subject: Subject

    /// Creates the suite for links that a test can set, or, without `Subject.set`, for real links.
    public init(_ subject: Subject) {
        self.subject = subject
    }

    /// The subject of the checks.
    public struct Subject: Sendable {
        /// Makes a new instance for each rule.
        public var make: @Sendable () throws -> any Reachability
        /// Sets the link state of an instance; nil when a test cannot set it, as on a real machine.
        public var set: (@Sendable (any Reachability, LinkState) -> Void)?

        /// Creates a subject.
        ///
        /// - Parameters:
        ///   - make: makes a new instance for each rule.
        ///   - set: sets the link state of an instance; nil skips the rules that need it.
        public init(
            make: @escaping @Sendable () throws -> any Reachability,
            set: (@Sendable (any Reachability, LinkState) -> Void)? = nil
        ) {
            self.make = make
            self.set = set
        }
    }

    /// The names of the rules that can be checked with the functions that the subject provides.
    public var rules: [String] { checks.map(\.rule) }

    /// Checks one rule.
    ///
    /// - Throws: `ConformanceViolation` when the rule is broken, or any error that `make` or a watch threw.
    public func run(_ rule: String) async throws {
        guard let check = checks.first(where: { $0.rule == rule }) else {
            throw ConformanceViolation(
                rule: rule, detail: "there is no such rule, or the subject does not offer enough")
        }
        let links = Links(rule: rule, reachability: try subject.make(), set: subject.set)
        guard subject.set != nil else { return try await check.body(links, {}) }
        let simulation = Simulation(seed: 1)
        let clock = simulation.clock(of: "links")
        do {
            try simulation.run(limit: .seconds(60)) {
                // Virtual time advances only when no task has anything left to do.
                try await check.body(links) { try await clock.sleep(for: .seconds(1)) }
            }
            try simulation.finish()
        } catch let failure as SimulationError {
            throw ConformanceViolation(rule: rule, detail: "\(failure)")
        }
    }

    /// Lets all other tasks run until they wait. Does nothing for links that a test cannot set.
    private typealias Pause = @Sendable () async throws -> Void

    private struct Check: Sendable {
        let rule: String
        let body: @Sendable (Links, Pause) async throws -> Void

        init(_ rule: String, _ body: @escaping @Sendable (Links, Pause) async throws -> Void) {
            self.rule = rule
            self.body = body
        }
    }

    private struct Links: Sendable {
        let rule: String
        let reachability: any Reachability
        let set: (@Sendable (any Reachability, LinkState) -> Void)?

        func become(_ state: LinkState) { set?(reachability, state) }

        func expect(_ condition: Bool, _ detail: @autoclosure () -> String) throws {
            guard condition else { throw ConformanceViolation(rule: rule, detail: detail()) }
        }

        /// Watches the links while `body` runs, cancels the watch, and returns whether the cancellation ended it.
        func watching(_ body: @Sendable (_ hasEnded: @Sendable () -> Bool) async throws -> Void) async throws -> Bool {
            let hasEnded = Guarded(false)
            let (beginnings, beginning) = AsyncStream.makeStream(of: Void.self)
            return try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask { [reachability] in
                    defer { hasEnded.withLock { $0 = true } }
                    beginning.finish()
                    do {
                        try await reachability.run()
                    } catch is CancellationError {
                        return true
                    }
                    return Task.isCancelled
                }
                for await _ in beginnings {}
                try await body { hasEnded.withLock { $0 } }
                group.cancelAll()
                return try await group.next() ?? false
            }
        }
    }

    private var checks: [Check] {
        var checks = [
            Check("the current state can be read before a watch begins") { links, _ in
                if case .down(let reason) = links.reachability.current {
                    try links.expect(!reason.isEmpty, "the state is down, but its reason is empty")
                }
            },
            Check("a watch ends when its task is cancelled, and can be restarted") { links, pause in
                for _ in 0..<2 {
                    let endedByCancellation = try await links.watching { hasEnded in
                        try await pause()
                        try links.expect(!hasEnded(), "the watch has ended by itself")
                    }
                    try links.expect(endedByCancellation, "the watch ended without being cancelled")
                }
            },
        ]
        if subject.set != nil { checks += changeChecks }
        return checks
    }

    private var changeChecks: [Check] {
        [
            Check("every change is announced to all watchers, after it can be read") { links, _ in
                var news = [
                    links.reachability.changes.subscribe().makeAsyncIterator(),
                    links.reachability.changes.subscribe().makeAsyncIterator(),
                ]
                for state in [LinkState.down("no link"), .up, .down("no route")] {
                    links.become(state)
                    try links.expect(
                        links.reachability.current == state, "\(links.reachability.current) is known, not \(state)")
                    for index in news.indices {
                        let told = await news[index].next()
                        try links.expect(told == state, "\(told.map { "\($0)" } ?? "nothing") is told, not \(state)")
                    }
                }
            },
            Check("a slow watcher receives the newest state, and only that") { links, _ in
                var news = links.reachability.changes.subscribe().makeAsyncIterator()
                for state in [LinkState.down("no link"), .up, .down("no route")] { links.become(state) }
                let told = await news.next()
                try links.expect(told == .down("no route"), "\(told.map { "\($0)" } ?? "nothing") is told")
                links.become(.up)
                try links.expect(await news.next() == .up, "the older states are told as well")
            },
            Check("a watch continues until it is cancelled") { links, pause in
                _ = try await links.watching { hasEnded in
                    for state in [LinkState.down("no link"), .up, .down("no route")] {
                        links.become(state)
                        try await pause()
                        try links.expect(!hasEnded(), "the watch has ended by itself")
                    }
                }
            },
        ]
    }
}
