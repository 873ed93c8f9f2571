import SyncConcurrency
import SyncCore

/// Keeps the token that the application's closure returned last, and calls the closure again: one call at a time, each with a
/// timeout.
final class TokenKeeper: Sendable {
    private let provider: @Sendable () async throws -> String?
    private let timeout: Duration
    private let runtime: EngineRuntime
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

    init(provider: @escaping @Sendable () async throws -> String?, timeout: Duration, runtime: EngineRuntime) {
        self.provider = provider
        self.timeout = timeout
        self.runtime = runtime
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
                finish { memory in
                    memory.token = token
                    memory.state = token == nil ? .signedOut : .known
                }
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
