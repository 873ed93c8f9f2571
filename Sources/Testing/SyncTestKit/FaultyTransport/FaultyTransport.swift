import SyncConcurrency
public import SyncCore
public import SyncModel
public import SyncSimulation

/// A transport that injects faults between a client and another transport: a real one, or a `MockServer`.
///
/// Only the random numbers decide which calls fail. Safe to use from any task.
public final class FaultyTransport: RemoteTransport {
    fileprivate struct State: Sendable {
        var random: SeededRandom
        var faults = TransportFaults.none
        var isDown = false
        var struck = 0
    }

    /// The fate of one call.
    fileprivate enum Fate: Sendable {
        case passes, refused, throttled(Duration?), requestLost, responseLost, repeated
    }

    private let transport: any RemoteTransport
    private let wait: @Sendable (Duration) async throws -> Void
    private let state: Guarded<State>

    /// Wraps a transport. No faults are injected until `faults` or `isDown` is set.
    ///
    /// - Parameter wait: waits for the given time on the test's clock.
    public init(
        _ transport: any RemoteTransport, random: SeededRandom,
        wait: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.transport = transport
        self.wait = wait
        state = Guarded(State(random: random))
    }

    public var serverAddress: String? { transport.serverAddress }

    /// The faults to inject. A change affects later calls only, not those in progress.
    public var faults: TransportFaults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// Whether the network is down: calls fail, including those in progress, and no hint arrives.
    public var isDown: Bool {
        get { state.withLock { $0.isDown } }
        set { state.withLock { $0.isDown = newValue } }
    }

    /// The number of calls that met a fault other than a delay.
    public var struckCount: Int { state.withLock { $0.struck } }

    public func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        let (fate, delay, timeout) = state.withLock { $0.draw() }
        if delay > .zero { try await pause(delay) }
        guard !isDown else { throw TransportError(.unreachable, "the network is down") }
        switch fate {
        case .passes: return try await exchange(request)
        case .refused: throw TransportError(.unreachable, "the connection was refused")
        case .throttled(let retryAfter):
            throw TransportError(.throttled, "the server is busy", retryAfter: retryAfter)
        case .requestLost:
            try await pause(timeout)
            throw TransportError(.timedOut, "the request was lost")
        case .responseLost:
            _ = try await transport.send(request)
            try await pause(timeout)
            throw TransportError(.timedOut, "the response was lost")
        case .repeated:
            _ = try await exchange(request)
            return try await exchange(request)
        }
    }

    /// Sends a request, and loses its response if the network has gone down by then.
    private func exchange(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        let response = try await transport.send(request)
        guard !isDown else { throw TransportError(.unreachable, "the network went down before the response") }
        return response
    }

    public func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        let source = HintFilter(transport.hints(for: spaces)) { [state] in
            state.withLock { state in state.random.chance(state.faults.loseHints) || state.isDown }
        }
        return AsyncThrowingStream { try await source.next() }
    }

    private func pause(_ duration: Duration) async throws(TransportError) {
        do { try await wait(duration) } catch { throw TransportError(.cancelled, "the caller cancelled the request") }
    }
}

extension FaultyTransport.State {
    /// Draws the same count of random numbers for every call, so that changing one rate does not affect the other
    /// faults of the calls.
    fileprivate mutating func draw() -> (FaultyTransport.Fate, delay: Duration, timeout: Duration) {
        let refused = random.chance(faults.refuse)
        let throttled = random.chance(faults.throttle)
        let requestLost = random.chance(faults.loseRequests)
        let responseLost = random.chance(faults.loseResponses)
        let repeated = random.chance(faults.repeatRequests)
        let delay = random.duration(in: faults.delay)
        let fate: FaultyTransport.Fate =
            if refused { .refused } else if throttled { .throttled(faults.retryAfter) } else if requestLost {
                .requestLost
            } else if responseLost { .responseLost } else if repeated { .repeated } else { .passes }
        if case .passes = fate {} else { struck += 1 }
        return (fate, delay, faults.timeout)
    }
}

/// A stream of hints that drops those chosen to be lost. It supports one reader at a time.
private actor HintFilter {
    private var hints: AsyncThrowingStream<Hint, any Error>.Iterator
    private let isLost: @Sendable () -> Bool

    init(_ stream: AsyncThrowingStream<Hint, any Error>, isLost: @escaping @Sendable () -> Bool) {
        hints = stream.makeAsyncIterator()
        self.isLost = isLost
    }

    func next() async throws -> Hint? {
        while true {
            var iterator = hints
            guard let hint = try await iterator.next(isolation: self) else { return nil }
            hints = iterator
            if !isLost() { return hint }
        }
    }
}
