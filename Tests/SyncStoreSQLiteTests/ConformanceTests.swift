import SyncCore
import SyncModel
import SyncStoreSQLite
import SyncTestKit
import TestRings
import Testing

/// Runs the conformance suite of the store port on each kind of connection.
@Suite struct ConformanceTests {
    static let rules = LocalStoreConformance<SQLiteStore>(noticeEntries: 3) { _ in
        throw StoreError(.missingFile, "only the names are asked for")
    }.rules

    /// The rules to run. A narrow run includes only one of the six random histories, because they take longer than all
    /// other rules.
    static let sampled = rules.filter { rule in
        !rule.hasPrefix("random history") || TestRing.sample(1...1, 1...6).contains { rule.contains(" \($0) ") }
    }

    @Test(arguments: sampled) func `a store with a connection pool keeps the rules of the port`(rule: String) throws {
        let scratch = try Scratch()
        try LocalStoreConformance(noticeEntries: 3) { catalog in
            try scratch.open(catalog) { $0.limits.noticeEntries = 3 }
        }.run(rule)
    }

    /// Every fourth rule in a narrow run, because few rules depend on the kind of connection.
    private static let fewer = sampled.enumerated().filter { $0.offset.isMultiple(of: TestRing.sample(4, 1)) }.map(
        \.element)

    @Test(arguments: fewer) func `a store with a single connection keeps the rules of the port`(rule: String) throws {
        let scratch = try Scratch()
        try LocalStoreConformance(noticeEntries: 3) { catalog in
            try scratch.open(catalog) {
                $0.connections = .exclusive
                $0.limits.noticeEntries = 3
            }
        }.run(rule)
    }

    @Test func `the suite names each rule that is broken`() {
        let violations = LocalStoreConformance<SQLiteStore>(noticeEntries: 3) { _ in
            throw StoreError(.readOnly, "no store")
        }.run()
        #expect(violations.map(\.rule) == Self.rules)
        #expect(violations.allSatisfy { $0.description.contains("no store") })
    }
}
