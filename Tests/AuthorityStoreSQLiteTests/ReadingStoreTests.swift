import Foundation
import Glibc
import SQLiteDatabase
import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@testable import AuthorityStoreSQLite

/// Tests reads and copies of a database that a server may be serving.
@Suite struct ReadingStoreTests {
    private let folder: Folder

    init() throws {
        folder = try Folder()
    }

    private func reader() throws -> SQLiteAuthorityStore { try SQLiteAuthorityStore(reading: folder.file) }

    private func admit(_ name: String, in store: SQLiteAuthorityStore) throws {
        try store.write { transaction in try transaction.set(.writer, of: Principal(name: name), in: "team") }
    }

    private func names(in store: SQLiteAuthorityStore) throws -> [String] {
        try store.read { view in try view.members().map(\.principal.name) }
    }

    /// Copies the database into a new file with this name.
    private func copy(to name: String) throws -> String {
        let copy = folder.path + "/" + name
        #expect(FileManager.default.createFile(atPath: copy, contents: nil, attributes: [.posixPermissions: 0o600]))
        try SQLiteAuthorityStore.copy(folder.file, into: copy)
        return copy
    }

    @Test func `a reader sees each commit of a running server, and cannot write`() throws {
        let server = try folder.open()
        defer { try? server.close() }
        let reader = try reader()
        defer { try? reader.close() }
        #expect(try names(in: reader) == [])
        try admit("ned", in: server)
        #expect(try names(in: reader) == ["ned"])
        let error = #expect(throws: AuthorityStoreError.self) { try admit("arya", in: reader) }
        #expect(error?.code == .readOnly)
        try admit("rob", in: server)
        #expect(try names(in: server) == ["ned", "rob"])
    }

    @Test func `a reader leaves the permissions of any file`() throws {
        try folder.open().close()
        let other = folder.path + "/other"
        for (file, contents) in [(folder.file, nil), (other, Data("root:x:0:0".utf8))] {
            if let contents { #expect(FileManager.default.createFile(atPath: file, contents: contents)) }
            #expect(chmod(file, 0o644) == 0)
            try? SQLiteAuthorityStore(reading: file).close()
            var status = stat()
            #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o644)
        }
    }

    @Test func `a reader leaves the database and the WAL of a killed server as they are`() throws {
        let server = try folder.open()
        for number in 0..<20 { try admit("a\(number)", in: server) }
        let files = [folder.file, folder.file + "-wal"]
        let contents = try files.map { try Data(contentsOf: URL(filePath: $0)) }
        try server.close()
        // A killed server leaves both.
        for (file, bytes) in zip(files, contents) {
            #expect(
                FileManager.default.createFile(atPath: file, contents: bytes, attributes: [.posixPermissions: 0o600]))
        }
        let reader = try reader()
        #expect(try names(in: reader).count == 20)
        try reader.close()
        _ = try copy(to: "copy.db")
        #expect(try files.map { try Data(contentsOf: URL(filePath: $0)) } == contents)
    }

    @Test func `a reader keeps no server from starting, and is not taken for one`() throws {
        try folder.open().close()
        let reader = try reader()
        defer { try? reader.close() }
        #expect(try !SQLiteAuthorityStore.isServed(folder.file))
        let server = try folder.open()
        #expect(try SQLiteAuthorityStore.isServed(folder.file))
        try admit("ned", in: server)
        #expect(try names(in: reader) == ["ned"])
        try server.close()
        #expect(try !SQLiteAuthorityStore.isServed(folder.file))
    }

    @Test func `looking for a server makes no file`() throws {
        mkdir(folder.path, 0o700)
        #expect(try !SQLiteAuthorityStore.isServed(folder.file))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func `a reader never creates or migrates a database`() throws {
        for makesFolder in [false, true] {
            if makesFolder { mkdir(folder.path, 0o700) }
            let error = #expect(throws: AuthorityStoreError.self) { try reader() }
            #expect(error?.code == .noDatabase)
            #expect(makesFolder == FileManager.default.fileExists(atPath: folder.path))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        try folder.open().close()
        try folder.execute("DELETE FROM sync_migration; PRAGMA user_version = 0")
        let error = #expect(throws: AuthorityStoreError.self) { try reader() }
        #expect(error?.code == .otherSchema, "\(error?.message ?? "")")
    }

    @Test func `a reader says that a database was lost, as a server does`() throws {
        mkdir(folder.path, 0o700)
        #expect(FileManager.default.createFile(atPath: folder.file + "-mark", contents: nil))
        let missing = #expect(throws: AuthorityStoreError.self) { try reader() }
        #expect(missing?.code == .corrupt && missing?.message.contains("is missing") == true)
        #expect(
            FileManager.default.createFile(
                atPath: folder.file, contents: nil, attributes: [.posixPermissions: 0o600]))
        let empty = #expect(throws: AuthorityStoreError.self) { try reader() }
        #expect(empty?.code == .corrupt && empty?.message.contains("is empty") == true)
        // A young database has everything in its WAL. Without the WAL, the file has only a header.
        try folder.execute("CREATE TABLE other (x); DROP TABLE other")
        let lost = #expect(throws: AuthorityStoreError.self) { try reader() }
        #expect(lost?.code == .corrupt && lost?.message.contains("has no tables") == true, "\(lost as Any)")
        let served = #expect(throws: AuthorityStoreError.self) { try folder.open() }
        #expect(served == lost)
        unlink(folder.file + "-mark")
        try folder.open().close()
    }

