import Foundation
import SyncConcurrency
import SyncCore

/// Holds the last token that the application's closure returned, and refreshes it.
///
/// Callers share one call of the closure. If a call takes longer than the timeout, the next refresh cancels it and
/// begins another one.
final class TokenKeeper: Sendable {
    private let provider: @Sendable () async throws -> String?
    private let timeout: Duration
    private let expiry: (@Sendable (String) -> Date?)?
    private let runtime: EngineRuntime
    /// Publishes each new token. Only one task may read this stream.
    let tokens: AsyncStream<String>
    private let tokenChanges: AsyncStream<String>.Continuation
    private let state = Guarded(State())

    /// The call of the closure in which the current task runs; nil outside of the closure.
    @TaskLocal private static var enclosingCall: EnclosingCall?

    private struct EnclosingCall: Sendable {
        let keeper: ObjectIdentifier
        let number: Int
    }

    /// The outcome of the newest call that has ended or has timed out.
    enum Outcome: Hashable, Sendable {
        case unknown
        case known
        case signedOut
        /// The closure threw an error, or took too long.
        case failed(String)
    }

    private struct State: Sendable {
        var token: String?
        /// The token of the last request.
        var used: String?
        var outcome = Outcome.unknown
        /// The newest call, unless it has ended.
        var call: Call?
        /// The number of calls so far.
        var calls = 0
        /// The number of the newest call that has returned a token or nil.
        var answered = 0
        /// The callers that wait for a call, each with its continuation once it has suspended.
        var waiters: [Int: CheckedContinuation<Void, Never>?] = [:]
        var lastWaiter = 0
        /// The earliest uptime of the next renewal.
        var earliestRenewal = Duration.zero
        /// Whether the client is closed. The closure is not called any more.
        var isEnded = false
    }

    /// A call in progress, whether or not a caller waits for it.
    private struct Call {
        let number: Int
        let start: Duration
        var task: Task<Void, Never>?
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

    /// The shortest time between two renewals. A token that has expired or expires within the margin, perhaps by a
    /// wrong clock, is due at once, and so may be all of its successors.
    private static let renewalInterval = Duration.seconds(5)

    /// Plans the renewal of a new token. Call it once per token.
    ///
    /// - Returns: The time from now until the next token is to be requested; nil if the expiry of this token is not
    ///   known.
    func planRenewal(of token: String) -> Duration? {
        guard let expiry = expiry?(token) else { return nil }
        // Ignore an expiry outside Int64 milliseconds.
        guard let end = Int64(exactly: (expiry.timeIntervalSince1970 * 1_000).rounded()) else { return nil }
        let (left, overflow) = end.subtractingReportingOverflow(runtime.now().milliseconds)
        guard !overflow else { return nil }
        let now = runtime.uptime()
        return state.withLock { state in
            let earliest = max(now, state.earliestRenewal)
            state.earliestRenewal = earliest + Self.renewalInterval
            return max(.milliseconds(left) - Self.renewalMargin, earliest - now)
        }
    }

    var current: String? { state.withLock { $0.token } }

    /// Returns the current token for a request, and remembers that it was used.
    func use() -> String? {
        state.withLock { state in
            state.used = state.token
            return state.token
        }
    }

    /// Whether no request has used the current token yet. A refusal was then about an earlier one.
    var isUntried: Bool { state.withLock { $0.token != nil && $0.token != $0.used } }

    var outcome: Outcome { state.withLock { $0.outcome } }

