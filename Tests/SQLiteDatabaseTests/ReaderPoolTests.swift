import Dispatch
import SQLiteDatabase
import SyncConcurrency
import Testing

@Suite struct ReaderPoolTests {
    @Test func `readers are opened on first use, read beside each other, and cannot write`() throws {
        let folder = try TemporaryFolder()
        try folder.open().execute("CREATE TABLE item (id INTEGER PRIMARY KEY)")
        let opened = Guarded(0)
        let file = folder.file
        let pool = ReaderPool(count: 2) {
            opened.withLock { $0 += 1 }
            return try Connection(opening: file, busyTimeout: .zero)
        }
        #expect(opened.withLock { $0 } == 0)
        // If the inner read used the connection of the outer read, it would wait forever.
        let counts = try pool.read { outer in
            [try outer.integer(of: "SELECT count(*) FROM item"), try pool.read { try $0.integer(of: "SELECT 1") }]
        }
        #expect(counts == [0, 1] && opened.withLock { $0 } == 2)
        #expect(code { try pool.read { try $0.execute("INSERT INTO item VALUES (1)") } } == .readOnly)
    }

    @Test func `a connection that two readers share is idle only after both`() throws {
        let pool = ReaderPool(count: 2) { try Connection(opening: ":memory:", busyTimeout: .zero) }
        try pool.withConnection { first in
            try pool.withConnection { second in
                // Both connections are busy, so further readers share them in turn. If the end of one of two readers
                // made a connection idle, the next reader would get the same connection again.
                let shared = [try pool.withConnection { $0 }, try pool.withConnection { $0 }]
                #expect(shared.contains { $0 === first } && shared.contains { $0 === second })
            }
        }
    }

    @Test func `after close, every read throws`() throws {
        let pool = ReaderPool(count: 1) { try Connection(opening: ":memory:", busyTimeout: .zero) }
        _ = try pool.read { try $0.integer(of: "SELECT 1") }
        pool.close()
        #expect(code { _ = try pool.read { try $0.integer(of: "SELECT 1") } } == .closed)
    }

    @Test func `a connection that failed to open is tried again`() throws {
        let tries = Guarded(0)
        let pool = ReaderPool(count: 1) {
            guard
                tries.withLock({
                    $0 += 1
                    return $0
                }) > 1
            else { throw DatabaseError(.busy, "not yet") }
            return try Connection(opening: ":memory:", busyTimeout: .zero)
        }
        #expect(code { _ = try pool.read { try $0.integer(of: "SELECT 1") } } == .busy)
        #expect(try pool.read { try $0.integer(of: "SELECT 1") } == 1)
    }

    @Test func `a turn of several uses is not interrupted by another thread`() throws {
        let shared = SharedConnection(try Connection(opening: ":memory:", busyTimeout: .zero))
        try shared.use { try $0.execute("CREATE TABLE counter (value INTEGER); INSERT INTO counter VALUES (0)") }
        let failures = Guarded(0)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<50 {
                do {
                    try shared.inTurn {
                        let value = try shared.use { try $0.integer(of: "SELECT value FROM counter") }
                        try shared.use { try $0.execute("UPDATE counter SET value = \(value + 1)") }
                    }
                } catch {
                    failures.withLock { $0 += 1 }
                }
            }
        }
        #expect(failures.withLock { $0 } == 0)
        #expect(try shared.use { try $0.integer(of: "SELECT value FROM counter") } == 200)
    }
}
