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

    @Test(arguments: ["-wal", "-shm", "-journal"], [false, true])
    func `a pipe or a link beside the database is refused by name`(suffix: String, databaseExists: Bool) throws {
        let folder = try TemporaryFolder()
        let files = DatabaseFiles(path: folder.file)
        if databaseExists { try files.createIfMissing() }
        let name = folder.file + suffix
        for make in [{ mkfifo(name, 0o600) }, { symlink("/etc/hosts", name) }] {
            #expect(make() == 0)
            #expect(code { try files.prepare(creatingIfMissing: true) } == .unsafePermissions)
            #expect(code { try files.checkCompanions() } == .unsafePermissions)
            #expect(unlink(name) == 0)
        }
        try files.checkCompanions()
    }

    @Test func `a link is not taken for the file that it leads to`() throws {
        let folder = try TemporaryFolder()
        let (file, link) = (DatabaseFiles(path: folder.file), DatabaseFiles(path: folder.file + ".link"))
        try file.createIfMissing()
        #expect(symlink(file.path, link.path) == 0)
        #expect(link.identity() != file.identity() && link.identity() != nil)
        #expect(unlink(link.path) == 0)
        #expect(symlink("nowhere", link.path) == 0)
        #expect(link.identity() != nil)
        #expect(unlink(link.path) == 0)
        #expect(link.identity() == nil)
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
