import Glibc
public import Testing

/// How long test cases really ran, for those that the events of Swift Testing cannot tell: a case that waits for a thread
/// has begun, as far as they know.
public enum TestTimes {
    /// The file to write them to: a line for each case, with the place of its test and seconds. `tools/lib/run-tests.py`
    /// names it in `TOMBOLO_TEST_TIMES`, and reads it.
    private static let file: Int32? = getenv("TOMBOLO_TEST_TIMES").flatMap { path in
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        return file < 0 ? nil : file
    }

    /// Runs a case on the executor of the caller's task, and notes how long it took.
    @concurrent
    public static func measure(
        _ test: Test, _ function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let start = ContinuousClock.now
        defer { note(ContinuousClock.now - start, of: test) }
        try await function()
    }

    /// Runs the body of a case on the caller's thread, and notes how long it took.
    public static func measure<Value>(_ test: Test?, _ body: () throws -> Value) rethrows -> Value {
        let start = ContinuousClock.now
        defer { if let test { note(ContinuousClock.now - start, of: test) } }
        return try body()
    }

    private static func note(_ duration: Duration, of test: Test) {
        guard let file else { return }
        let place = test.sourceLocation
        // One write for a whole line: lines of cases that run beside each other do not mix.
        let line = Array("\(place.fileID):\(place.line)\t\(duration / .seconds(1))\n".utf8)
        _ = write(file, line, line.count)
    }
}
