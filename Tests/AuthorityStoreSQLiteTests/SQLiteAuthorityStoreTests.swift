import Foundation
import GRDB
import Glibc
import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@testable import AuthorityStoreSQLite

@Suite struct SQLiteAuthorityStoreTests {
    @Test(arguments: AuthorityStoreConformance.ruleNames)
    func `in memory it keeps the rule of the port`(rule: String) throws {
        try AuthorityStoreConformance { history in
            try SQLiteAuthorityStore(singleConnectionTo: ":memory:", newHistory: history)
        }.run(rule)
    }

    @Test(arguments: AuthorityStoreConformance.ruleNames)
    func `in a file it keeps the rule of the port`(rule: String) throws {
        let folder = try Folder()
        try AuthorityStoreConformance { history in
            try SQLiteAuthorityStore(
                at: folder.file, newHistory: history, configuration: .init(durability: .normal))
        }.run(rule)
    }

    @Test func `what was written is there when the database is opened again, and the epoch stays`() throws {
        let folder = try Folder()
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "first")))
        try store.write { (transaction) throws(AuthorityStoreFailure) in
            _ = try transaction.takeVersion(in: .default)
            _ = try transaction.takeUID(in: "user")
        }
        try store.close()
        let again = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "second")))
        try again.write { (transaction) throws(AuthorityStoreFailure) in
            #expect(try transaction.state().epoch == Epoch(rawValue: "first"))
            #expect(try transaction.extent(of: .default).head == Version(1))
            #expect(try transaction.takeUID(in: "user") == UID(1))
        }
        try again.close()
    }

    @Test func `the file of a closed database holds everything, and no log is left`() throws {
        let folder = try Folder()
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "first")))
        try store.write { (transaction) throws(AuthorityStoreFailure) in _ = try transaction.takeVersion(in: .default) }
        _ = try store.read { (view) throws(AuthorityStoreFailure) in try view.extent(of: .default) }
        try store.close()
        let log = try? FileManager.default.attributesOfItem(atPath: folder.file + "-wal")[.size] as? Int
        #expect((log ?? 0) == 0)
        let copy = folder.file + "-copy"
        try FileManager.default.copyItem(atPath: folder.file, toPath: copy)
        let restored = try SQLiteAuthorityStore(
            at: copy, newHistory: .fixed(Epoch(rawValue: "second")), creating: false)
        defer { try? restored.close() }
        let (epoch, head) = try restored.read { (view) throws(AuthorityStoreFailure) in
            (try view.state().epoch, try view.extent(of: .default).head)
        }
        #expect(epoch == Epoch(rawValue: "first") && head == Version(1))
    }

    @Test func `it opens beside a backup that reads for long`() throws {
        let folder = try Folder()
        let epoch = Epoch(rawValue: "e")
        let patience = SQLiteAuthorityConfiguration(busyTimeout: .milliseconds(50))
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(epoch), configuration: patience)
        let take = { (transaction: any AuthorityTransaction) throws(AuthorityStoreFailure) in
            try transaction.takeVersion(in: .default)
        }
        _ = try store.write(take)
        let backup = try DatabaseQueue(path: folder.file)
        try backup.inDatabase { database in
            // A snapshot with a part of the log, which goes on behind it.
            try database.beginTransaction(.deferred)
            defer { try? database.rollback() }
            _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM server")
            _ = try store.write(take)
            try store.close()
            let again = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(epoch), configuration: patience)
            #expect(try again.write(take) == Version(3))
            try again.close()
        }
        try backup.close()
    }

    @Test(arguments: [":memory:", nil]) func `a read that fails leaves the store as it was`(location: String?) throws {
        let folder = try Folder()
        let store =
            try location.map {
                try SQLiteAuthorityStore(singleConnectionTo: $0, newHistory: .fixed(Epoch(rawValue: "e")))
            }
            ?? folder.open()
        let failure = #expect(throws: AuthorityStoreFailure.self) {
            try store.read { (view) throws(AuthorityStoreFailure) -> Void in
                _ = try view.state()
                throw AuthorityStoreFailure(.corrupt, "planted")
            }
        }
        #expect(failure?.message == "planted")
        #expect(try store.read { (view) throws(AuthorityStoreFailure) in try view.state() }.epoch.rawValue == "e")
        try store.write { (transaction) throws(AuthorityStoreFailure) in
            _ = try transaction.takeVersion(in: .default)
        }
    }

    @Test func `every commit is flushed to the disk by default, and that is read back`() throws {
        let folder = try Folder()
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "e")))
        #expect(try store.synchronous == 2)
        let fast = try Folder()
        let lesser = try SQLiteAuthorityStore(
            at: fast.file, newHistory: .fixed(Epoch(rawValue: "e")), configuration: .init(durability: .normal))
        #expect(try lesser.synchronous == 1)
    }

    @Test func `a log that one transaction made long is cut when it is used again`() throws {
        let folder = try Folder()
        let store = try folder.open()
        func logSize() throws -> Int {
            var status = stat()
            guard stat(folder.file + "-wal", &status) == 0 else { throw POSIXError(.ENOENT) }
            return Int(status.st_size)
        }
        let large = 20 * 1_024 * 1_024
        try store.database.writeWithoutTransaction { database in
            try database.execute(sql: "CREATE TABLE filler (bytes BLOB)")
            try database.execute(sql: "INSERT INTO filler VALUES (zeroblob(?))", arguments: [large])
        }
        #expect(try logSize() > large)
        try store.write { (transaction) throws(AuthorityStoreFailure) in
            _ = try transaction.takeVersion(in: .default)
        }
        #expect(try logSize() < large / 2)
    }

    @Test func `where SQLite keeps no write-ahead log, and says nothing, the database is refused`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        // With locks that are files SQLite has no shared memory, and stays with its rollback journal.
        expect(.notDurable, naming: "the journal mode is delete after it was set to wal") {
            try SQLiteAuthorityStore(
                singleConnectionTo: "file:\(folder.file)?vfs=unix-dotfile", newHistory: .fixed(Epoch(rawValue: "e")))
        }
    }

    @Test func `the files are for the server alone, whatever the umask is`() throws {
        let mask = umask(0)
        defer { umask(mask) }
        let folder = try Folder()
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "e")))
        try store.write { (transaction) throws(AuthorityStoreFailure) in
            _ = try transaction.takeVersion(in: .default)
        }
        #expect(try folder.permissions("") == 0o700)
        for suffix in ["authority.db", "authority.db-wal", "authority.db-shm", "authority.db-serving"] {
            #expect(try folder.permissions(suffix) == 0o600, "\(suffix)")
        }
        try store.close()
        chmod(folder.file, 0o644)
        try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "e"))).close()
        #expect(try folder.permissions("authority.db") == 0o600)
    }

    @Test func `a folder that others may write in is refused`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        chmod(folder.path, 0o777)
        expect(.unsafePermissions, naming: folder.path) { try folder.open() }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func `what belongs to another user is refused`() throws {
        let folder = try Folder()
        try folder.open().close()
        #expect(chown(folder.file, 12_345, 12_345) == 0)
        expect(.unsafePermissions, naming: folder.file) { try folder.open() }
        #expect(chown(folder.file, 0, 0) == 0 && chown(folder.path, 12_345, 12_345) == 0)
        expect(.unsafePermissions, naming: folder.path) { try folder.open() }
    }

    @Test func `nothing is committed into a file that was moved or replaced`() throws {
        let folder = try Folder()
        let store = try folder.open()
        defer { try? store.close() }
        let take = { (transaction: any AuthorityTransaction) throws(AuthorityStoreFailure) in
            try transaction.takeVersion(in: .default)
        }
        #expect(try store.write(take) == Version(1))
        let moved = folder.file + "-moved"
        #expect(rename(folder.file, moved) == 0)
        expect(.missingFile, naming: folder.file) { try store.write(take) }
        try FileManager.default.copyItem(atPath: moved, toPath: folder.file)
        expect(.missingFile, naming: folder.file) { try store.write(take) }
        expect(.missingFile, naming: folder.file) {
            try store.read { (view) throws(AuthorityStoreFailure) in try view.extent(of: .default) }
        }
        #expect(rename(moved, folder.file) == 0)
        #expect(try store.write(take) == Version(2))
    }

    @Test func `a database with two names is refused`() throws {
        let folder = try Folder()
        try folder.open().close()
        #expect(link(folder.file, folder.file + "-other") == 0)
        expect(.unsafePermissions, naming: folder.file) { try folder.open() }
    }

    @Test func `a link in place of the database is refused`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        symlink("/etc/hosts", folder.file)
        expect(.unsafePermissions, naming: folder.file) { try folder.open() }
    }

    @Test func `a missing database is made only when that is asked for`() throws {
        let folder = try Folder()
        expect(.noDatabase, naming: folder.file) {
            try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "e")), creating: false)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        #expect(chmod(folder.path, 0o700) == 0)
        expect(.noDatabase, naming: folder.file) {
            try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "e")), creating: false)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file))
        expect(.missingFile, naming: ":memory:") {
            try SQLiteAuthorityStore(at: ":memory:", newHistory: .fixed(Epoch(rawValue: "e")))
        }
    }

    @Test(arguments: ["this is no database, but it is long enough to be one by its size", "SQLite format 4"])
    func `a file that is no database is refused and left as it is`(text: String) throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        try Data(text.utf8).write(to: URL(filePath: folder.file))
        expect(.notADatabase, naming: folder.file) { try folder.open() }
        #expect(try Data(contentsOf: URL(filePath: folder.file)) == Data(text.utf8))
    }

    @Test func `a database of something else is refused and left as it is`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        let other = try DatabaseQueue(path: folder.file)
        try other.write { try $0.execute(sql: "CREATE TABLE cookies (id)") }
        try other.close()
        let before = try Data(contentsOf: URL(filePath: folder.file))
        expect(.otherSchema, naming: folder.file) { try folder.open() }
        #expect(try Data(contentsOf: URL(filePath: folder.file)) == before)
    }

    @Test func `a database of a newer build is refused`() throws {
        let folder = try Folder()
        try folder.open().close()
        let other = try DatabaseQueue(path: folder.file)
        try other.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        try other.close()
        let failure = expect(.newerSchema, naming: folder.file) { try folder.open() }
        #expect(failure?.message.contains("99") == true)
    }

    @Test func `an empty file is no database to look at, and beside a log it is a damaged one`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        let files = FileManager.default
        #expect(files.createFile(atPath: folder.file, contents: nil, attributes: [.posixPermissions: 0o600]))
        let epoch = Epoch(rawValue: "e")
        expect(.noDatabase, naming: folder.file) {
            try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(epoch), creating: false)
        }
        #expect(files.createFile(atPath: folder.file + "-wal", contents: Data(repeating: 1, count: 4_096)))
        expect(.corrupt, naming: folder.file) { try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(epoch)) }
        #expect(unlink(folder.file + "-wal") == 0)
        try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(epoch)).close()
    }

    @Test func `one process serves a database; a second is told so`() throws {
        let folder = try Folder()
        let store = try folder.open()
        expect(.inUse, naming: folder.file) { try folder.open() }
        try store.close()
        try folder.open().close()
    }

    @Test func `a database is free once it is closed, also while a child process is being started`() throws {
        let folder = try Folder()
        let store = try folder.open()
        // Such a child shares the open files until it runs its program.
        let held = (3..<1_024).first { descriptor in
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return place == folder.file + "-serving"
        }
        let shared = dup(Int32(try #require(held)))
        defer { Glibc.close(shared) }
        try store.close()
        try folder.open().close()
    }

    @Test func `a full disk is a failure of its own, and nothing is half written`() throws {
        let folder = try Folder()
        let store = try folder.open()
        try store.limitPages()
        let authority = Authority(store: store, catalog: Self.catalog)
        var applied = 0
        let failure = #expect(throws: AuthorityFailure.self) {
            for number in 0..<10_000 {
                _ = try authority.push(try Self.request(number), by: Principal(name: "anna"), now: Self.now)
                applied += 1
            }
        }
        #expect(failure?.code == .unavailable)
        #expect(failure?.message.contains("full") == true, "\(failure?.message ?? "")")
        let head = try store.read { (view) throws(AuthorityStoreFailure) in try view.extent(of: .default).head }
        #expect(head == Version(Int64(applied)))
        try store.unlimitPages()
        _ = try authority.push(try Self.request(applied), by: Principal(name: "anna"), now: Self.now)
    }

    @Test func `a closed store fails and says so`() throws {
        let folder = try Folder()
        let store = try folder.open()
        try store.close()
        #expect(throws: AuthorityStoreFailure.self) {
            try store.read { (view) throws(AuthorityStoreFailure) in try view.state() }
        }
    }

    @Test func `a damaged value is named as damage, not taken for something else`() throws {
        let store = try SQLiteAuthorityStore(singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "e")))
        let authority = Authority(store: store, catalog: Self.catalog)
        _ = try authority.push(try Self.request(0), by: Principal(name: "anna"), now: Self.now)
        for damage in ["fields = '{'", "origins = zeroblob(40)", "space = 'No Name'"] {
            try store.execute("UPDATE record SET \(damage)")
            let failure = #expect(throws: AuthorityStoreFailure.self) {
                try store.read { (view) throws(AuthorityStoreFailure) in try view.record("user", UID(0)) }
            }
            #expect(failure?.code == .corrupt, "\(damage): \(failure?.message ?? "")")
            try store.execute("UPDATE record SET fields = '{}', origins = zeroblob(0), space = 'default'")
        }
    }

    @Test(arguments: [0, 1, 2, 3, 5, 8, 13, 21])
    func `a write that fails at some call is rolled back by the database`(n: Int) throws {
        let faulty = FaultyAuthorityStore(
            try SQLiteAuthorityStore(singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "e"))))
        let authority = Authority(store: faulty, catalog: Self.catalog)
        faulty.arm(after: n)
        let request = try Self.request(0)
        let reply = try? authority.push(request, by: Principal(name: "anna"), now: Self.now)
        #expect((reply == nil) == faulty.hasFailed)
        faulty.disarm()
        guard
            case .answered(let results, _, _) = try authority.push(request, by: Principal(name: "anna"), now: Self.now)
        else {
            Issue.record("refused")
            return
        }
        #expect(results.map(\.outcome.word) == ["applied"])
        guard case .applied(Version(1), let uids, _) = results.first?.outcome else {
            Issue.record("\(results)")
            return
        }
        #expect(uids.map(\.uid) == [UID(0)])
    }

    static let now = WallTime(milliseconds: 1_800_000_000_000)
    static let catalog = SchemaCatalog([
        ModelSchema(collection: "user", fields: [.text("username", required: true), .text("bio")])
    ])

    static func request(_ number: Int) throws -> PushRequest {
        let id = RecordID(bits: Identifier128(high: 1, low: UInt64(number)))
        let transaction = Transaction(
            space: .default,
            mutations: [
                Mutation(
                    collection: "user", record: id, time: HybridTime(wall: now),
                    intent: .create([
                        "username": .text("user \(number)"), "bio": .text(String(repeating: "x", count: 2_000)),
                    ]))
            ])
        return PushRequest(
            identity: ClientIdentity(client: ClientID(bits: Identifier128(high: 0, low: 1)), incarnation: 0),
            epoch: nil,
            acknowledged: .first,
            transactions: [
                NumberedTransaction(
                    number: TransactionNumber(Int64(number)), hash: PayloadHash(rawValue: "hash \(number)"),
                    transaction: transaction)
            ])
    }

    @discardableResult
    private func expect(
        _ code: AuthorityStoreFailure.Code, naming name: String, at location: SourceLocation = #_sourceLocation,
        _ open: () throws -> some Any
    ) -> AuthorityStoreFailure? {
        let failure = #expect(throws: AuthorityStoreFailure.self, sourceLocation: location) { try open() }
        #expect(failure?.code == code, "\(failure?.message ?? "")", sourceLocation: location)
        #expect(failure?.message.contains(name) == true, "\(failure?.message ?? "")", sourceLocation: location)
        return failure
    }
}

/// A folder of its own for one test, gone afterwards.
final class Folder {
    let path: String
    var file: String { path + "/authority.db" }
    private let base: String

    init() throws {
        var template = Array("/tmp/tombolo-authority-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw POSIXError(.EIO) }
        base = String(cString: made)
        path = base + "/data"
    }

    deinit { try? FileManager.default.removeItem(atPath: base) }

    func open() throws -> SQLiteAuthorityStore {
        try SQLiteAuthorityStore(
            at: file, newHistory: .fixed(Epoch(rawValue: "e")), configuration: .init(durability: .normal))
    }

    func permissions(_ name: String) throws -> Int {
        var status = stat()
        guard stat(name.isEmpty ? path : path + "/" + name, &status) == 0 else { throw POSIXError(.ENOENT) }
        return Int(status.st_mode & 0o7777)
    }
}

extension SQLiteAuthorityStore {
    var synchronous: Int? {
        get throws {
            try database.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        }
    }

    /// As on a disk with room for few pages more.
    func limitPages() throws {
        try database.writeWithoutTransaction { database in
            let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages + 20)")
        }
    }

    func unlimitPages() throws {
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
    }

    func execute(_ sql: String) throws {
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
    }
}
