import Foundation
import Glibc
import Testing

@testable import SQLiteDatabase

/// SQLite drops the commits behind a damaged frame of a WAL. These tests look for such commits in files that SQLite
/// wrote, and that a killed process leaves.
@Suite struct WALFileTests {
    /// The number of commits in the WAL of `database`, each of which inserts one row in an own page.
    private static let commits = 6
    private static let frameBytes = 24 + 4_096

    /// A closed database whose WAL holds all of its rows.
    private struct Database {
        let folder: TemporaryFolder
        var wal: String { folder.file + "-wal" }

        init(_ fill: (Connection) throws -> Void = { try Self.insert(1...WALFileTests.commits, $0) }) throws {
            let source = try TemporaryFolder()
            folder = try TemporaryFolder()
            let connection = try source.open()
            try connection.useWAL(source.file)
            try connection.turnOffCheckpoints()
            try connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT)")
            try connection.checkpoint(.truncate)
            try fill(connection)
            try Self.copy(source, to: folder)
        }

        /// Copies the files as a process that is killed now leaves them.
        static func copy(_ source: TemporaryFolder, to target: TemporaryFolder) throws {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: target.file + suffix)
                try FileManager.default.copyItem(atPath: source.file + suffix, toPath: target.file + suffix)
            }
        }

        static func insert(_ ids: ClosedRange<Int>, _ connection: Connection) throws {
            for id in ids {
                try connection.execute(
                    "INSERT INTO item VALUES (\(id), '\(id) \(String(repeating: "x", count: 3_000))')")
            }
        }

        func change(_ body: (inout [UInt8]) -> Void) throws {
            var bytes = Array(try Data(contentsOf: URL(filePath: wal)))
            body(&bytes)
            try Data(bytes).write(to: URL(filePath: wal))
        }

        var lost: Int {
            get throws { try WALFile.commitsLostToDamage(of: DatabaseFiles(path: folder.file)) }
        }

        func acceptDamage() throws -> WALFile.Damage {
            let index = try #require(WALIndex(of: DatabaseFiles(path: folder.file)))
            return try WALFile.acceptDamage(inCopy: wal, index)
        }

        /// Sets the time of the WAL to one before the system started.
        func makeOld() throws {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000)], ofItemAtPath: wal)
        }

        /// The rows that SQLite finds.
        func ids() throws -> String {
            try folder.open().text(of: "SELECT coalesce(group_concat(id), '') FROM item")
        }
    }

    @Test func `a WAL that a killed process leaves is not damaged, and neither is a missing or empty one`() throws {
        let database = try Database()
        #expect(try database.lost == 0)
        #expect(try database.acceptDamage() == .none)
        for bytes in [[], [UInt8](repeating: 0, count: 20_000)] {
            let other = try Database { _ in }
            try Data(bytes).write(to: URL(filePath: other.wal))
            #expect(try other.lost == 0)
        }
        #expect(try WALFile.commitsLostToDamage(of: DatabaseFiles(path: database.folder.file + "-none")) == 0)
        #expect(try database.ids() == "1,2,3,4,5,6")
    }

    @Test func `a database that this process has open is not looked at`() throws {
        let database = try Database()
        try database.change { $0[Place.contents.offset(inFrame: 1)] ^= 1 }
        #expect(try database.lost > 0)
        let connection = try database.folder.open()
        #expect(WALIndex(of: DatabaseFiles(path: database.folder.file)) == nil)
        #expect(try database.lost == 0)
        withExtendedLifetime(connection) {}
    }

    /// A place in a frame, counted from its beginning, or in the header of the WAL.
    enum Place: CaseIterable {
        case page, size, salt, checksum, contents, end
        case headerMagic, headerSalt, headerChecksum

        func offset(inFrame frame: Int) -> Int {
            let start = 32 + frame * frameBytes
            return switch self {
            case .page: start + 3
            case .size: start + 7
            case .salt: start + 12
            case .checksum: start + 20
            case .contents: start + 2_000
            case .end: start + frameBytes - 1
            case .headerMagic: 1
            case .headerSalt: 17
            case .headerChecksum: 27
            }
        }
    }

    @Test(arguments: Place.allCases) func `all commits are read after a changed bit`(place: Place) throws {
        let database = try Database()
        try database.change { $0[place.offset(inFrame: 1)] ^= 1 }
        #expect(try database.lost > 0)
        try database.makeOld()
        #expect(try database.lost > 0, "the end of the WAL is that of the index")
        // The other page number is greater than the number of pages.
        #expect(try database.acceptDamage() == (place == .page ? .lostPages : .damagedPages))
        let ids = try database.ids()
        // A frame with the number of another page may replace that page.
        #expect(place == .page ? ids.hasSuffix("4,5,6") : ids == "1,2,3,4,5,6", "\(ids)")
        let other = try Database()
        try other.change { $0[place.offset(inFrame: 1)] ^= 1 }
        #expect(try other.ids() != "1,2,3,4,5,6", "SQLite alone drops commits")
    }

    @Test(arguments: [Place.checksum, .contents, .end])
    func `the last commit is read after a changed bit in its last frame`(place: Place) throws {
        let database = try Database()
        let size = try Data(contentsOf: URL(filePath: database.wal)).count
        let last = (size - 32) / Self.frameBytes - 1
        try database.change { $0[place.offset(inFrame: last)] ^= 1 }
        #expect(try database.acceptDamage() == .damagedPages)
        #expect(try database.ids() == "1,2,3,4,5,6")
    }

    @Test func `the frames of a commit stay without its last one, if that names an impossible page`() throws {
        let database = try Database { connection in
            try Database.insert(1...5, connection)
            try connection.execute("BEGIN")
            try connection.execute("UPDATE item SET text = 'new' WHERE id = 1")
            try Database.insert(6...7, connection)
            try connection.execute("COMMIT")
        }
        let size = try Data(contentsOf: URL(filePath: database.wal)).count
        let last = (size - 32) / Self.frameBytes - 1
        try database.change { $0[Place.page.offset(inFrame: last) - 3] = 0x7f }
        #expect(try database.acceptDamage() == .lostPages)
        let bytes = Array(try Data(contentsOf: URL(filePath: database.wal)))
        #expect(bytes.count == 32 + last * Self.frameBytes, "only the last frame is useless")
        let mark = bytes[(32 + (last - 1) * Self.frameBytes + 4)...].prefix(4)
        #expect(mark.contains { $0 != 0 }, "the frame before it commits")
    }

    @Test func `a lost part of the file is damage, unless a power loss explains it`() throws {
        let whole = try Database()
        let size = try Data(contentsOf: URL(filePath: whole.wal)).count
        for start in stride(from: 0, to: size, by: 4_096) {
            let database = try Database()
            let lastChecksum = 32 + ((size - 32) / Self.frameBytes - 1) * Self.frameBytes + 16
            let hasLast = start >= lastChecksum + 8 || start + 4_096 <= lastChecksum
            try database.change { bytes in
                for place in start..<min(start + 4_096, size) { bytes[place] = 0 }
            }
            #expect(try database.lost > 0, "block at \(start)")
            try database.makeOld()
            #expect(
                try (database.lost > 0) == hasLast, "the last frame proves that the index is not newer than the WAL")
        }
    }

    @Test func `a torn end is damage only if it was committed`() throws {
        let whole = try Database()
        let size = try Data(contentsOf: URL(filePath: whole.wal)).count
        for length in stride(from: 100, to: size, by: 1_021) {
            let database = try Database()
            try database.change { $0.removeSubrange(length...) }
            #expect(try database.lost > 0, "\(length) bytes")
            // After a power loss, the index can be newer than the WAL.
            try database.makeOld()
            #expect(try database.lost == 0, "\(length) bytes")
            // A WAL without a single frame has nothing to accept.
            guard length >= 32 + Self.frameBytes else { continue }
            #expect(try database.acceptDamage() == .lostPages, "\(length) bytes")
        }
        let database = try Database()
        try database.change { $0 += [UInt8](repeating: 7, count: 10_000) }
        #expect(try database.lost == 0)
    }

    @Test func `frames of an earlier time behind the end are no damage, and stay unread`() throws {
        let restarted = try Database { connection in
            try Database.insert(1...20, connection)
            try connection.checkpoint(.passive)
            try Database.insert(21...22, connection)
        }
        let undone = try Database { connection in
            try connection.execute("PRAGMA cache_size = 10")
            _ = try connection.write { _ in
                try Database.insert(1...60, connection)
                return .rollBack(())
            }
            try Database.insert(1...2, connection)
        }
        for database in [restarted, undone] {
            #expect(try Data(contentsOf: URL(filePath: database.wal)).count > 15 * Self.frameBytes)
            #expect(try database.lost == 0)
            #expect(try database.acceptDamage() == .none)
        }
        #expect(try undone.ids() == "1,2")
    }

    @Test func `whole commits that were never completed are no damage, and stay unread`() throws {
        // A process was killed between the last frame of a commit and its entry in the index.
        let (before, after) = (try TemporaryFolder(), try TemporaryFolder())
        let source = try TemporaryFolder()
        let connection = try source.open()
        try connection.useWAL(source.file)
        try connection.turnOffCheckpoints()
        try connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT)")
        try Database.insert(1...3, connection)
        try Database.copy(source, to: before)
        try Database.insert(4...20, connection)
        try Database.copy(source, to: after)
        let end = try Data(contentsOf: URL(filePath: before.file + "-wal")).count
        let tail = try Data(contentsOf: URL(filePath: after.file + "-wal"))[end...]
        // Another process, which has the database open, writes over the beginning of that commit.
        let other = try before.open()
        try other.turnOffCheckpoints()
        _ = try other.integer(of: "SELECT count(*) FROM item")
        let wal = try FileHandle(forWritingTo: URL(filePath: before.file + "-wal"))
        try wal.seekToEnd()
        try wal.write(contentsOf: tail)
        try wal.close()
        try other.execute("INSERT INTO item VALUES (100, 'new')")
        let database = try Database { _ in }
        try Database.copy(before, to: database.folder)
        #expect(try Data(contentsOf: URL(filePath: database.wal)).count > end + 10 * Self.frameBytes)
        #expect(try database.lost == 0)
        #expect(try database.acceptDamage() == .none)
        #expect(try database.ids() == "1,2,3,100")
        withExtendedLifetime((connection, other)) {}
    }

    @Test func `after a power loss, new commits before the old ones are no damage`() throws {
        let database = try Database()
        try database.change { $0.replaceSubrange(8_192..<12_288, with: repeatElement(0, count: 4_096)) }
        try FileManager.default.removeItem(atPath: database.folder.file + "-shm")
        let connection = try database.folder.open()
        try connection.turnOffCheckpoints()
        try connection.execute("INSERT INTO item VALUES (100, 'new')")
        let expected = try connection.text(of: "SELECT group_concat(id) FROM item")
        let killed = try Database { _ in }
        try Database.copy(database.folder, to: killed.folder)
        #expect(try killed.lost == 0)
        #expect(try killed.acceptDamage() == .none)
        #expect(try killed.ids() == expected)
        withExtendedLifetime(connection) {}
    }
}
