import Foundation
import SyncConcurrency
import SyncProgram
import SyncSimulation
import Testing

@testable import SyncBootstrap
@testable import SyncCore

@Suite struct TokenSourceTests {
    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path + ".new"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path + ".new")
        #expect(rename(path + ".new", path) == 0)
    }

    @Test func `a rotated token is used, and the last valid one is kept while the file is missing or invalid`() throws {
        let path = NSTemporaryDirectory() + "tombolo-token-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Self.write("first\n", to: path)
        let source = try TokenSource(file: path)
        #expect(source.current?.secret == "first")
        try Self.write("other\n", to: path)
        #expect(source.current?.secret == "other")
        try Self.write("not a token\n", to: path)
        #expect(source.current?.secret == "other")
        try FileManager.default.removeItem(atPath: path)
        #expect(source.current?.secret == "other")
        try Self.write("third\n", to: path)
        #expect(source.current?.secret == "third")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(source.current?.secret == "third")
    }

    @Test func `a token file that is missing at the start is used once it has a token`() throws {
        let path = NSTemporaryDirectory() + "tombolo-token-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let source = TokenSource(awaiting: path)
        #expect(source.current == nil && source.canChange)
        try Self.write("not a token\n", to: path)
        #expect(source.current == nil)
        try Self.write("first\n", to: path)
        #expect(source.current?.secret == "first")
        try FileManager.default.removeItem(atPath: path)
        #expect(source.current?.secret == "first")
    }

    @Test func `a rotated token is announced only while the server refuses the old one`() throws {
        let path = NSTemporaryDirectory() + "tombolo-token-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Self.write("first\n", to: path)
        let simulation = Simulation(seed: 1)
        let statuses = Broadcast<SyncStatus>()
        let status = Guarded(Self.status(.online))
        let announcements = Guarded(0)
        let watch = TokenWatch(
            token: try TokenSource(file: path), status: statuses, currentStatus: { status.withLock { $0 } },
            credentialsChanged: { announcements.withLock { $0 += 1 } },
            clock: simulation.makeRuntime(device: "phone").clock)
        let task = simulation.start("watch") { await watch.watch() }
        let setConnection = { (connection: SyncStatus.Connection) in
            status.withLock { $0 = Self.status(connection) }
            statuses.publish(Self.status(connection))
        }
        try simulation.advance(by: .seconds(1))
        try Self.write("second\n", to: path)
        setConnection(.online)
        try simulation.advance(by: TokenWatch.interval * 3)
        #expect(announcements.withLock { $0 } == 0)
        setConnection(.refused(TransportError(.unauthorized, "old")))
        try simulation.advance(by: TokenWatch.interval * 3)
        #expect(announcements.withLock { $0 } == 0)
        try Self.write("third\n", to: path)
        try simulation.advance(by: TokenWatch.interval * 3)
        #expect(announcements.withLock { $0 } == 1)
        setConnection(.connecting)
        try Self.write("fourth\n", to: path)
        try simulation.advance(by: TokenWatch.interval * 3)
        #expect(announcements.withLock { $0 } == 1)
        task.cancel()
        statuses.finish()
        try simulation.finish()
    }

    private static func status(_ connection: SyncStatus.Connection) -> SyncStatus {
        SyncStatus(connection: connection, push: .idle, spaces: [], outbox: OutboxSummary())
    }

    @Test func `a token without a file does not change`() {
        #expect(TokenSource(Token("fixed")).current?.secret == "fixed")
    }

    @Test func `the description of a token source contains no secret`() {
        #expect(!"\(TokenSource(Token("canary")))".contains("canary"))
        #expect(!String(reflecting: TokenSource(Token("canary"))).contains("canary"))
    }
}
