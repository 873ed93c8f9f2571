import CSQLite
import Foundation
import Glibc
import SyncCore
import SyncModel
import SyncStoreSQLite
import TestRings
import Testing

/// The store opens databases, and refuses to open files that are damaged, belong to another program, or have unsafe
/// permissions.
@Suite struct OpeningTests {
    private func refusal(_ body: () throws(StoreError) -> SQLiteStore) -> StoreError.Code? {
        do throws(StoreError) {
            _ = try body()
            return nil
        } catch {
            #expect(!error.message.isEmpty)
            return error.code
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    }

    @Test func `a reopened store keeps its records, outbox, and identity`() throws {
        let scratch = try Scratch()
        let first = try scratch.open()
        let identity = try first.session().identity
        _ = try first.commit([Samples.create(1)], in: .default, now: Samples.now)
        first.close()
        let second = try scratch.open()
        #expect(try second.session().identity == identity)
        #expect(try second.record("users", .id(Samples.id(1)))?.values == [.text("ada"), .null])
        #expect(try second.outboxSummary().waiting == 1)
    }

    /// A copy made with the usual umask of 022 can be read by others. The test gives the files the same permissions.
    @Test func `opening a database makes its WAL and shared-memory file private`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        for suffix in ["", "-wal", "-shm"] { #expect(chmod(scratch.file + suffix, 0o644) == 0) }
        let second = try scratch.open()
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            #expect(stat(scratch.file + suffix, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(suffix)")
        }
        second.close()
        store.close()
    }

