import Foundation
import SyncAuthority
import SyncModel
import SyncTestKit
import SyncWire
import Testing

@testable import SyncProgram
@testable import TomboloServer

/// Tests that `compact` gives the space of deleted rows back, and changes nothing else.
@Suite struct CompactTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "compact-\(UUID())").path(
        percentEncoded: false)

    private func server(_ settings: [String] = []) throws -> ServerComposition {
        try .forNotes(in: folder, settings)
    }

    /// Makes a change feed of 100 long texts, and trims it.
    private func fill(_ authority: Authority) throws {
        let now = WallTime(milliseconds: 1_800_000_000_000)
        let mutations = (0..<100).map { number in
            Mutation(
                collection: "note", record: RecordID(bits: Identifier128(high: 2, low: UInt64(number))),
                time: HybridTime(wall: now, counter: 0),
                intent: .create(["text": .text("\(number) " + String(repeating: "long ", count: 1_000))]))
        }
        let transaction = Transaction(space: .default, mutations: mutations)
        let numbered = NumberedTransaction(
            number: .first, hash: try PayloadHash(of: transaction), transaction: transaction)
        let identity = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: 0)
        let response = try authority.push(
            PushRequest(identity: identity, epoch: nil, acknowledged: .first, transactions: [numbered]),
            by: Principal(name: "ned"), now: now)
        guard case .answered(let results, _, _) = response, case .applied = results.first?.outcome else {
            throw Problem.notApplied
        }
        #expect(try authority.trimFeeds(to: FeedBound(commits: 0)))
    }

    private enum Problem: Error { case notApplied }

    private func contents(_ server: ServerComposition) throws -> String {
        let status = try server.status
        return status.line.text.replacing(#/"(database|wal)_bytes":\d+/#, with: "")
    }

    @Test func `a database whose rows were trimmed becomes smaller, and has the same contents`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let first = try server()
        try fill(first.authority)
        first.close()
        let command = try server()
        let before = try contents(command)
        command.close()
        let report = try server().compact()
        #expect(!report.isServed && report.before - report.after > 400_000, "\(report)")
        #expect(report.line.rendered.contains(" was compacted: "))
        let again = try server().compact()
        #expect(again.before == report.after && again.after == report.after)
        let later = try server()
        defer { later.close() }
        #expect(try contents(later) == before)
    }

    @Test func `a database is compacted beside its server, which shortens the file after its next commit`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let running = try server()
        try fill(running.authority)
        let before = try contents(running)
        let report = try server().compact()
        #expect(report.isServed && report.before - report.after > 400_000)
        #expect(report.line.rendered.hasSuffix(" after the next commit of its server\n"))
        #expect(try contents(running) == before)
        _ = try running.authority.admit(Principal(name: "ned"), to: "team", as: .writer)
        running.close()
        #expect(ServerDatabase.size(of: running.settings.file) <= report.after + 8_192)
    }

    @Test func `a database in PostgreSQL, and one that does not exist, are not compacted`() throws {
        let postgres = try server(["authority.postgres=host=/nonexistent"])
        let refusal = #expect(throws: ConfigurationError.self) { try postgres.compact() }
        #expect(refusal?.message.hasPrefix("compact: this server keeps its database in PostgreSQL") == true)
        let none = #expect(throws: ConfigurationError.self) { try server().compact() }
        #expect(none?.message == "authority.folder: there is no database at \(folder)/authority.sqlite")
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
}
