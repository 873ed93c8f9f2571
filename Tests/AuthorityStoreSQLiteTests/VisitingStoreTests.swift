import Foundation
import Glibc
import SQLiteDatabase
import SyncAuthority
import SyncModel
import SyncTestKit
import TestRings
import Testing

@testable import AuthorityStoreSQLite

/// Tests short transactions of a command on a database that a server may be serving.
@Suite struct VisitingStoreTests {
    private static let epoch = Epoch(rawValue: "e")
    private let folder: Folder

    init() throws {
        folder = try Folder()
    }

    private func visit(busyTimeout: Duration = .seconds(5)) throws -> SQLiteAuthorityStore {
        try SQLiteAuthorityStore(
            visiting: folder.file, newHistory: .fixed(Epoch(rawValue: "unused")),
            configuration: .init(durability: .normal, busyTimeout: busyTimeout))
    }

    private static func admit(_ name: String, in store: SQLiteAuthorityStore) throws {
        try store.write { transaction in
            try transaction.set(.writer, of: Principal(name: name), in: "team")
        }
    }

    private static func names(in store: SQLiteAuthorityStore) throws -> [String] {
        try store.read { view in try view.members().map(\.principal.name) }
    }

    private var walBytes: Int? {
        try? FileManager.default.attributesOfItem(atPath: folder.file + "-wal")[.size] as? Int
    }

    @Test func `a server sees the commit of a visitor at once, and a visitor that of the server`() throws {
        let server = try folder.open()
        defer { try? server.close() }
        #expect(try Self.names(in: server) == [])
        let visitor = try visit()
        try Self.admit("ned", in: visitor)
        #expect(try Self.names(in: server) == ["ned"])
        try Self.admit("arya", in: server)
        #expect(try Self.names(in: visitor) == ["arya", "ned"])
        let revision = try server.write { transaction in try transaction.state().memberRevision }
        #expect(try visitor.read { view in try view.state() }.memberRevision == revision)
        try visitor.close()
        try Self.admit("rob", in: server)
        #expect(try Self.names(in: server) == ["arya", "ned", "rob"])
        #expect(try server.read { view in try view.state().epoch } == Self.epoch)
    }

    @Test func `a visitor of a database that nobody serves leaves everything in the file`() throws {
        try folder.open().close()
        let visitor = try visit()
        try Self.admit("ned", in: visitor)
        try visitor.close()
        #expect((walBytes ?? 0) == 0)
        let server = try folder.open()
        #expect(try Self.names(in: server) == ["ned"])
        try server.close()
    }

    @Test func `the last visitor of a server that has ended leaves everything in the file`() throws {
        let server = try folder.open()
        let visitor = try visit()
        try Self.admit("ned", in: visitor)
        try server.close()
        try Self.admit("arya", in: visitor)
        try visitor.close()
        #expect((walBytes ?? 0) == 0)
        let again = try folder.open()
        #expect(try Self.names(in: again) == ["arya", "ned"])
        try again.close()
    }

    @Test func `a visitor never creates a database`() throws {
        for makesFolder in [false, true] {
            if makesFolder { mkdir(folder.path, 0o700) }
            let error = #expect(throws: AuthorityStoreError.self) { try visit() }
            #expect(error?.code == .noDatabase)
            #expect(!FileManager.default.fileExists(atPath: folder.file))
        }
        // A server creates an empty file first.
        #expect(
            FileManager.default.createFile(
                atPath: folder.file, contents: nil, attributes: [.posixPermissions: 0o600]))
        let error = #expect(throws: AuthorityStoreError.self) { try visit() }
        #expect(error?.code == .noDatabase)
    }

    @Test func `a visitor does not migrate the database of a server`() throws {
        let server = try folder.open()
        defer { try? server.close() }
        try folder.execute("DELETE FROM sync_migration; PRAGMA user_version = 0")
        let error = #expect(throws: AuthorityStoreError.self) { try visit() }
        #expect(error?.code == .otherSchema, "\(error?.message ?? "")")
        #expect(error?.message.contains("start the server of this build first") == true)
    }

    @Test func `a visitor waits for a write of the server, and the server for one of a visitor`() throws {
        let server = try SQLiteAuthorityStore(
            at: folder.file, newHistory: .fixed(Self.epoch),
            configuration: .init(durability: .normal, busyTimeout: .milliseconds(20)))
        defer { try? server.close() }
        let visitor = try visit(busyTimeout: .milliseconds(20))
        defer { try? visitor.close() }
        for (first, second) in [(server, visitor), (visitor, server)] {
            try first.write { transaction in
                try transaction.set(.reader, of: Principal(name: "ned"), in: "team")
                let error = #expect(throws: AuthorityStoreError.self) { try Self.admit("arya", in: second) }
                #expect(error?.code == .busy)
                #expect(try second.read { view in try view.members().filter { $0.principal.name == "arya" } } == [])
            }
            #expect(try Self.names(in: second) == ["ned"])
        }
    }

    /// SQLite before 3.51.3 can corrupt a database when a commit restarts the WAL during a checkpoint.
    @Test func `a server checkpoints only while no visitor can commit`() throws {
        let server = try SQLiteAuthorityStore(
            at: folder.file, newHistory: .fixed(Self.epoch),
            configuration: .init(durability: .normal, busyTimeout: .milliseconds(20)))
        defer { try? server.close() }
        let visitor = try visit()
        defer { try? visitor.close() }
        try visitor.write { transaction in
            try transaction.set(.reader, of: Principal(name: "ned"), in: "team")
            #expect(throws: DatabaseError.self) { try server.writer.inTurn { try server.checkpoint() } }
        }
        #expect(try server.writer.inTurn { try server.checkpoint() })
        let automatic = try [server, visitor].map { store in
            try store.writer.use { try $0.integer(of: "PRAGMA wal_autocheckpoint") }
        }
        #expect(automatic == [0, 0])
    }

    @Test(.ring(.test)) func `the WAL of a server stays short while visitors commit`() throws {
        let server = try folder.open()
        defer { try? server.close() }
        let authority = Authority(store: server, catalog: SQLiteAuthorityStoreTests.catalog)
        let bound = 2 * AuthorityOpening.checkpointPages * 4_200
        for number in 0..<1_500 {
            _ = try authority.push(
                try SQLiteAuthorityStoreTests.request(number), by: Principal(name: "anna"),
                now: SQLiteAuthorityStoreTests.now)
            if number.isMultiple(of: 50) {
                let visitor = try visit()
                try Self.admit("a\(number)", in: visitor)
                try visitor.close()
            }
            if number.isMultiple(of: 100) { #expect(try #require(walBytes) < bound, "after \(number) pushes") }
        }
        let pages = try server.writer.use { try $0.integer(of: "PRAGMA page_count") }
        #expect(pages > 1_000)
        let size = try FileManager.default.attributesOfItem(atPath: folder.file)[.size] as? Int
        #expect(try #require(size) > 2_000_000, "the checkpoints have copied the WAL into the file")
        #expect(try Self.names(in: server).count == 30)
        try server.check()
    }
}
