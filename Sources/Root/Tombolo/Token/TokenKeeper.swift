import Foundation
import SyncConcurrency
import SyncCore

/// Keeps the token that the application's closure returned last, and calls the closure again: one call at a time, each with a
/// timeout.
final class TokenKeeper: Sendable {
    private let provider: @Sendable () async throws -> String?
    private let timeout: Duration
    private let expiry: (@Sendable (String) -> Date?)?
    private let runtime: EngineRuntime
    /// Each new token. Only one task may read it.
    let tokens: AsyncStream<String>
    private let tokenChanges: AsyncStream<String>.Continuation
    private let memory = Guarded(Memory())

    /// The result of the last call.
    enum State: Hashable, Sendable {
        case unknown
        case known
        case signedOut
        /// The closure threw, or took too long.
        case failed(String)
    }

    private struct Memory: Sendable {
        var token: String?
        var state = State.unknown
        /// Whether a call has not returned, even if nobody waits for it any more.
        var isCalling = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    init(
        provider: @escaping @Sendable () async throws -> String?, timeout: Duration,
        expiry: (@Sendable (String) -> Date?)?, runtime: EngineRuntime
    ) {
        self.provider = provider
        self.timeout = timeout
        self.expiry = expiry
        self.runtime = runtime
        (tokens, tokenChanges) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit {
        tokenChanges.finish()
    }

    /// The time before the expiry at which the next token is requested.
    private static let renewalMargin = Duration.seconds(30)

    /// Returns how long a token is used before the next one is requested; nil if its expiry is not known.
    func use(of token: String) -> Duration? {
        guard let expiry = expiry?(token) else { return nil }
        // A time that no integer holds is no expiry.
        guard let end = Int64(exactly: (expiry.timeIntervalSince1970 * 1_000).rounded()) else { return nil }
        let (left, overflow) = end.subtractingReportingOverflow(runtime.now().milliseconds)
        guard !overflow else { return nil }
        return max(.milliseconds(left) - Self.renewalMargin, .zero)
    }

    var current: String? { memory.withLock { $0.token } }

    var state: State { memory.withLock { $0.state } }

    /// Calls the closure, or joins the call that is under way, and waits for its result or the timeout.
    ///
    /// - Returns: Whether the token is another one than before.
    @discardableResult func refresh() async -> Bool {
        let before = current
        let calls = memory.withLock { memory in
            defer { memory.isCalling = true }
            return !memory.isCalling
        }
        if calls { call() }
        let timer = runtime.spawn { [runtime, timeout] in
            guard (try? await runtime.clock.sleep(for: timeout)) != nil else { return }
            self.giveUp()
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = memory.withLock { memory in
                    let isOver = !memory.isCalling || Task.isCancelled
                    if !isOver { memory.waiting.append(continuation) }
                    return isOver
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            stopWaiting()
        }
        timer.cancel()
        let after = current
        return after != nil && after != before
    }

    private func call() {
        _ = runtime.spawn { [self] in
            do {
                let token = try await provider()
                let isNew = memory.withLock { $0.token != token }
                finish { memory in
                    memory.token = token
                    memory.state = token == nil ? .signedOut : .known
                }
                if isNew, let token { tokenChanges.yield(token) }
            } catch {
                finish { $0.state = .failed("there is no token: \(error)") }
            }
        }
    }

    private func finish(_ change: @Sendable (inout Memory) -> Void) {
        let waiting = memory.withLock { memory in
            change(&memory)
            memory.isCalling = false
            defer { memory.waiting = [] }
            return memory.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Stops waiting for a call that hangs. Its result still counts if it comes.
    private func giveUp() {
        memory.withLock { memory in
            if memory.isCalling { memory.state = .failed("the token closure has not returned within \(timeout)") }
        }
        stopWaiting()
    }

    private func stopWaiting() {
        let waiting = memory.withLock { memory in
            defer { memory.waiting = [] }
            return memory.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
