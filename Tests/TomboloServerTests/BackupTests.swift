import Foundation
import Glibc
import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@testable import SyncProgram
@testable import TomboloServer

/// Tests backups of a server's database.
@Suite struct BackupTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "backup-\(UUID())").path(
        percentEncoded: false)
    private var copy: String { folder + "/copy.sqlite" }

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private func server(_ settings: [String] = []) throws -> ServerComposition {
        try .forNotes(in: folder + "/server", settings)
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }

    @Test func `a backup beside a running server is private, complete, and checked`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let running = try server()
        defer { running.close() }
        let epoch = try running.authority.epoch()
        _ = try running.authority.admit(Principal(name: "ned"), to: "team_7", as: .writer)
        let command = try server()
        defer { command.close() }
        let report = try command.backUp(to: copy)
        let lines = report.lines.map(\.rendered).joined()
        #expect(
            lines.hasPrefix(
                """
                history      \(epoch)
                models       1 collection (note), revision
                """), "\(lines)")
        #expect(
            lines.contains(
                """
                space        team_7 has no commits; no records; 1 member; no conflicts
                clients      none has pushed
                backup       \(copy):
                """), "\(lines)")
        #expect(lines.hasSuffix(" kB, no damage found\n"))
        #expect(try names() == ["copy.sqlite", "server"])
        let attributes = try FileManager.default.attributesOfItem(atPath: copy)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        // A later check of the file says the same.
        #expect(try command.checkBackup(copy).lines == report.lines)
        #expect(try names() == ["copy.sqlite", "server"])
    }

    @Test(arguments: [
        (
            "authority.sqlite-journal",
            "is a name that SQLite or the server uses beside the database; expected another name"
        ),
        ("authority.sqlite-wal", "is a name that SQLite or the server uses beside the database; expected another name"),
    ])
    func `a backup does not take a name that belongs to the database`(name: String, problem: String) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let command = try server()
        defer { command.close() }
        _ = try command.authority
        command.close()
        let link = folder + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder + "/server")
        for place in [folder + "/server", link] {
            let error = #expect(throws: ConfigurationError.self) { try command.backUp(to: "\(place)/\(name)") }
            #expect(error?.message == "backup: \(place)/\(name) \(problem)")
        }
        let error = #expect(throws: ConfigurationError.self) { try command.backUp(to: "file:x.sqlite") }
        #expect(error?.message == "backup: 'file:x.sqlite' is not the path of a file")
    }

    @Test func `a backup never replaces a file`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let command = try server()
        defer { command.close() }
        _ = try command.authority
        let elsewhere = folder + "/elsewhere"
        try FileManager.default.createSymbolicLink(atPath: copy, withDestinationPath: elsewhere)
        for name in [copy, command.settings.file] {
            let error = #expect(throws: ConfigurationError.self) { try command.backUp(to: name) }
            #expect(error?.message == "backup: \(name) exists already; expected the name of a new file")
            #expect(error?.advice == "give another name, or delete that file first")
        }
        // SQLite would apply these files to the backup.
        try FileManager.default.removeItem(atPath: copy)
        for name in [copy + "-journal", copy + "-wal"] {
            try Data("old".utf8).write(to: URL(filePath: name))
            let error = #expect(throws: ConfigurationError.self) { try command.backUp(to: copy) }
            #expect(error?.message == "backup: \(name) exists already; expected the name of a new file")
            try FileManager.default.removeItem(atPath: name)
        }
        // A file that appears while the copy is made stays, too.
        #expect(throws: ConfigurationError.self) {
            try BackupFile(path: copy).create { _ in try Data("mine".utf8).write(to: URL(filePath: copy)) }
        }
        #expect(try Data(contentsOf: URL(filePath: copy)) == Data("mine".utf8))
        #expect(try names() == ["copy.sqlite", "server"])
    }

    @Test func `a backup that fails leaves no file`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        struct Planted: Error {}
        #expect(throws: Planted.self) {
            try BackupFile(path: copy).create { temporary in
                try Data("half".utf8).write(to: URL(filePath: temporary))
                try Data("half".utf8).write(to: URL(filePath: temporary + "-journal"))
                throw Planted()
            }
        }
        #expect(try names() == [])
        let command = try server()
        defer { command.close() }
        let missing = #expect(throws: ConfigurationError.self) { try command.backUp(to: copy) }
        #expect(
            missing?.message == "authority.folder: there is no database at \(folder)/server/authority.sqlite")
        #expect(try names() == [])
    }

    @Test func `a backup is not written into a folder that others may write, or that does not exist`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let command = try server()
        defer { command.close() }
        _ = try command.authority
        let nowhere = #expect(throws: ConfigurationError.self) { try command.backUp(to: folder + "/no/copy") }
        #expect(
            nowhere?.message == "backup: cannot look at the folder \(folder)/no/: No such file or directory")
        #expect(chmod(folder, 0o770) == 0)
        let open = #expect(throws: ConfigurationError.self) { try command.backUp(to: copy) }
        #expect(
            open?.message
                == "backup: others may write in \(folder)/ (permissions 770); expected 700, so run chmod 700 on it")
        #expect(try names() == ["server"])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func `a backup is not written into a folder of another user`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(chown(folder, 4_321, 4_321) == 0)
        let error = #expect(throws: ConfigurationError.self) { try BackupFile(path: copy).create { _ in } }
        #expect(
            error?.message
                == "backup: \(folder)/ belongs to user 4321, and this program runs as user 0: expected a folder of that user"
        )
        #expect(try names() == [])
    }

    @Test func `a server in PostgreSQL names the tool that makes its backups`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let command = try server(["authority.postgres=host=/nonexistent", "authority.postgres-schema=team"])
        defer { command.close() }
        let error = #expect(throws: ConfigurationError.self) { try command.backUp(to: copy) }
        #expect(
            error?.message
                == "backup: this server keeps its database in PostgreSQL, and only a SQLite database is copied")
        #expect(error?.advice == "use pg_dump, with --schema=team")
        #expect(try names() == [])
    }

    @Test func `the check of a backup finds damage, and what is no backup`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let command = try server()
        defer { command.close() }
        _ = try command.authority
        _ = try command.backUp(to: copy)
        var bytes = try Data(contentsOf: URL(filePath: copy))
        // The fifth page belongs to a table or an index.
        for offset in 0..<4_096 { bytes[4 * 4_096 + offset] = 0xFF }
        let damaged = folder + "/damaged"
        try bytes.write(to: URL(filePath: damaged))
        let damage = #expect(throws: ConfigurationError.self) { try command.checkBackup(damaged) }
        #expect(damage?.message.hasPrefix("backup: ") == true, "\(damage?.message ?? "")")
        #expect(damage?.mayPass == false)
        let other = folder + "/other"
        try Data(repeating: 0x20, count: 4_096).write(to: URL(filePath: other))
        let none = #expect(throws: ConfigurationError.self) { try command.checkBackup(other) }
        #expect(none?.message.contains("file is not a database") == true, "\(none?.message ?? "")")
        let missing = #expect(throws: ConfigurationError.self) { try command.checkBackup(folder + "/none") }
        #expect(missing?.message == "backup: there is no database at \(folder)/none")
    }
}