    // MARK: Copies

    @Test func `a copy has every commit so far, also those in the WAL, and can be served`() throws {
        let server = try folder.open()
        let authority = Authority(store: server, catalog: SQLiteAuthorityStoreTests.catalog)
        for number in 0..<20 {
            _ = try authority.push(
                try SQLiteAuthorityStoreTests.request(number), by: Principal(name: "anna"),
                now: SQLiteAuthorityStoreTests.now)
        }
        let before = try authority.overview()
        let path = try copy(to: "copy.db")
        _ = try authority.push(
            try SQLiteAuthorityStoreTests.request(20), by: Principal(name: "anna"),
            now: SQLiteAuthorityStoreTests.now)
        #expect(try authority.overview() != before)
        try server.close()

        let reader = try SQLiteAuthorityStore(reading: path)
        try reader.check()
        #expect(try reader.read { view in try AuthorityOverview(of: view) } == before)
        try reader.close()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("copy.db") } == [
                "copy.db"
            ])
        #expect(try folder.permissions("copy.db") == 0o600)

        let restored = try SQLiteAuthorityStore(
            at: path, newHistory: .fixed(Epoch(rawValue: "unused")), creating: false)
        defer { try? restored.close() }
        let again = Authority(store: restored, catalog: SQLiteAuthorityStoreTests.catalog)
        _ = try again.push(
            try SQLiteAuthorityStoreTests.request(20), by: Principal(name: "anna"),
            now: SQLiteAuthorityStoreTests.now)
        #expect(try again.overview() != before)
        #expect(try restored.writer.use { try $0.text(of: "PRAGMA journal_mode") } == "wal")
    }

    @Test func `a copy holds no lock that a server needs`() throws {
        let server = try SQLiteAuthorityStore(
            at: folder.file, newHistory: .fixed(Epoch(rawValue: "e")),
            configuration: .init(durability: .normal, busyTimeout: .milliseconds(20)))
        defer { try? server.close() }
        // The write lock of a server does not hinder a copy, either.
        try server.write { transaction in
            try transaction.set(.writer, of: Principal(name: "ned"), in: "team")
            let copy = try SQLiteAuthorityStore(reading: try copy(to: "first.db"))
            #expect(try names(in: copy) == [])
            try copy.close()
        }
        // A snapshot like that of a copy lets a server commit and checkpoint.
        let opening = AuthorityOpening(name: folder.file, configuration: SQLiteAuthorityConfiguration())
        let guest = try opening.guest(of: folder.file)
        try guest.readSnapshot { guest in
            #expect(try guest.integer(of: "SELECT count(*) FROM member") == 1)
            try admit("arya", in: server)
            _ = try server.writer.inTurn { try server.checkpoint() }
            #expect(try guest.integer(of: "SELECT count(*) FROM member") == 1)
        }
        #expect(try guest.integer(of: "PRAGMA wal_autocheckpoint") == 0)
    }

    @Test func `a copy into a file with contents fails, and leaves them`() throws {
        try folder.open().close()
        let target = folder.path + "/other"
        try Data("other contents".utf8).write(to: URL(filePath: target))
        #expect(throws: AuthorityStoreError.self) { try SQLiteAuthorityStore.copy(folder.file, into: target) }
        #expect(try Data(contentsOf: URL(filePath: target)) == Data("other contents".utf8))
    }

    @Test(arguments: ["serve", "visit", "read", "copy"])
    func `a backup beside the WAL of another database is refused and left unchanged`(opening: String) throws {
        let server = try folder.open()
        try admit("ned", in: server)
        let backup = try Data(contentsOf: URL(filePath: try copy(to: "backup.db")))
        // A killed server leaves its WAL.
        for number in 0..<200 { try admit("a\(number)", in: server) }
        let wal = try Data(contentsOf: URL(filePath: folder.file + "-wal"))
        try server.close()
        #expect(!wal.isEmpty)
        func restore() throws {
            try FileManager.default.removeItem(atPath: folder.file)
            #expect(
                FileManager.default.createFile(
                    atPath: folder.file, contents: backup, attributes: [.posixPermissions: 0o600]))
        }
        try restore()
        try wal.write(to: URL(filePath: folder.file + "-wal"))
        let error = #expect(throws: AuthorityStoreError.self) {
            switch opening {
            case "serve": _ = try folder.open()
            case "visit": _ = try SQLiteAuthorityStore(visiting: folder.file, newHistory: .fixed(Epoch(rawValue: "e")))
            case "read": _ = try reader()
            default: _ = try copy(to: "again.db")
            }
        }
        #expect(error?.code == .corrupt)
        #expect(
            error?.message
                == "\(folder.file) is a backup, and \(folder.file)-wal beside it belongs to another database"
        )
        #expect(try Data(contentsOf: URL(filePath: folder.file)) == backup)
        try FileManager.default.moveItem(atPath: folder.file + "-wal", toPath: folder.file + "-journal")
        let other = #expect(throws: AuthorityStoreError.self) { _ = try folder.open() }
        #expect(other?.message.contains("\(folder.file)-journal beside it belongs to another database") == true)
        try FileManager.default.removeItem(atPath: folder.file + "-journal")
        let restored = try folder.open()
        #expect(try names(in: restored) == ["ned"])
        try restored.close()
    }
}
