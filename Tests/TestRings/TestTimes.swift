import Glibc
public import Testing

/// Measures the real duration of test cases.
///
/// Swift Testing reports durations too, but they include the time that a case waits for a thread.
public enum TestTimes {
    /// The descriptor of the file for the durations. Each line has the location of a test and the seconds of one case.
    /// `tools/lib/run-tests.py` passes the path of the file in `TOMBOLO_TEST_TIMES`, and reads the file.
    private static let file: Int32? = getenv("TOMBOLO_TEST_TIMES").flatMap { path in
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        return file < 0 ? nil : file
    }

    /// Runs a case on the executor of the caller's task, and writes its duration.
    @concurrent
    public static func measure(
        _ test: Test, _ function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let start = ContinuousClock.now
        defer { note(ContinuousClock.now - start, of: test) }
        try await function()
    }

    /// Runs the body of a case on the caller's thread, and writes its duration.
    public static func measure<Value>(_ test: Test?, _ body: () throws -> Value) rethrows -> Value {
        let start = ContinuousClock.now
        defer { if let test { note(ContinuousClock.now - start, of: test) } }
        return try body()
    }

    private static func note(_ duration: Duration, of test: Test) {
        guard let file else { return }
        let place = test.sourceLocation
        // One call writes the whole line, so that lines of concurrent cases do not mix.
        let line = Array("\(place.fileID):\(place.line)\t\(duration / .seconds(1))\n".utf8)
        _ = write(file, line, line.count)
    }
}