    @Test func `a closed store refuses to write`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        store.close()
        #expect(throws: StoreError.self) {
            try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        }
    }

    @Test(arguments: [true, false])
    func `an empty file is refused unless a process was creating the database`(creates: Bool) throws {
        let scratch = try Scratch()
        try scratch.open().close()
        for suffix in ["", "-wal", "-shm"] { unlink(scratch.file + suffix) }
        let file = open(scratch.file, O_CREAT | O_WRONLY, 0o600)
        close(file)
        do throws(StoreError) {
            _ = try scratch.open { $0.createsIfMissing = creates }
            Issue.record("an empty file was opened")
        } catch {
            #expect(error.code == .notADatabase)
            #expect(error.message == "\(scratch.file) is empty: it was never initialized, or its contents are lost")
        }
        // A process that is killed while it creates a database leaves this file behind.
        try write([], to: scratch.file + ".creating")
        #expect(
            refusal { () throws(StoreError) in try scratch.open { $0.createsIfMissing = false } } == .missingFile)
        try scratch.open().close()
        #expect(!scratch.names.contains("cache.sqlite.creating"))
    }

    /// Regression test: the next command gave such a database other models and an identity.
    @Test(arguments: [true, false])
    func `a database whose creation was interrupted keeps its models, and only a creation completes it`(
        isEmpty: Bool
    ) throws {
        let scratch = try Scratch()
        let catalog = SchemaCatalog([ModelSchema(collection: "notes", fields: [.text("body")])])
        try scratch.open(catalog).close()
        let raw = try RawDatabase(scratch.file)
        let models = try raw.run("SELECT models FROM sync_catalog")
        try raw.run(
            """
            DELETE FROM sync_meta; DELETE FROM sync_catalog; DELETE FROM sync_field; DROP VIEW notes_shown;
            DROP TABLE notes; PRAGMA wal_checkpoint(TRUNCATE)
            """)
        for creates in [true, false] {
            let refused = refusal { () throws(StoreError) in
                try scratch.open(catalog) { $0.createsIfMissing = creates }
            }
            #expect(refused == .corrupt, "without the mark, its contents are lost")
        }
        if isEmpty {
            for suffix in ["", "-wal", "-shm"] { unlink(scratch.file + suffix) }
            try write([], to: scratch.file)
        }
        try write(Array(models.joined(separator: "\n").utf8), to: scratch.file + ".creating")
        #expect(try SQLiteStore.storedCatalog(of: StoreConfiguration(file: scratch.file)) { _ in nil } == catalog)
        #expect(
            refusal { () throws(StoreError) in try scratch.open(catalog) { $0.createsIfMissing = false } }
                == .missingFile)
        let store = try scratch.open(catalog)
        try store.verify()
        #expect(scratch.names.filter { $0.contains("creating") } == [])
    }

    @Test func `an empty file beside the WAL of a database is damaged, and the WAL is left alone`() throws {
        let scratch = try Scratch()
        try write([], to: scratch.file)
        try write(Array(repeating: 1, count: 4_096), to: scratch.file + "-wal")
        #expect(refusal { () throws(StoreError) in try scratch.open() } == .corrupt)
        #expect(try scratch.walSize() == 4_096)
    }

    @Test func `a closed store refuses to read, even if another file is at its path`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        #expect(try store.count(matching: RecordQuery("users")) == 1)
        store.close()
        for suffix in ["", "-wal", "-shm"] { unlink(scratch.file + suffix) }
        let other = try scratch.open()
        #expect(throws: StoreError.self) { try store.count(matching: RecordQuery("users")) }
        other.close()
    }

    @Test func `the first read fails if another file has taken the place of the database`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        for suffix in ["", "-wal", "-shm"] { unlink(scratch.file + suffix) }
        let other = try scratch.open()
        do throws(StoreError) {
            _ = try store.count(matching: RecordQuery("users"))
            Issue.record("another file was read")
        } catch {
            #expect(error.code == .missingFile)
        }
        other.close()
    }

    /// Regression test: a process overwrote the part of the WAL that another one had written under a new index.
    @Test(arguments: ["-wal", "-shm"])
    func `after a file beside the database was deleted, nothing is written, and the WAL stays`(suffix: String) throws {
        let scratch = try Scratch()
        do {
            let store = try scratch.open()
            _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
            let kept = scratch.file + "-kept"
            #expect(link(scratch.file + "-wal", kept) == 0)
            unlink(scratch.file + suffix)
            for isReplaced in [false, true] {
                if isReplaced { try Data().write(to: URL(filePath: scratch.file + suffix)) }
                do throws(StoreError) {
                    _ = try store.commit([Samples.create(2)], in: .default, now: Samples.now)
                    Issue.record("a write beside another process's index")
                } catch {
                    #expect(error.code == .missingFile && error.message.contains(scratch.file + suffix))
                }
                do throws(StoreError) {
                    try store.checkpointNow()
                    Issue.record("a checkpoint beside another process's index")
                } catch {
                    #expect(error.code == .missingFile)
                }
            }
            store.close()
            unlink(scratch.file + "-shm")
            #expect(rename(kept, scratch.file + "-wal") == 0)
        }
        #expect(try scratch.open().count(matching: RecordQuery("users")) == 1)
    }

    /// Regression test: the only copy of the commits since the last checkpoint was discarded with the deleted WAL.
    @Test(arguments: [["-wal"], ["-wal", "-shm"]], [true, false])
    func `the commits of a deleted WAL are in the database at the latest when it is closed`(
        deleted: [String], isFound: Bool
    ) throws {
        let scratch = try Scratch()
        do {
            let store = try scratch.open()
            _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
            for suffix in deleted { unlink(scratch.file + suffix) }
            if isFound {
                #expect(throws: StoreError.self) {
                    try store.commit([Samples.create(2)], in: .default, now: Samples.now)
                }
            }
            store.close()
        }
        #expect(try scratch.open().count(matching: RecordQuery("users")) == 1)
    }

    @Test(.ring(.test)) func `opening a database a second time keeps the locks of the first connection`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        try scratch.open().close()
        // SQLite deletes the WAL when the last connection closes. If the store had lost its locks, the connection of
        // `sqlite3` would count as the last one.
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
        program.arguments = [scratch.file, "SELECT count(*) FROM users"]
        program.standardOutput = FileHandle.nullDevice
        try program.run()
        program.waitUntilExit()
        #expect(program.terminationStatus == 0)
        #expect(scratch.names.contains("cache.sqlite-wal"))
        _ = try store.commit([Samples.create(2)], in: .default, now: Samples.now)
        #expect(try scratch.open().count(matching: RecordQuery("users")) == 2)
    }

    @Test(arguments: [
        Array("this is a letter to my grandmother, and no database at all. ".utf8) + Array(repeating: 65, count: 200),
        Array("SQLite form".utf8),
    ]) func `a file that is not a database is refused and not modified`(bytes: [UInt8]) throws {
        let scratch = try Scratch()
        try write(bytes, to: scratch.file)
        #expect(refusal { () throws(StoreError) in try scratch.open() } == .notADatabase)
        var status = stat()
        #expect(stat(scratch.file, &status) == 0 && status.st_size == bytes.count)
    }

    @Test func `a database of another program is refused`() throws {
        let scratch = try Scratch()
        do {
            let other = try RawDatabase(scratch.file)
            try other.run("CREATE TABLE recipes (name TEXT)")
        }
        #expect(refusal { () throws(StoreError) in try scratch.open() } == .otherSchema)
        let other = try RawDatabase(scratch.file)
        try other.run("PRAGMA application_id = 77")
        #expect(refusal { () throws(StoreError) in try scratch.open() } == .otherSchema)
        #expect(try other.run("SELECT name FROM sqlite_schema") == ["recipes"])
    }

    @Test func `a database of a newer build is refused, and the error names both versions`() throws {
        let scratch = try Scratch()
        try scratch.open().close()
        let other = try RawDatabase(scratch.file)
        let newer = SQLiteStore.schemaVersion + 1
        try other.run("INSERT INTO sync_migration VALUES (\(newer), 'm\(newer)')")
        try other.run("PRAGMA user_version = \(newer)")
        do throws(StoreError) {
            _ = try scratch.open()
            Issue.record("the database was opened")
        } catch {
            #expect(error.code == .newerSchema)
            #expect(
                error.message.contains("version \(newer)")
                    && error.message.contains("up to \(SQLiteStore.schemaVersion)"))
        }
    }

    @Test(arguments: [Int64.max, Int64(Int32.max) + 1, -1])
    func `an incarnation that no server would accept is reported as damage`(incarnation: Int64) throws {
        let scratch = try Scratch()
        try scratch.open().close()
        try RawDatabase(scratch.file).run("UPDATE sync_meta SET incarnation = \(incarnation)")
        #expect(refusal { () throws(StoreError) in try scratch.open() } == .corrupt)
        // A salvage must not keep this identity.
        var random = SystemRandomNumberGenerator()
        let report = try SQLiteStore.salvage(
            StoreConfiguration(file: scratch.file), catalog: Samples.catalog, now: Samples.now, random: &random)
        guard case .unreadable = report.identity else {
            Issue.record("the identity is \(report.identity)")
            return
        }
        try scratch.open().close()
    }

    @Test(arguments: [
        "PRAGMA user_version = \(SQLiteStore.schemaVersion + 1)", "PRAGMA application_id = 77",
        "PRAGMA application_id = 0",
    ])
    func `a damaged header is not mistaken for a newer build or another program`(damage: String) throws {
        let scratch = try Scratch()
        try scratch.open().close()
        try RawDatabase(scratch.file).run(damage)
        #expect(refusal { () throws(StoreError) in try scratch.open() } == .corrupt)
    }

    @Test func `verification finds outbox entries that are unreadable or missing`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        _ = try store.commit([Samples.create(2)], in: .default, now: Samples.now)
        try store.verify()
        let other = try RawDatabase(scratch.file)
        try other.run("UPDATE sync_outbox SET payload = '{}' WHERE sequence = 1")
        #expect(throws: StoreError.self) { try store.verify() }
        try other.run("DELETE FROM sync_outbox WHERE sequence = 1")
        do throws(StoreError) {
            try store.verify()
            Issue.record("the lost entry was not seen")
        } catch {
            #expect(error.code == .corrupt)
            #expect(error.message.hasSuffix("the outbox holds 1 entries; expected 2"))
        }
    }

    @Test func `a missing file is not created unless the configuration allows it`() throws {
        let scratch = try Scratch()
        #expect(refusal { () throws(StoreError) in try scratch.open { $0.createsIfMissing = false } } == .missingFile)
        #expect(
            refusal { () throws(StoreError) in
                try scratch.open {
                    $0.file = scratch.folder + "/none/cache.sqlite"
                    $0.createsIfMissing = false
                }
            } == .missingFile)
        #expect(scratch.names == [])
    }

    @Test func `verification finds a damaged file`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        for number in 0..<200 {
            _ = try store.commit([Samples.create(UInt64(number))], in: .default, now: Samples.now)
        }
        try store.verify()
        store.close()
        let descriptor = open(scratch.file, O_RDWR)
        var status = stat()
        fstat(descriptor, &status)
        let noise = [UInt8](repeating: 0xA5, count: 4_096)
        for page in stride(from: 4_096 * 4, to: Int(status.st_size), by: 4_096) {
            pwrite(descriptor, noise, noise.count, page)
        }
        close(descriptor)
        do throws(StoreError) {
            try scratch.open().verify()
            Issue.record("the damage was not seen")
        } catch {
            #expect(error.code == .corrupt)
        }
    }

    @Test func `a file that is deleted while open is not written to`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        unlink(scratch.file)
        do throws(StoreError) {
            _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
            Issue.record("the write was accepted")
        } catch {
            #expect(error.code == .missingFile)
        }
        #expect(!scratch.names.contains("cache.sqlite"))
    }

    // MARK: Permissions

    @Test func `files are private under any umask`() async {
        await #expect(processExitsWith: .success) {
            umask(0)
            let scratch = try Scratch()
            chmod(scratch.folder, 0o700)
            let folder = scratch.folder + "/deep"
            let store = try scratch.open { $0.file = folder + "/er/cache.sqlite" }
            _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
            #expect(scratch.permissions("deep") == "700")
            #expect(scratch.permissions("deep/er") == "700")
            for suffix in ["", "-wal", "-shm", ".lock"] {
                #expect(scratch.permissions("deep/er/cache.sqlite" + suffix) == "600", "\(suffix)")
            }
            store.close()
            for suffix in ["", "-wal", "-shm", ".lock"] { unlink(folder + "/er/cache.sqlite" + suffix) }
            rmdir(folder + "/er")
            rmdir(folder)
        }
    }

    @Test func `file permissions that are too wide are narrowed, and a folder that others can write is refused`() throws
    {
        let scratch = try Scratch()
        try scratch.open().close()
        chmod(scratch.file, 0o644)
        try scratch.open().close()
        #expect(scratch.permissions("cache.sqlite") == "600")
        for mode: mode_t in [0o770, 0o702] {
            chmod(scratch.folder, mode)
            #expect(refusal { () throws(StoreError) in try scratch.open() } == .unsafePermissions)
        }
        chmod(scratch.folder, 0o700)
    }

    @Test func `a symbolic link is not followed`() throws {
        let scratch = try Scratch()
        try scratch.open().close()
        let link = scratch.folder + "/link.sqlite"
        symlink(scratch.file, link)
        #expect(refusal { () throws(StoreError) in try scratch.open { $0.file = link } } == .unsafePermissions)
    }

    @Test func `a database with a second hard link is refused`() throws {
        let scratch = try Scratch()
        try scratch.open().close()
        #expect(link(scratch.file, scratch.folder + "/other.sqlite") == 0)
        #expect(refusal { () throws(StoreError) in try scratch.open() } == .unsafePermissions)
        unlink(scratch.folder + "/other.sqlite")
        try scratch.open().close()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func `a file or folder that belongs to another user is refused`() throws {
        let scratch = try Scratch()
        try scratch.open().close()
        for path in [scratch.file, scratch.folder] {
            #expect(chown(path, 12_345, 12_345) == 0)
            #expect(refusal { () throws(StoreError) in try scratch.open() } == .unsafePermissions)
            #expect(chown(path, 0, 0) == 0)
        }
        try scratch.open().close()
    }

    @Test func `opening and reading a database does not wait for a writer`() throws {
        let scratch = try Scratch()
        _ = try scratch.open().commit([Samples.create(1)], in: .default, now: Samples.now)
        let other = try RawDatabase(scratch.file)
        try other.run("BEGIN IMMEDIATE")
        let store = try scratch.open { $0.limits.busyTimeout = .milliseconds(10) }
        #expect(try store.count(matching: RecordQuery("users")) == 1)
        let busy = refusal { () throws(StoreError) in
            try store.resetCursor(of: .default)
            return store
        }
        #expect(busy == .busy)
    }

    @Test func `an open that flushes recovered data waits for a writer`() throws {
        let scratch = try Scratch()
        _ = try scratch.open().commit([Samples.create(1)], in: .default, now: Samples.now)
        let other = try RawDatabase(scratch.file)
        try other.run("BEGIN IMMEDIATE")
        let busy = refusal { () throws(StoreError) in
            try scratch.open {
                $0.durability = .full
                $0.limits.busyTimeout = .milliseconds(10)
            }
        }
        #expect(busy == .busy)
    }

    // MARK: Settings

    @Test(arguments: [(Durability.normal, "1"), (.full, "2")])
    func `each connection uses the configured durability`(durability: Durability, level: String)
        throws
    {
        let scratch = try Scratch()
        for connections in [StoreConfiguration.Connections.pool(readers: 2), .single] {
            let store = try scratch.open {
                $0.durability = durability
                $0.connections = connections
            }
            _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
            #expect(try store.setting("synchronous") == level)
            #expect(try store.setting("journal_mode") == "wal")
            #expect(try store.setting("wal_autocheckpoint") == "0")
            #expect(try store.setting("trusted_schema") == "0")
            #expect(try store.setting("cell_size_check") == "1")
            store.close()
            for suffix in ["", "-wal", "-shm"] { unlink(scratch.file + suffix) }
        }
    }

    @Test func `the WAL grows until a checkpoint is due, and is used again after it`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.checkpointPages = 100 }
        var largest = 0
        for number in 0..<600 {
            _ = try store.commit([Samples.create(UInt64(number))], in: .default, now: Samples.now)
            try store.checkpoint()
            largest = max(largest, try scratch.walSize())
        }
        #expect(largest > 100 * 4_096)
        #expect(largest < 130 * 4_096)
        #expect(try store.count(matching: RecordQuery("users")) == 600)
        try store.verify()
    }

    @Test(arguments: [StoreConfiguration.Connections.pool(readers: 2), .single, .exclusive])
    func `a WAL that one transaction made long is cut after it`(
        connections: StoreConfiguration.Connections
    ) throws {
        let scratch = try Scratch()
        let store = try scratch.open {
            $0.connections = connections
            $0.limits.checkpointPages = 10
        }
        _ = try store.commit((0..<1_000).map { Samples.create($0) }, in: .default, now: Samples.now)
        #expect(try scratch.walSize() < 25 * 4_096)
        #expect(try store.count(matching: RecordQuery("users")) == 1_000)
        try store.verify()
    }

    @Test(arguments: [StoreConfiguration.Connections.pool(readers: 2), .single, .exclusive])
    func `writes without an engine keep the WAL short`(
        connections: StoreConfiguration.Connections
    ) throws {
        let scratch = try Scratch()
        let store = try scratch.open {
            $0.connections = connections
            $0.limits.checkpointPages = 100
        }
        var largest = 0
        for number in UInt64(0)..<600 {
            _ = try store.commit([Samples.create(number)], in: .default, now: Samples.now)
            largest = max(largest, try scratch.walSize())
        }
        #expect(largest > 100 * 4_096)
        #expect(largest < 230 * 4_096)
        #expect(try store.count(matching: RecordQuery("users")) == 600)
        try store.verify()
    }

    @Test func `a WAL that only others have made long is cut, too`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.checkpointPages = 10 }
        // This clears the WAL of the writes that opening the store made.
        try store.checkpoint()
        let other = try scratch.open()
        for number in UInt64(0)..<200 { _ = try other.commit([Samples.create(number)], in: .default, now: Samples.now) }
        #expect(try scratch.walSize() > 30 * 4_096)
        try store.checkpoint()
        #expect(try scratch.walSize() < 25 * 4_096)
        #expect(try store.count(matching: RecordQuery("users")) == 200)
    }

    @Test func `a checkpoint truncates the WAL after its last reader has ended`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.checkpointPages = 10 }
        _ = try store.commit([Samples.create(1_000)], in: .default, now: Samples.now)
        let reader = try RawDatabase(scratch.file)
        try reader.run("BEGIN; SELECT count(*) FROM sqlite_schema")
        _ = try store.commit((0..<1_000).map { Samples.create($0) }, in: .default, now: Samples.now)
        try store.checkpoint()
        #expect(try scratch.walSize() > 30 * 4_096)
        try reader.run("COMMIT")
        try store.checkpoint()
        #expect(try scratch.walSize() < 25 * 4_096)
        #expect(try store.count(matching: RecordQuery("users")) == 1_001)
        try store.verify()
    }
}
