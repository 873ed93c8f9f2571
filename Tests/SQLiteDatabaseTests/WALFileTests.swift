import Foundation
import Glibc
import Testing

@testable import SQLiteDatabase

/// SQLite drops the commits behind a damaged frame of a WAL. These tests look for such commits in files that SQLite wrote.
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
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: source.file + suffix, toPath: folder.file + suffix)
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

        func commitsBehindDamage(flushesCommits: Bool = false) throws -> Int {
            try WALFile.commitsBehindDamage(at: wal, flushesCommits: flushesCommits)
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

    @Test func `a WAL that SQLite wrote is not damaged, and neither is a missing or empty one`() throws {
        let database = try Database()
        #expect(try database.commitsBehindDamage(flushesCommits: true) == 0)
        #expect(try WALFile.acceptDamage(inCopy: database.wal) == false)
        #expect(try database.ids() == "1,2,3,4,5,6")
        #expect(try WALFile.commitsBehindDamage(at: database.folder.file + "-none", flushesCommits: true) == 0)
        try Data().write(to: URL(filePath: database.wal))
        #expect(try database.commitsBehindDamage(flushesCommits: true) == 0)
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

    @Test(arguments: Place.allCases) func `a changed bit before other commits is found, whenever it was written`(
        place: Place
    )
        throws
    {
        let database = try Database()
        try database.change { $0[place.offset(inFrame: 1)] ^= 1 }
        try database.makeOld()
        #expect(try database.commitsBehindDamage() > 0)
    }

    @Test(arguments: Place.allCases) func `all later commits are read after a changed bit`(place: Place) throws {
        let database = try Database()
        try database.change { $0[place.offset(inFrame: 1)] ^= 1 }
        #expect(try database.ids() != "1,2,3,4,5,6", "SQLite alone drops them")
        let other = try Database()
        try other.change { $0[place.offset(inFrame: 1)] ^= 1 }
        #expect(try WALFile.acceptDamage(inCopy: other.wal))
        #expect(try other.ids().hasSuffix("3,4,5,6"))
        #expect(try other.commitsBehindDamage(flushesCommits: true) == 0)
    }

    @Test func `a lost block of the file is damage if the file is younger than the start of the system`() throws {
        let database = try Database()
        try database.change { $0.replaceSubrange(4_096..<8_192, with: repeatElement(0, count: 4_096)) }
        #expect(try database.commitsBehindDamage() > 0)
        // Before that, a power loss could leave it out, unless the commits behind it had to wait for it.
        try database.makeOld()
        #expect(try database.commitsBehindDamage() == 0)
        #expect(try database.commitsBehindDamage(flushesCommits: true) > 1)
        #expect(try WALFile.acceptDamage(inCopy: database.wal))
        #expect(try database.ids().hasSuffix("5,6"))
    }

    @Test func `a torn end is no damage`() throws {
        let whole = try Database()
        let size = try Data(contentsOf: URL(filePath: whole.wal)).count
        for length in stride(from: 0, through: size, by: 1_021) {
            let database = try Database()
            try database.change { $0.removeSubrange(length...) }
            #expect(try database.commitsBehindDamage(flushesCommits: true) == 0, "\(length) bytes")
        }
        // Nothing proves that the last frame was ever written as a whole.
        try whole.change { $0[size - 100] ^= 1 }
        #expect(try whole.commitsBehindDamage(flushesCommits: true) == 0)
    }

    @Test func `old frames behind those of a restarted WAL are no damage`() throws {
        let database = try Database { connection in
            try Database.insert(1...20, connection)
            try connection.checkpoint(.passive)
            try Database.insert(21...22, connection)
        }
        #expect(try Data(contentsOf: URL(filePath: database.wal)).count > 15 * Self.frameBytes)
        #expect(try database.commitsBehindDamage(flushesCommits: true) == 0)
        #expect(try WALFile.acceptDamage(inCopy: database.wal) == false)
    }

    @Test func `the frames of a transaction that was undone are no damage`() throws {
        let database = try Database { connection in
            try connection.execute("PRAGMA cache_size = 10")
            _ = try connection.write { _ in
                try Database.insert(1...60, connection)
                return .rollBack(())
            }
            try Database.insert(1...2, connection)
        }
        #expect(try Data(contentsOf: URL(filePath: database.wal)).count > 30 * Self.frameBytes, "frames were written")
        #expect(try database.commitsBehindDamage(flushesCommits: true) == 0)
        #expect(try WALFile.acceptDamage(inCopy: database.wal) == false)
        #expect(try database.ids() == "1,2")
    }
}
