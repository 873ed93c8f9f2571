import Dispatch
import SQLiteDatabase
import SyncConcurrency
import TestRings
import Testing

@Suite struct MigrationsTests {
    private static let steps = [
        Migrations.Step(name: "first", sql: "CREATE TABLE one (id INTEGER)"),
        Migrations.Step(name: "second", sql: "CREATE TABLE two (id INTEGER); INSERT INTO two VALUES (2)"),
    ]

    private static func migrations(_ count: Int = 2) -> Migrations {
        Migrations("a test's database", applicationID: 7, Array(steps.prefix(count)))
    }

    @Test func `each migration runs once, also when a later build has more of them`() throws {
        let folder = try TemporaryFolder()
        try Self.migrations(1).run(on: folder.open(), folder.file)
        for _ in 0..<2 { try Self.migrations().run(on: folder.open(), folder.file) }
        let connection = try folder.open()
        #expect(try connection.integer(of: "SELECT count(*) FROM two") == 1)
        #expect(try connection.integer(of: "PRAGMA user_version") == 2)
        #expect(try Self.migrations().check(connection, folder.file) == 2)
    }

    @Test func `a failed migration keeps the changes of earlier migrations`() throws {
        let folder = try TemporaryFolder()
        let broken = Migrations.Step(
            name: "second", sql: "CREATE TABLE two (id INTEGER); INSERT INTO nowhere VALUES (1)")
        let migrations = Migrations("a test's database", applicationID: 7, [Self.steps[0], broken])
        #expect(code { try migrations.run(on: folder.open(), folder.file) } == .corrupt)
        let connection = try folder.open()
        #expect(try connection.text(of: "SELECT group_concat(name) FROM sync_migration") == "first")
        #expect(try connection.integer(of: "SELECT count(*) FROM sqlite_schema WHERE name = 'two'") == 0)
        try Self.migrations().run(on: connection, folder.file)
    }

    @Test func `many connections migrate a new database at once without an error`() throws {
        let folder = try TemporaryFolder()
        try folder.open().useWAL(folder.file)
        let file = folder.file
        let failures = Guarded([String]())
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do {
                try Self.migrations().run(on: Connection(opening: file, busyTimeout: .seconds(600)), file)
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try folder.open().integer(of: "SELECT count(*) FROM two") == 1)
    }

    @Test func `a check beside a migration sees header and tables of one moment`() throws {
        // With many short steps, the check often reads while the other connection commits.
        let steps = TestRing.sample(60, 400)
        let migrations = Migrations(
            "a test's database", applicationID: 7,
            (1...steps).map { Migrations.Step(name: "step \($0)", sql: "CREATE TABLE table_\($0) (id INTEGER)") })
        let folder = try TemporaryFolder()
        try folder.open().useWAL(folder.file)
        let file = folder.file
        let failures = Guarded([String]())
        DispatchQueue.concurrentPerform(iterations: 2) { place in
            do {
                let connection = try Connection(opening: file, busyTimeout: .seconds(600))
                if place == 0 { return try migrations.run(on: connection, file) }
                while try failures.withLock({ $0.isEmpty }) && migrations.check(connection, file) < steps {}
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }

    @Test(arguments: [
        ("INSERT INTO sync_migration VALUES (3, 'third'); PRAGMA user_version = 3", DatabaseError.Code.newerSchema),
        ("UPDATE sync_migration SET name = 'other' WHERE number = 2", .corrupt),
        (
            "UPDATE sync_migration SET name = 'other' WHERE number = 2; INSERT INTO sync_migration VALUES (3, 'third'); PRAGMA user_version = 3",
            .corrupt
        ),
        ("PRAGMA user_version = 3", .corrupt),
        ("PRAGMA user_version = 1", .corrupt),
        ("DELETE FROM sync_migration", .corrupt),
        ("PRAGMA application_id = 0", .corrupt),
        ("PRAGMA application_id = 8", .corrupt),
        ("PRAGMA application_id = 8; UPDATE sync_migration SET name = 'other' WHERE number = 1", .otherSchema),
    ])
    func `a newer database, a damaged header, and another program's database are told apart`(
        change: String, expected: DatabaseError.Code
    ) throws {
        let folder = try TemporaryFolder()
        try Self.migrations().run(on: folder.open(), folder.file)
        try folder.open().execute(change)
        #expect(code { try Self.migrations().run(on: folder.open(), folder.file) } == expected)
    }

    @Test func `a damaged application id is named`() throws {
        let folder = try TemporaryFolder()
        try Self.migrations().run(on: folder.open(), folder.file)
        try folder.open().execute("PRAGMA application_id = 8")
        let error = #expect(throws: DatabaseError.self) {
            try Self.migrations().run(on: folder.open(), folder.file)
        }
        #expect(error?.message == "\(folder.file) is damaged: its header has the application id 8; expected 7")
    }

    @Test func `a database of another program is not written`() throws {
        let folder = try TemporaryFolder()
        try folder.open().execute("CREATE TABLE recipes (name TEXT)")
        #expect(code { try Self.migrations().run(on: folder.open(), folder.file) } == .otherSchema)
        #expect(try folder.open().text(of: "SELECT group_concat(name) FROM sqlite_schema") == "recipes")
    }
}
