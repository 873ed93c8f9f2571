import AuthorityStoreSQL
import AuthorityStoreSQLite
import Foundation
import SQLiteDatabase
import SyncAuthority
import SyncModel
import SyncTestKit
import TestRings
import Testing

@testable import AuthorityStorePostgres

/// Tests the move of a server's database to another store.
@Suite struct StoreTransferTests {
    private let databases: TransferDatabases

    init() throws {
        databases = try TransferDatabases()
    }

    @Test func `a copy has every row of every table, and a repeated call recognizes it`() throws {
        try databases.makeSource()
        let expected = try databases.dump("source")
        #expect(expected.values.allSatisfy { !$0.isEmpty }, "the test has a row in each table: \(expected)")
        for isRepeated in [false, true] {
            let (source, target) = (try databases.store("source"), try databases.store("target"))
            let transfer = try databases.transfer(source, target)
            #expect(transfer.wasComplete == isRepeated)
            #expect(transfer.rows.first { $0.table == "record" }?.count == 2)
            try source.close()
            try target.close()
            #expect(try databases.dump("target") == expected)
            // A process that is killed before the last commit leaves the source in use.
            try databases.putBackInUse("source")
            #expect(try databases.dump("source") == expected)
        }
    }

    @Test func `after the copy, no program opens the source, and no open one writes to it`() throws {
        try databases.makeSource()
        let source = try databases.store("source")
        let visitor = try SQLiteAuthorityStore(
            visiting: databases.folder + "/source", newHistory: .fixed(Epoch(rawValue: "new")))
        let target = try databases.store("target")
        _ = try databases.transfer(source, target)
        for store in [source, visitor] {
            let failures = [
                #expect(throws: AuthorityStoreError.self) {
                    try store.write { transaction in _ = try transaction.takeVersion(in: "b") }
                },
                #expect(throws: AuthorityStoreError.self) {
                    try store.write { transaction in
                        try transaction.mark(ClientID(bits: Identifier128(high: 0, low: 0)), replacedBy: nil)
                    }
                },
                #expect(throws: AuthorityStoreError.self) { try store.read { view in _ = try view.state() } },
            ]
            #expect(failures.map { $0?.code } == [.moved, .moved, .moved])
        }
        for store in [source, visitor, target] { try store.close() }
        let opening: [() throws -> SQLiteAuthorityStore] = [
            { try databases.store("source") }, { try SQLiteAuthorityStore(reading: databases.folder + "/source") },
        ]
        for open in opening {
            let failure = #expect(throws: AuthorityStoreError.self) { try open() }
            #expect(failure?.code == .moved && failure?.message.contains("was moved") == true)
        }
    }

    @Test func `a target with other data is refused, and keeps it`() throws {
        try databases.makeSource()
        let (source, target) = (try databases.store("source"), try databases.store("target"))
        try target.write { transaction in _ = try transaction.takeVersion(in: .default) }
        let failure = #expect(throws: AuthorityStoreError.self) { try databases.transfer(source, target) }
        #expect(failure?.message.contains("expected an empty database") == true)
        // A server has continued the source after its copy.
        let copy = try databases.store("copy")
        _ = try databases.transfer(source, copy)
        try databases.putBackInUse("source")
        try source.write { transaction in _ = try transaction.takeVersion(in: "b") }
        #expect(throws: AuthorityStoreError.self) { try databases.transfer(source, copy) }
        for store in [source, target, copy] { try store.close() }
        #expect(try databases.dump("target")["space"]?.count == 1)
    }
}

@Suite(.ring(.check), .needsPostgres, .postgres) struct PostgresTransferTests {
    private let databases: TransferDatabases

    init() throws {
        databases = try TransferDatabases()
    }

    @Test func `a database survives the way to PostgreSQL and back`() throws {
        let database = try DatabaseServer.running
        let configuration = PostgresConfiguration(connection: database.connection, schema: database.newSchema())
        try databases.makeSource()
        let (source, between, target) = (
            try databases.store("source"),
            try PostgresAuthorityStore(
                receivingCopyIn: configuration, newHistory: .fixed(Epoch(rawValue: "new"))),
            try databases.store("target")
        )
        // A server does not start before the copy, as after a move that was killed. The move can be repeated.
        let unfinished = #expect(throws: AuthorityStoreError.self) { try databases.open(configuration) }
        #expect(unfinished?.message.contains("was interrupted") == true)
        try PostgresAuthorityStore(receivingCopyIn: configuration, newHistory: .fixed(Epoch(rawValue: "other"))).close()
        let expected = try databases.dump("source")
        _ = try databases.transfer(source, between)
        // Another server of the schema, which runs during the move.
        let other = try databases.open(configuration)
        defer { other.close() }
        #expect(try other.read { view in try view.extent(of: .default).head } == Version(9))
        _ = try databases.transfer(between, target)
        let written = #expect(throws: AuthorityStoreError.self) {
            try other.write { transaction in _ = try transaction.takeVersion(in: .default) }
        }
        let read = #expect(throws: AuthorityStoreError.self) { try other.read { view in _ = try view.state() } }
        #expect(written?.code == .moved && read?.code == .moved)
        let failure = #expect(throws: AuthorityStoreError.self) { try databases.open(configuration) }
        #expect(failure?.message.contains("was moved") == true)
        try source.close()
        try target.close()
        between.close()
        #expect(try databases.dump("target") == expected)
    }
}

