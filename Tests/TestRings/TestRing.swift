import Glibc
public import Testing

/// The set of tests that a run includes, from narrow to wide. Each ring includes all narrower rings.
///
/// The environment variable `TOMBOLO_TEST_RING`, which `tools/test`, `tools/check`, and `tools/soak` set, selects the
/// ring of a run. The default, for example in a plain `swift test`, is `test`.
public enum TestRing: String, CaseIterable, Comparable, Sendable {
    /// Tests of values, state machines, and stores in this process, without other processes, sockets, simulated worlds,
    /// or waiting. Tests with long random histories, and those whose time grows with a size that they examine, belong
    /// to the next ring.
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

    /// Returns `narrow` in the rings `unit` and `test`, and `wide` in wider rings.
    ///
    /// It keeps the number of cases in `tools/test` small.
    public static func sample<Value>(_ narrow: Value, _ wide: Value) -> Value {
        current < .check ? narrow : wide
    }

    public static func < (left: TestRing, right: TestRing) -> Bool {
        allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
    }
}

extension Trait where Self == ConditionTrait {
    /// Runs a suite or a test only in this ring and in wider rings.
    ///
    /// ```swift
    /// @Suite(.ring(.check)) struct CrashPointTests { … }
    /// ```
    public static func ring(_ ring: TestRing) -> Self {
        .enabled(if: ring <= .current, "belongs to the ring '\(ring.rawValue)'; see TestRing")
    }
}
