import Foundation
import Glibc
import SQLiteDatabase
import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@testable import AuthorityStoreSQLite

@Suite struct SQLiteAuthorityStoreTests {
    @Test(arguments: AuthorityStoreConformance.ruleNames)
    func `a SQLite store in memory keeps the rules of the port`(rule: String) throws {
        try AuthorityStoreConformance { history in
            try SQLiteAuthorityStore(singleConnectionTo: ":memory:", newHistory: history)
        }.run(rule)
    }

    @Test(arguments: AuthorityStoreConformance.ruleNames)
    func `a SQLite store in a file keeps the rules of the port`(rule: String) throws {
        let folder = try Folder()
        try AuthorityStoreConformance { history in
            try SQLiteAuthorityStore(
                at: folder.file, newHistory: history, configuration: .init(durability: .normal))
        }.run(rule)
    }

    @Test func `a reopened database keeps its data and its epoch`() throws {
        let folder = try Folder()
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "first")))
        try store.write { transaction in
            _ = try transaction.takeVersion(in: .default)
            _ = try transaction.takeUIDs(1, in: "user")
        }
        try store.close()
        let again = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "second")))
        try again.write { transaction throws in
            #expect(try transaction.state().epoch == Epoch(rawValue: "first"))
            #expect(try transaction.extent(of: .default).head == Version(1))
            #expect(try transaction.takeUIDs(1, in: "user") == UID(1))
        }
        try again.close()
    }

    @Test func `the file of a closed database holds everything, and no WAL is left`() throws {
        let folder = try Folder()
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "first")))
        try store.write { transaction in _ = try transaction.takeVersion(in: .default) }
        _ = try store.read { view in try view.extent(of: .default) }
        try store.close()
        let wal = try? FileManager.default.attributesOfItem(atPath: folder.file + "-wal")[.size] as? Int
        #expect((wal ?? 0) == 0)
        let copy = folder.file + "-copy"
        try FileManager.default.copyItem(atPath: folder.file, toPath: copy)
        let restored = try SQLiteAuthorityStore(
            at: copy, newHistory: .fixed(Epoch(rawValue: "second")), creating: false)
        defer { try? restored.close() }
        let (epoch, head) = try restored.read { view in
            (try view.state().epoch, try view.extent(of: .default).head)
        }
        #expect(epoch == Epoch(rawValue: "first") && head == Version(1))
    }

    @Test func `a database opens while a backup reads for a long time`() throws {
        let folder = try Folder()
        let epoch = Epoch(rawValue: "e")
        let timeout = SQLiteAuthorityConfiguration(busyTimeout: .milliseconds(50))
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(epoch), configuration: timeout)
        let take = { (transaction: any AuthorityTransaction) throws(AuthorityStoreError) in
            try transaction.takeVersion(in: .default)
        }
        _ = try store.write(take)
        let backup = try Connection(opening: folder.file, busyTimeout: .zero)
        try backup.readSnapshot { backup in
            // The snapshot of the backup contains only a part of the WAL, because later commits are appended.
            _ = try backup.integer(of: "SELECT count(*) FROM server")
            _ = try store.write(take)
            try store.close()
            let again = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(epoch), configuration: timeout)
            #expect(try again.write(take) == Version(3))
            try again.close()
        }
    }

    @Test(arguments: [":memory:", nil]) func `a failed read leaves the store usable and unchanged`(location: String?)
        throws
    {
        let folder = try Folder()
        let store =
            try location.map {
                try SQLiteAuthorityStore(singleConnectionTo: $0, newHistory: .fixed(Epoch(rawValue: "e")))
            }
            ?? folder.open()
        let failure = #expect(throws: AuthorityStoreError.self) {
            try store.read { view -> Void in
                _ = try view.state()
                throw AuthorityStoreError(.corrupt, "planted")
            }
        }
        #expect(failure?.message == "planted")
        #expect(try store.read { view in try view.state() }.epoch.rawValue == "e")
        try store.write { transaction in
            _ = try transaction.takeVersion(in: .default)
        }
    }

    @Test func `every commit is flushed to disk by default`() throws {
        let folder = try Folder()
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "e")))
        #expect(try store.synchronous == 2)
        let fast = try Folder()
        let lesser = try SQLiteAuthorityStore(
            at: fast.file, newHistory: .fixed(Epoch(rawValue: "e")), configuration: .init(durability: .normal))
        #expect(try lesser.synchronous == 1)
    }

    @Test func `a WAL that one transaction made long is cut when it is used again`() throws {
        let folder = try Folder()
        let store = try folder.open()
        func walSize() throws -> Int {
            var status = stat()
            guard stat(folder.file + "-wal", &status) == 0 else { throw POSIXError(.ENOENT) }
            return Int(status.st_size)
        }
        let large = 20 * 1_024 * 1_024
        try store.execute("CREATE TABLE filler (bytes BLOB)")
        try store.execute("INSERT INTO filler VALUES (zeroblob(\(large)))")
        #expect(try walSize() > large)
        // The checkpoint after the first write copies the WAL, and the second write restarts it.
        for _ in 0..<2 {
            try store.write { transaction in
                _ = try transaction.takeVersion(in: .default)
            }
        }
        #expect(try walSize() < large / 2)
    }

    @Test func `a database is refused if SQLite silently does not enable the WAL`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        // With dot-file locks SQLite has no shared memory and keeps its rollback journal.
        expect(.notDurable, naming: "the journal mode is delete after it was set to wal") {
            try SQLiteAuthorityStore(
                singleConnectionTo: "file:\(folder.file)?vfs=unix-dotfile", newHistory: .fixed(Epoch(rawValue: "e")))
        }
    }

    @Test func `the server's files are private under any umask`() throws {
        let mask = umask(0)
        defer { umask(mask) }
        let folder = try Folder()
        let store = try SQLiteAuthorityStore(at: folder.file, newHistory: .fixed(Epoch(rawValue: "e")))
        try store.write { transaction in
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

    @Test func `a folder that others can write is refused`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        chmod(folder.path, 0o777)
        expect(.unsafePermissions, naming: folder.path) { try folder.open() }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func `a file or folder that belongs to another user is refused`() throws {
        let folder = try Folder()
        try folder.open().close()
        #expect(chown(folder.file, 12_345, 12_345) == 0)
        expect(.unsafePermissions, naming: folder.file) { try folder.open() }
        #expect(chown(folder.file, 0, 0) == 0 && chown(folder.path, 12_345, 12_345) == 0)
        expect(.unsafePermissions, naming: folder.path) { try folder.open() }
    }

    @Test func `nothing is committed to a file that was moved or replaced`() throws {
        let folder = try Folder()
        let store = try folder.open()
        defer { try? store.close() }
        let take = { (transaction: any AuthorityTransaction) throws(AuthorityStoreError) in
            try transaction.takeVersion(in: .default)
        }
        #expect(try store.write(take) == Version(1))
        let moved = folder.file + "-moved"
        #expect(rename(folder.file, moved) == 0)
        expect(.missingFile, naming: folder.file) { try store.write(take) }
        try FileManager.default.copyItem(atPath: moved, toPath: folder.file)
        expect(.missingFile, naming: folder.file) { try store.write(take) }
        expect(.missingFile, naming: folder.file) {
            try store.read { view in try view.extent(of: .default) }
        }
        #expect(rename(moved, folder.file) == 0)
        #expect(try store.write(take) == Version(2))
    }

    @Test(arguments: ["-wal", "-shm"])
    func `nothing is committed after a file beside the database was deleted, and the WAL stays`(suffix: String) throws {
        let folder = try Folder()
        let take = { (transaction: any AuthorityTransaction) throws(AuthorityStoreError) in
            try transaction.takeVersion(in: .default)
        }
        let store = try folder.open()
        #expect(try store.write(take) == Version(1))
        let kept = folder.file + "-kept"
        #expect(link(folder.file + "-wal", kept) == 0)
        unlink(folder.file + suffix)
        expect(.missingFile, naming: folder.file + suffix) { try store.write(take) }
        expect(.missingFile, naming: folder.file + suffix) { try store.read { view in try view.extent(of: .default) } }
        try store.close()
        unlink(folder.file + "-shm")
        #expect(rename(kept, folder.file + "-wal") == 0)
        #expect(try folder.open().write(take) == Version(2))
    }

    @Test(arguments: [["-wal"], ["-wal", "-shm"]], [true, false])
    func `the commits of a deleted WAL are in the database after the close`(deleted: [String], isFound: Bool) throws {
        let folder = try Folder()
        let take = { (transaction: any AuthorityTransaction) throws(AuthorityStoreError) in
            try transaction.takeVersion(in: .default)
        }
        let store = try folder.open()
        #expect(try store.write(take) == Version(1))
        for suffix in deleted { unlink(folder.file + suffix) }
        if isFound { expect(.missingFile, naming: folder.file + "-wal") { try store.write(take) } }
        try store.close()
        #expect(try folder.open().write(take) == Version(2))
    }

    @Test func `a database with a second hard link is refused`() throws {
        let folder = try Folder()
        try folder.open().close()
        #expect(link(folder.file, folder.file + "-other") == 0)
        expect(.unsafePermissions, naming: folder.file) { try folder.open() }
    }

    @Test func `a symbolic link in place of the database is refused`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        symlink("/etc/hosts", folder.file)
        expect(.unsafePermissions, naming: folder.file) { try folder.open() }
    }

    @Test func `a missing database is created only if requested`() throws {
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

    @Test(arguments: ["not a database, but as long as one", "SQLite format 4"])
    func `a file that is not a database is refused and left unchanged`(text: String) throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        try Data(text.utf8).write(to: URL(filePath: folder.file))
        expect(.notADatabase, naming: folder.file) { try folder.open() }
        #expect(try Data(contentsOf: URL(filePath: folder.file)) == Data(text.utf8))
    }

    @Test func `a database of another program is refused and left unchanged`() throws {
        let folder = try Folder()
        mkdir(folder.path, 0o700)
        try folder.execute("CREATE TABLE cookies (id)")
        let before = try Data(contentsOf: URL(filePath: folder.file))
        expect(.otherSchema, naming: folder.file) { try folder.open() }
        #expect(try Data(contentsOf: URL(filePath: folder.file)) == before)
    }

    @Test func `a database of a newer build is refused`() throws {
        let folder = try Folder()
        try folder.open().close()
        try folder.execute(
            """
            WITH RECURSIVE step(number) AS (SELECT (SELECT max(number) + 1 FROM sync_migration) UNION ALL SELECT number + 1 FROM step WHERE number < 99)
            INSERT INTO sync_migration (number, name) SELECT number, 'newer ' || number FROM step;
            PRAGMA user_version = 99
            """)
        let failure = expect(.newerSchema, naming: folder.file) { try folder.open() }
        #expect(failure?.message.contains("99") == true)
    }

    @Test func `an empty file is not opened as an existing database, and beside a WAL it is damage`() throws {
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

    @Test func `a second server on the same database is refused`() throws {
        let folder = try Folder()
        let store = try folder.open()
        expect(.inUse, naming: folder.file) { try folder.open() }
        try store.close()
        try folder.open().close()
    }

    @Test func `a closed database can be served again, even while a child process shares its files`() throws {
        let folder = try Folder()
        let store = try folder.open()
        // A child process shares the open files until it executes its program.
        let held = (3..<1_024).first { descriptor in
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return place == folder.file + "-serving"
        }
        let shared = dup(Int32(try #require(held)))
        defer { Glibc.close(shared) }
        try store.close()
        try folder.open().close()
    }

    @Test func `an error to clients says that the database is missing, and only the log has its path`() throws {
        let folder = try Folder()
        let authority = Authority(store: try folder.open(), catalog: Self.catalog)
        try FileManager.default.moveItem(atPath: folder.file, toPath: folder.file + "-moved")
        let failure = #expect(throws: AuthorityError.self) {
            _ = try authority.push(try Self.request(0), by: Principal(name: "anna"), now: Self.now)
        }
        #expect(failure?.code == .unavailable)
        #expect(failure?.message.contains(folder.file) == false, "\(failure?.message ?? "")")
        #expect(failure?.detail?.contains(folder.file) == true)
    }

    @Test func `a full disk is reported, and no push is stored partially`() throws {
        let folder = try Folder()
        let store = try folder.open()
        try store.limitPages()
        let authority = Authority(store: store, catalog: Self.catalog)
        var applied = 0
        let failure = #expect(throws: AuthorityError.self) {
            for number in 0..<10_000 {
                _ = try authority.push(try Self.request(number), by: Principal(name: "anna"), now: Self.now)
                applied += 1
            }
        }
        #expect(failure?.code == .unavailable)
        #expect(failure?.message.contains("full") == true, "\(failure?.message ?? "")")
        let head = try store.read { view in try view.extent(of: .default).head }
        #expect(head == Version(Int64(applied)))
        try store.unlimitPages()
        _ = try authority.push(try Self.request(applied), by: Principal(name: "anna"), now: Self.now)
    }

    @Test func `a closed store refuses reads`() throws {
        let folder = try Folder()
        let store = try folder.open()
        try store.close()
        #expect(throws: AuthorityStoreError.self) {
            try store.read { view in try view.state() }
        }
    }

    @Test func `a damaged value is reported as damage`() throws {
        let store = try SQLiteAuthorityStore(singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "e")))
        let authority = Authority(store: store, catalog: Self.catalog)
        _ = try authority.push(try Self.request(0), by: Principal(name: "anna"), now: Self.now)
        for damage in ["fields = '{'", "origins = zeroblob(40)", "space = 'No Name'"] {
            try store.execute("UPDATE record SET \(damage)")
            let failure = #expect(throws: AuthorityStoreError.self) {
                try store.read { view in try view.record("user", UID(0)) }
            }
            #expect(failure?.code == .corrupt, "\(damage): \(failure?.message ?? "")")
            try store.execute("UPDATE record SET fields = '{}', origins = zeroblob(0), space = 'default'")
        }
    }

    @Test func `a check of the whole store finds damage that a read of its state does not, and its repair`() throws {
        let folder = try Folder()
        let store = try folder.open()
        let authority = Authority(store: store, catalog: Self.catalog)
        for number in 0..<200 {
            _ = try authority.push(try Self.request(number), by: Principal(name: "anna"), now: Self.now)
        }
        try authority.checkStore(now: Self.now)
        try store.close()
        let sound = try Data(contentsOf: URL(filePath: folder.file))
        var damaged = sound
        // Overwrites the second half of the file, which has records but not the state.
        damaged.replaceSubrange(
            sound.count / 2..<sound.count, with: Data(repeating: 0xA5, count: sound.count - sound.count / 2))
        for (bytes, isSound) in [(damaged, false), (sound, true)] {
            try bytes.write(to: URL(filePath: folder.file))
            let store = try folder.open()
            defer { try? store.close() }
            let authority = Authority(store: store, catalog: Self.catalog)
            _ = try authority.hello(for: Principal(name: "anna"), now: Self.now)
            if isSound {
                try authority.checkStore(now: Self.now)
            } else {
                let failure = #expect(throws: AuthorityError.self) { try authority.checkStore(now: Self.now) }
                #expect(failure?.isStoreDamaged == true, "\(failure?.description ?? "")")
            }
        }
    }

    @Test(arguments: ["record SET fields = '{\"username\":5'", "change_feed SET changes = '['"])
    func `a check of the whole store finds values that cannot be read`(damage: String) throws {
        let store = try SQLiteAuthorityStore(
            singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "e")))
        let authority = Authority(store: store, catalog: Self.catalog)
        for number in 0..<3 {
            _ = try authority.push(try Self.request(number), by: Principal(name: "anna"), now: Self.now)
        }
        try authority.checkStore(now: Self.now)
        try store.execute("UPDATE \(damage) WHERE version = 2")
        let failure = #expect(throws: AuthorityError.self) { try authority.checkStore(now: Self.now) }
        #expect(failure?.isStoreDamaged == true, "\(failure?.description ?? "")")
    }

    @Test(arguments: [0, 1, 2, 3, 5, 8, 13, 21])
    func `a write that fails at any call is rolled back`(n: Int) throws {
        let faulty = FaultyAuthorityStore(
            try SQLiteAuthorityStore(singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "e"))))
        let authority = Authority(store: faulty, catalog: Self.catalog)
        faulty.arm(after: n)
        let request = try Self.request(0)
        let response = try? authority.push(request, by: Principal(name: "anna"), now: Self.now)
        #expect((response == nil) == faulty.hasFailed)
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
        _ code: AuthorityStoreError.Code, naming name: String, at location: SourceLocation = #_sourceLocation,
        _ open: () throws -> some Any
    ) -> AuthorityStoreError? {
        let failure = #expect(throws: AuthorityStoreError.self, sourceLocation: location) { try open() }
        #expect(failure?.code == code, "\(failure?.message ?? "")", sourceLocation: location)
        #expect(failure?.message.contains(name) == true, "\(failure?.message ?? "")", sourceLocation: location)
        return failure
    }
}

/// A temporary folder for one test, deleted afterward.
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

    /// Runs SQL on a separate connection, as another program would.
    func execute(_ sql: String) throws {
        try Connection(opening: file, busyTimeout: .zero).execute(sql)
    }

    func permissions(_ name: String) throws -> Int {
        var status = stat()
        guard stat(name.isEmpty ? path : path + "/" + name, &status) == 0 else { throw POSIXError(.ENOENT) }
        return Int(status.st_mode & 0o7777)
    }
}

extension SQLiteAuthorityStore {
    var synchronous: Int64 {
        get throws { try writer.use { try $0.integer(of: "PRAGMA synchronous") } }
    }

    /// Limits the database to a few more pages, like a disk that is almost full.
    func limitPages() throws {
        try writer.use { connection in
            let pages = try connection.integer(of: "PRAGMA page_count")
            try connection.execute("PRAGMA max_page_count = \(pages + 20)")
        }
    }

    func unlimitPages() throws {
        try execute("PRAGMA max_page_count = 100000")
    }

    func execute(_ sql: String) throws {
        try writer.use { try $0.execute(sql) }
    }
}
