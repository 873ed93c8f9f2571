import Foundation
import TestRings
import Testing

/// An unmet demand of a test, in words.
struct Unmet: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Ends the test with `words` unless `condition` holds.
func demand(_ condition: Bool, _ words: @autoclosure () -> String) throws {
    guard condition else { throw Unmet(words()) }
}

extension Duration {
    /// How long to wait for what happens at once on an idle machine.
    ///
    /// It is reached only when something hangs: how busy the machine is must not decide whether a test passes.
    static let patience = Duration.seconds(300)
}

/// Waits for a condition of the outside world, which tells nobody when it comes true; ends the test after `patience`.
func eventually(
    _ what: @autoclosure () -> String, within patience: Duration = .patience, _ condition: () throws -> Bool
) throws {
    let start = ContinuousClock.now
    while try !condition() {
        guard ContinuousClock.now - start < patience else { throw Unmet("not within \(patience): \(what())") }
        usleep(3_000)
    }
}

/// Runs `body` on a thread of its own, so that waiting for processes takes no thread from other tests.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let test = Test.current
    return try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result { try TestTimes.measure(test, body) }) }
        thread.stackSize = 4 * 1_024 * 1_024
        thread.start()
    }
}
