import Glibc
import SQLiteDatabase
import Testing

@Suite struct DatabaseFilesTests {
    @Test func `missing folders are created for the owner alone, unless nothing was to be created`() throws {
        let folder = try TemporaryFolder()
        let files = DatabaseFiles(path: folder.path + "/a/b/cache.sqlite")
        #expect(code { try files.prepare(creatingIfMissing: false) } == .noDatabase)
        try files.prepare(creatingIfMissing: true)
        try files.createIfMissing()
        #expect(mode(folder.path + "/a") == 0o700 && mode(folder.path + "/a/b") == 0o700 && mode(files.path) == 0o600)
        #expect(try files.isEmpty())
        for name in [files.path, folder.path + "/a/b", folder.path + "/a"] { #expect(remove(name) == 0) }
    }

    @Test func `a file that others could read is closed to them`() throws {
        let folder = try TemporaryFolder()
        let files = DatabaseFiles(path: folder.file)
        try files.createIfMissing()
        #expect(chmod(folder.file, 0o644) == 0)
        try files.prepare(creatingIfMissing: false)
        #expect(mode(folder.file) == 0o600)
    }

    @Test func `a folder that others may write, a link, and a second name are refused`() throws {
        let folder = try TemporaryFolder()
        let files = DatabaseFiles(path: folder.file)
        #expect(chmod(folder.path, 0o777) == 0)
        #expect(code { try files.prepare(creatingIfMissing: true) } == .unsafePermissions)
        #expect(chmod(folder.path, 0o700) == 0)
        #expect(symlink("/etc/hosts", folder.file) == 0)
        #expect(code { try files.prepare(creatingIfMissing: true) } == .unsafePermissions)
        #expect(unlink(folder.file) == 0)
        try files.createIfMissing()
        #expect(link(folder.file, folder.file + "-other") == 0)
        #expect(files.hasOtherNames)
        #expect(code { try files.prepare(creatingIfMissing: true) } == .unsafePermissions)
        try files.prepare(creatingIfMissing: true, allowingOtherNames: true)
    }

    @Test func `a short file is no database, and an empty one beside a WAL is damaged`() throws {
        let folder = try TemporaryFolder()
        let files = DatabaseFiles(path: folder.file)
        try files.createIfMissing()
        #expect(truncate(folder.file, 99) == 0)
        #expect(code { _ = try files.isEmpty() } == .notADatabase)
        #expect(truncate(folder.file, 0) == 0)
        try DatabaseFiles.createPrivateFile(files.wal)
        #expect(try files.isEmpty())
        #expect(truncate(files.wal, 32) == 0)
        #expect(code { _ = try files.isEmpty() } == .corrupt)
    }

    @Test func `a lock is held once, tells who holds it, and is free when its object is gone`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file + ".lock"
        do {
            let lock = try #require(try FileLock.tryLocking(path))
            try lock.write("4711\n")
            #expect(try FileLock.tryLocking(path) == nil)
            #expect(try FileLock.locking(path, within: .milliseconds(10)) == nil)
            #expect(FileLock.text(in: path) == "4711\n")
            withExtendedLifetime(lock) {}
        }
        #expect(try FileLock.tryLocking(path) != nil)
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt32(status.st_mode & 0o7777) : 0
    }
}
