import Foundation
import TestRings
import Testing

/// An unmet condition of a test, as a message.
struct UnmetConditionError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Fails the test with `words` unless `condition` is true.
func require(_ condition: Bool, _ words: @autoclosure () -> String) throws {
    guard condition else { throw UnmetConditionError(words()) }
}

extension Duration {
    /// The longest wait for an event that happens at once on an idle machine.
    ///
    /// It is reached only if something hangs, because the load of the machine must not decide whether a test passes.
    static let processTimeout = Duration.seconds(300)
}

/// Polls until an external condition is true, and fails the test after `timeout`.
func eventually(
    _ what: @autoclosure () -> String, within timeout: Duration = .processTimeout, _ condition: () throws -> Bool
) throws {
    let start = ContinuousClock.now
    while try !condition() {
        guard ContinuousClock.now - start < timeout else {
            throw UnmetConditionError("not within \(timeout): \(what())")
        }
        usleep(3_000)
    }
}

/// Runs `body` on a new thread, so that waiting for processes does not block the threads of other tests.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let test = Test.current
    return try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result { try TestTimes.measure(test, body) }) }
        thread.stackSize = 4 * 1_024 * 1_024
        thread.start()
    }
}
