import Foundation
import LoopbackPage
import SyncAuthority
import SyncModel
import Testing

@testable import SyncProgram
@testable import TomboloServer

/// Tests the command that moves a server's database. `StoreTransferTests` tests the copy itself.
@Suite struct DatabaseMoveTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "move-\(UUID())").path(
        percentEncoded: false)

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private func server(in name: String) throws -> ServerComposition {
        try .forNotes(in: "\(folder)/\(name)")
    }

    private func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `the moved database has the same history, and the former one starts no more`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let target = DatabaseMove.Target.folder(folder + "/new")
        let former = try server(in: "former")
        let epoch = try former.authority.epoch()
        _ = try former.authority.admit(Principal(name: "ned"), to: "team_7", as: .writer)
        #expect(
            message { _ = try server(in: "former").move(to: target) { _ in } }.contains(
                "is being served by another process"))
        former.close()
        let report = try server(in: "former").move(to: target) { _ in }
        #expect(
            report.lines.map(\.rendered).joined() == """
                moved        no spaces, no live or deleted records, no commits
                former       \(folder)/former/authority.sqlite, with which no server starts any more: delete it once the new database has a backup
                next         start the server with authority.folder=\(folder)/new, and without authority.postgres and authority.postgres-schema

                """)
        let new = try server(in: "new")
        defer { new.close() }
        #expect(try new.authority.epoch() == epoch)
        #expect(try new.authority.readable(among: ["team_7"], by: Principal(name: "ned")) == ["team_7"])
        #expect(message { _ = try server(in: "former").authority }.contains("was moved to another database"))
        #expect(message { _ = try server(in: "former").move(to: target) { _ in } }.contains("was moved to another"))
    }

    /// Regression test: a server that was started as the report said knew none of the tokens.
    @Test func `the report of a move to a folder says that the tokens must be copied`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let former = try server(in: "former")
        _ = try former.authority.epoch()
        former.close()
        try "".write(toFile: folder + "/former/tokens", atomically: false, encoding: .utf8)
        let report = try server(in: "former").move(to: .folder(folder + "/new/")) { _ in }
        let last = try #require(report.lines.last?.rendered)
        #expect(
            last
                == "next         copy \(folder)/former/tokens to \(folder)/new/tokens, and start the server with authority.folder=\(folder)/new, and without authority.postgres and authority.postgres-schema\n"
        )
    }

    /// Regression test: the advice was to restore the database from a backup.
    @Test func `a page that is open during a move says that the database was moved`() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let made = try server(in: "former")
        _ = try made.authority.epoch()
        made.close()
        let reader = try server(in: "former")
        defer { reader.close() }
        let page = try reader.page(command: "syncd inspect")
        let arguments = try PageArguments(Array("{}".utf8))
        _ = try await page.inspector.answer(.summary, arguments)
        _ = try server(in: "former").move(to: .folder(folder + "/new")) { _ in }
        let refused = await #expect(throws: PageError.self) {
            _ = try await page.inspector.answer(.summary, arguments)
        }
        #expect(refused?.message.contains("/former/authority.sqlite was moved to another database") == true)
        #expect(refused?.advice?.contains("start the server with the database to which it went") == true)
    }

    @Test func `a target that cannot receive the database is refused, and the database stays in use`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["former", "other"] {
            let made = try server(in: name)
            _ = try made.authority.admit(
                Principal(name: "ned"), to: name == "former" ? "team_former" : "team_other", as: .writer)
            made.close()
        }
        let refused: [(DatabaseMove.Target, String)] = [
            (.folder(folder + "/former"), "the database is there already"),
            (.folder(folder + "/former/"), "the database is there already"),
            (.folder(folder + "//other/../former/."), "the database is there already"),
            (.folder(folder + "/other"), "expected an empty database"),
            (.folder("/proc/none"), "/proc"),
            (.postgres(connection: "host=/nonexistent dbname=x", schema: "tombolo"), "/nonexistent"),
            (.postgres(connection: "host=/nonexistent password=x", schema: "tombolo"), "contains a password"),
            (.postgres(connection: "host=/nonexistent", schema: "Tombolo"), "not a valid name of a schema"),
        ]
        for (target, words) in refused {
            let message = message { _ = try server(in: "former").move(to: target) { _ in } }
            #expect(message.contains(words) && message.hasPrefix("move: "), "\(message)")
        }
        #expect(message { _ = try server(in: "missing").move(to: .folder(folder + "/new")) { _ in } } != "")
        let former = try server(in: "former")
        defer { former.close() }
        #expect(try former.authority.readable(among: ["team_former"], by: Principal(name: "ned")) == ["team_former"])
    }
}
