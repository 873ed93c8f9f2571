import Glibc
public import Testing

/// The amount of tests in a run, from narrow to wide. Each ring contains all narrower ones.
///
/// A run takes its ring from the environment variable `TOMBOLO_TEST_RING`, which `tools/test`, `tools/check` and
/// `tools/soak` set. Without the variable, as in a plain `swift test`, it is `test`.
public enum TestRing: String, CaseIterable, Comparable, Sendable {
    /// Tests of values, state machines, and stores in this process, without other processes, sockets, simulated worlds,
    /// or waiting.
    ///
    /// `tools/test unit` runs only this ring. A suite without a ring belongs to it.
    case unit
    /// A sample of every other kind of test, small enough for `tools/test`.
    case test
    /// The larger samples that `tools/check` and continuous integration run.
    case check
    /// Tests that take hours, which `tools/soak` runs.
    case soak

    /// The ring of this run.
    public static let current: TestRing = {
        guard let text = getenv("TOMBOLO_TEST_RING").map({ String(cString: $0) }) else { return .test }
        guard let ring = TestRing(rawValue: text) else {
            let names = allCases.map(\.rawValue).joined(separator: ", ")
            preconditionFailure("TOMBOLO_TEST_RING is '\(text)'; expected one of: \(names)")
        }
        return ring
    }()

    /// The first value in `tools/test`, and the second one in wider rings. Keeps a sample of cases small in `tools/test`.
    public static func sample<Value>(_ narrow: Value, _ wide: Value) -> Value {
        current < .check ? narrow : wide
    }

    public static func < (left: TestRing, right: TestRing) -> Bool {
        allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
    }
}

extension Trait where Self == ConditionTrait {
    /// Runs a suite or a test only in this ring and in wider ones.
    ///
    /// ```swift
    /// @Suite(.ring(.check)) struct CrashPointTests { … }
    /// ```
    public static func ring(_ ring: TestRing) -> Self {
        .enabled(if: ring <= .current, "belongs to the ring '\(ring.rawValue)'; see TestRing")
    }
}
