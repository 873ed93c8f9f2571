import SyncCore
import SyncModel
import SyncStoreSQLite
import SyncTestKit
import Testing

/// Runs the suite of the port on each kind of connection.
@Suite struct ConformanceTests {
    static let rules = LocalStoreConformance<SQLiteStore> { _ in
        throw StoreFailure(.missingFile, "only the names are asked for")
    }.rules

    @Test(arguments: rules) func `a pool of connections obeys`(rule: String) throws {
        let scratch = try Scratch()
        try LocalStoreConformance { catalog in try scratch.open(catalog) }.run(rule)
    }

    @Test(arguments: rules) func `a single connection obeys`(rule: String) throws {
        let scratch = try Scratch()
        try LocalStoreConformance { catalog in try scratch.open(catalog) { $0.connections = .exclusive } }.run(rule)
    }

    @Test func `a broken rule is named`() {
        let violations = LocalStoreConformance<SQLiteStore> { _ in throw StoreFailure(.readOnly, "no store") }.run()
        #expect(violations.map(\.rule) == Self.rules)
        #expect(violations.allSatisfy { $0.description.contains("no store") })
    }
}