/// SQLite databases of a server in a folder. A dump by SQLite itself shows whether anything is missing.
private final class TransferDatabases {
    let folder = FileManager.default.temporaryDirectory.appending(path: "transfer-\(UUID())").path(
        percentEncoded: false)

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func store(_ name: String, epoch: String = "new") throws -> SQLiteAuthorityStore {
        try SQLiteAuthorityStore(at: folder + "/" + name, newHistory: .fixed(Epoch(rawValue: epoch)))
    }

    func open(
        _ configuration: PostgresConfiguration, creating: Bool = true
    ) throws -> PostgresAuthorityStore {
        try PostgresAuthorityStore(configuration, newHistory: .fixed(Epoch(rawValue: "new")), creating: creating)
    }

    func putBackInUse(_ name: String) throws {
        let connection = try Connection(opening: folder + "/" + name, busyTimeout: .zero)
        for table in ["server", "space", "member", "client"] {
            try connection.execute("ALTER TABLE moved_\(table) RENAME TO \(table)")
        }
    }

    /// Makes a database with rows in all tables, and with extreme values.
    func makeSource() throws {
        try store("source", epoch: "old").close()
        let connection = try Connection(opening: folder + "/source", busyTimeout: .zero)
        let (id, other) = ("x'\(String(repeating: "00", count: 16))'", "x'\(String(repeating: "ff", count: 16))'")
        let stamp = "x'\(String(repeating: "a7", count: 24))'"
        try connection.execute(
            """
            UPDATE server SET clock = -1, catalog_revision = \(Int64.min), member_revision = \(Int64.max);
            INSERT INTO catalog VALUES (1, '{"models":"é"}');
            INSERT INTO space VALUES ('default', 9, 2, \(other), 7), ('a', 0, 0, \(id), 0), ('b', 5, 5, \(id), \(Int64.max));
            INSERT INTO member VALUES ('b', 'ned', 'writer'), ('b', 'Ægir', 'reader');
            INSERT INTO record VALUES
                ('user', \(id), 0, 'default', 9, x'\(String(repeating: "01", count: 48))', NULL, '{"name":"Zoë 🏝️"}',
                 x'\(String(repeating: "02", count: 40))', x'\(String(repeating: "03", count: 32))'),
                ('user', \(other), \(Int64.max), 'b', 5, x'\(String(repeating: "ff", count: 48))', \(stamp), '{}', x'', x'');
            INSERT INTO uid_counter VALUES ('user', \(Int64.max));
            INSERT INTO reference VALUES ('user', \(id), 'avatar', 'user', \(other));
            INSERT INTO change_feed VALUES
                ('default', 9, \(id), 9, 1, '[]', 'ned', \(id), 0, 1, 1800000000000),
                ('default', 8, \(other), 8, 2, '[{"x":1e300}]', '', \(other), -1, \(Int64.min), 0);
            INSERT INTO client VALUES (\(id), 'ned', NULL), (\(other), 'ned', \(id));
            INSERT INTO ledger VALUES ('ned', \(id), 3, 7, 5);
            INSERT INTO outcome VALUES ('ned', \(id), 3, 6, 'hash', 13, '{"applied":9}');
            INSERT INTO conflict VALUES
                (41, 'default', 9, 'user', \(id), 'name', 'lastWriterWins', 2, '{}', \(stamp), \(stamp), \(id), 'ned', \(id), 3,
                 6, 1800000000000);
            INSERT INTO conflict_total VALUES (\(id), 'default', 1, 2, 40), (\(other), 'b', 0, 0, \(Int64.max));
            UPDATE sqlite_sequence SET seq = 70 WHERE name = 'conflict';
            """)
    }

    /// Returns the rows of all tables as text, in order.
    func dump(_ name: String) throws -> [String: [String]] {
        let connection = try Connection(opening: folder + "/" + name, busyTimeout: .zero)
        let tables = try connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").rows { $0.text(0) }
        return try tables.reduce(into: [:]) { found, table in
            let columns = try connection.prepare("SELECT name FROM pragma_table_info('\(table)')").rows { $0.text(0) }
            let values = columns.map { "'\($0)=' || quote(\($0))" }.joined(separator: " || ' ' || ")
            found[table] = try connection.prepare("SELECT \(values) AS row FROM \(table) ORDER BY row").rows {
                $0.text(0)
            }
        }
    }

    func transfer(_ source: some TransferableStore, _ target: some TransferableStore) throws -> StoreTransfer {
        try StoreTransfer(from: source, to: target) { _ in }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
}
