import SQLiteDatabase
import Testing

@Suite struct ConnectionTests {
    @Test func `a commit is seen by other connections, and a rollback or an error leaves nothing`() throws {
        let folder = try TemporaryFolder()
        let connection = try folder.open()
        try connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)")
        func insert(_ id: Int64) throws { try connection.execute("INSERT INTO item VALUES (\(id))") }
        #expect(
            try connection.write { _ in
                try insert(1)
                return .commit("kept")
            } == "kept")
        #expect(
            try connection.write { _ in
                try insert(2)
                return .rollBack("undone")
            } == "undone")
        #expect(throws: TemporaryFolder.Failure.self) {
            try connection.write { _ -> Connection.Ending<Void> in
                try insert(3)
                throw TemporaryFolder.Failure()
            }
        }
        #expect(try folder.open().text(of: "SELECT group_concat(id) FROM item") == "1")
    }

    @Test func `savepoints keep, roll back, and fail one by one, also with a statement that was interrupted`() throws {
        let folder = try TemporaryFolder()
        let connection = try folder.open()
        try connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)")
        let insert = try connection.prepare("INSERT INTO item VALUES (?1), (?1 + 1) RETURNING id")
        /// Inserts two rows, and ends as `ending` says after the first one was returned.
        func part(_ id: Int64, _ ending: () throws -> Connection.Ending<Int64>) throws -> Result<Int64, any Error> {
            try connection.savepoint { _ in
                insert.bind(1, id)
                _ = try insert.step()
                let ending = try ending()
                insert.reset()
                return ending
            }
        }
        for failsAtEnd in [true, false] {
            do {
                try connection.write { _ -> Connection.Ending<Void> in
                    #expect(try part(1) { .commit(1) }.get() == 1)
                    #expect(try part(3) { .rollBack(3) }.get() == 3)
                    #expect(throws: TemporaryFolder.Failure.self) {
                        try part(5) { throw TemporaryFolder.Failure() }.get()
                    }
                    #expect(try part(7) { .commit(7) }.get() == 7)
                    guard failsAtEnd else { return .commit(()) }
                    insert.bind(1, 9)
                    _ = try insert.step()
                    throw TemporaryFolder.Failure()
                }
            } catch is TemporaryFolder.Failure {
                #expect(failsAtEnd)
            }
        }
        #expect(try folder.open().text(of: "SELECT group_concat(id) FROM item") == "1,2,7,8")
    }

    @Test func `reads in a snapshot do not see a commit that comes between them`() throws {
        let folder = try TemporaryFolder()
        let writer = try folder.open()
        try writer.useWAL(folder.file)
        try writer.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)")
        let reader = try folder.open()
        let counts = try reader.readSnapshot { reader in
            let before = try reader.integer(of: "SELECT count(*) FROM item")
            try writer.execute("INSERT INTO item VALUES (1)")
            return [before, try reader.integer(of: "SELECT count(*) FROM item")]
        }
        #expect(counts == [0, 0])
        #expect(try reader.integer(of: "SELECT count(*) FROM item") == 1)
    }

    @Test func `values come back as they were bound`() throws {
        let connection = try Connection(opening: ":memory:", busyTimeout: .zero)
        let statement = try connection.prepare("SELECT ?1, ?2, ?3, ?4, ?5, ?6")
        statement.bind(1, Int64.min)
        statement.bind(2, real: 0.1)
        statement.bind(3, "naïve 🏝️ \0 text")
        statement.bind(4, "")
        statement.bind(5, blob: [])
        statement.bind(6, nil as String?)
        let isWhole = try statement.first { row in
            row.integer(0) == .min && row.real(1) == 0.1 && row.text(2) == "naïve 🏝️ \0 text"
                && row.optionalText(3) == "" && !row.isNull(4) && row.bytes(4).isEmpty && row.isNull(5)
        }
        #expect(isWhole == true)
    }

    @Test(arguments: [0, 1, 63, 64, 65, 1_000])
    func `a binding keeps its bytes, however short, until its parameter is bound again`(length: Int) throws {
        let connection = try Connection(opening: ":memory:", busyTimeout: .zero)
        let statement = try connection.prepare("SELECT ?1, ?2 UNION ALL SELECT ?2, ?1")
        let (first, second) = (String(repeating: "a", count: length), [UInt8](repeating: 7, count: length))
        statement.bind(1, first)
        statement.bind(2, blob: second)
        let rows = { try statement.rows { ($0.bytes(0), $0.bytes(1)) } }
        #expect(try rows().elementsEqual([(Array(first.utf8), second), (second, Array(first.utf8))], by: ==))
        statement.bind(2, "other")
        #expect(try rows().map(\.0) == [Array(first.utf8), Array("other".utf8)])
        // A statement that runs refuses bindings, and reads on what it had.
        #expect(try statement.step())
        statement.bind(1, String(repeating: "b", count: length))
        #expect(statement.bytes(0) == Array(first.utf8))
        statement.reset()
        #expect(try rows().map(\.0) == [Array(first.utf8), Array("other".utf8)])
    }

    @Test func `a failed binding makes only the next step fail`() throws {
        let connection = try Connection(opening: ":memory:", busyTimeout: .zero)
        let statement = try connection.prepare("SELECT ?1")
        statement.bind(2, Int64(1))
        #expect(code { _ = try statement.step() } == .inputOutput)
        #expect(try statement.step())
    }

    @Test func `the same number and the same literal give the same statement`() throws {
        let connection = try Connection(opening: ":memory:", busyTimeout: .zero)
        let first = try connection.statement(numbered: 7, "SELECT 1")
        #expect(try connection.statement(numbered: 7, "SELECT 2") === first)
        func literal() throws -> Statement { try connection.statement("SELECT 3") }
        #expect(try literal() === literal())
        #expect(try connection.statement(composed: "SELECT 4") === connection.statement(composed: "SELECT 4"))
    }

    @Test func `a second writer is told that the database is busy`() throws {
        let folder = try TemporaryFolder()
        let (first, second) = (try folder.open(), try folder.open())
        try first.useWAL(folder.file)
        try first.execute("BEGIN IMMEDIATE")
        #expect(code { try second.write { _ in .commit(()) } } == .busy)
    }

    @Test func `a database in memory needs no WAL, and a file system without shared memory is refused`() throws {
        try Connection(opening: ":memory:", busyTimeout: .zero).useWAL("memory")
        let folder = try TemporaryFolder()
        // With the VFS `unix-dotfile`, SQLite has no shared memory, and silently keeps using the rollback journal.
        let uri = DatabaseURI.make(folder.file, vfs: "unix-dotfile", creating: true)
        let connection = try Connection(opening: uri, busyTimeout: .zero)
        #expect(code { try connection.useWAL(folder.file) } == .notDurable)
    }

    @Test func `a text in double quotes is never taken for a string`() throws {
        let connection = try Connection(opening: ":memory:", busyTimeout: .zero)
        try connection.harden()
        #expect(code { _ = try connection.prepare("SELECT \"nothing\"") } == .corrupt)
    }

    @Test func `without automatic checkpoints, the WAL grows until a checkpoint is requested`() throws {
        let folder = try TemporaryFolder()
        let connection = try folder.open()
        try connection.useWAL(folder.file)
        try connection.takeOverCheckpoints()
        try connection.execute("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(8000000))")
        #expect(connection.pagesInWAL > 1_900 && connection.walBytes > 8_000_000)
        #expect(try connection.checkpoint(.truncate))
        connection.forgetPagesInWAL()
        #expect(connection.pagesInWAL == 0 && connection.walBytes == 0)
    }
}