    /// Calls the closure, or joins the call that is in progress, and waits for its result.
    ///
    /// Each caller stops waiting after its own timeout, or when its own task is cancelled. The call continues. The
    /// closure itself does not wait for the call in which it runs.
    ///
    /// - Returns: Whether there is another token than before; false if the user has signed out.
    @discardableResult func refresh() async -> Bool {
        if isInCall { return false }
        let before = current
        let now = runtime.uptime()
        guard
            let (waiter, begun, late) = state.withLock({ state -> (Int, Int?, Task<Void, Never>?)? in
                guard !state.isEnded else { return nil }
                state.lastWaiter += 1
                state.waiters.updateValue(nil, forKey: state.lastWaiter)
                if let call = state.call, now - call.start < timeout { return (state.lastWaiter, nil, nil) }
                let late = state.call?.task
                state.calls += 1
                state.call = Call(number: state.calls, start: now)
                return (state.lastWaiter, state.calls, late)
            })
        else { return false }
        late?.cancel()
        if let begun { call(begun) }
        let timer = runtime.spawn { [runtime, timeout] in
            do { try await runtime.clock.sleep(for: timeout) } catch { return }  // The caller has stopped waiting.
            self.stopWaiting(waiter, .failed("the token closure has not returned within \(timeout)"))
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.waiters[waiter] != nil else { return true }
                    state.waiters[waiter] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            stopWaiting(waiter)
        }
        timer.cancel()
        let after = current
        return after != nil && after != before
    }

    /// Calls the closure after any call that is in progress, and waits for its result. What the application has changed
    /// before, such as a sign-in, counts in any case.
    ///
    /// - Returns: Whether there is another token than before.
    @discardableResult func refreshAfterThis() async -> Bool {
        let begun = state.withLock { $0.calls }
        let isNew = await refresh()
        guard !isInCall, state.withLock({ $0.calls }) == begun else { return isNew }
        return await refresh() || isNew
    }

    /// Cancels the call that is in progress, and begins no other.
    func end() {
        let (call, waiters) = state.withLock { state in
            defer {
                state.isEnded = true
                state.call = nil
                state.waiters = [:]
            }
            return (state.call?.task, state.waiters)
        }
        call?.cancel()
        for waiter in waiters.keys.sorted() { waiters[waiter]??.resume() }
        tokenChanges.finish()
    }

    /// Whether the current task runs in the call that is in progress.
    private var isInCall: Bool {
        guard let call = Self.enclosingCall, call.keeper == ObjectIdentifier(self) else { return false }
        return state.withLock { $0.call?.number == call.number }
    }

    private func call(_ number: Int) {
        let task = runtime.spawn { [self] in
            do {
                let enclosing = EnclosingCall(keeper: ObjectIdentifier(self), number: number)
                let token = try await Self.$enclosingCall.withValue(enclosing) { try await provider() }
                let isNew = state.withLock { number > $0.answered && $0.token != token }
                finish(number) { state in
                    // A late result does not replace that of a newer call.
                    guard number > state.answered else { return false }
                    state.answered = number
                    state.token = token
                    state.outcome = token == nil ? .signedOut : .known
                    return true
                }
                if isNew, let token { tokenChanges.yield(token) }
            } catch {
                finish(number) { state in
                    guard number == state.calls else { return false }
                    state.outcome = .failed("there is no token: \(error)")
                    return true
                }
            }
        }
        let isEnded = state.withLock { state in
            if state.call?.number == number { state.call?.task = task }
            return state.isEnded
        }
        if isEnded { task.cancel() }
    }

    /// Ends a call, and resumes all callers if its result counts.
    private func finish(_ number: Int, _ change: @Sendable (inout State) -> Bool) {
        let waiters = state.withLock { state -> [Int: CheckedContinuation<Void, Never>?] in
            if state.call?.number == number { state.call = nil }
            guard change(&state) else { return [:] }
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.keys.sorted() { waiters[waiter]??.resume() }
    }

    /// Resumes one caller before the call has returned. A late result is still used.
    ///
    /// - Parameter outcome: The outcome to report until the call returns; nil to keep the last one.
    private func stopWaiting(_ waiter: Int, _ outcome: Outcome? = nil) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let continuation = state.waiters.removeValue(forKey: waiter) else { return nil }
            if let outcome { state.outcome = outcome }
            return continuation
        }
        continuation?.resume()
    }
}
