import Foundation
import Logging
import SyncAuthority
import SyncModel
import SyncSimulation
import SyncTestKit
import SyncWire
import Testing

@testable import SyncProgram
@testable import TomboloServer

/// Tests the mark next to a server's database, as a file and as a service.
@Suite struct MarkTests {
    private static let schema = ModelSchema(collection: "note", fields: [.text("text")])
    private let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false) + "/mark-\(UUID())"
    private var file: MarkFile { MarkFile(path: folder + "/authority.sqlite-mark") }
    /// The mark of the database that the server had before, or that received its data.
    private var former: MarkFile { MarkFile(path: folder + "/authority.postgres-mark") }

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private func authority(_ store: InMemoryAuthorityStore, _ histories: CountedHistories = CountedHistories())
        -> Authority
    {
        Authority(store: store, catalog: SchemaCatalog([Self.schema]), histories: histories)
    }

    private func write(_ number: Int64, to authority: Authority) throws {
        let id = RecordID(bits: Identifier128(high: 2, low: UInt64(number)))
        let transaction = Transaction(
            space: .default,
            mutations: [
                Mutation(
                    collection: "note", record: id, time: HybridTime(wall: Simulation.startTime),
                    intent: .create(["text": .text("\(number)")]))
            ])
        let client = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: 0)
        let response = try authority.push(
            PushRequest(
                identity: client, epoch: nil, acknowledged: TransactionNumber(number),
                transactions: [
                    NumberedTransaction(
                        number: TransactionNumber(number), hash: try PayloadHash(of: transaction),
                        transaction: transaction)
                ]), by: Principal(name: "anna"), now: Simulation.startTime)
        guard case .answered = response else {
            Issue.record("\(response)")
            return
        }
    }

    @Test func `a mark file is private and is read as it was written`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let authority = authority(InMemoryAuthorityStore(epoch: Epoch(rawValue: "e")))
        for number in Int64(0)...2 {
            try write(number, to: authority)
            var mark = HistoryMark()
            try authority.update(&mark)
            try file.write(mark)
            #expect(file.read() == mark)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["authority.sqlite-mark"])
    }

    @Test func `a mark that cannot be written is reported with the reason`() throws {
        try FileManager.default.removeItem(atPath: folder)
        let error = #expect(throws: MarkFileError.self) { try file.write(HistoryMark()) }
        #expect(error?.description == "cannot make \(file.path).new: No such file or directory")
    }

    @Test func `a mark that cannot be replaced leaves no temporary file`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: file.path, withIntermediateDirectories: false)
        let error = #expect(throws: MarkFileError.self) { try file.write(HistoryMark()) }
        #expect(error?.description == "cannot replace \(file.path): Is a directory")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["authority.sqlite-mark"])
    }

    @Test func `a mark that is missing, damaged, or a symbolic link is not read`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(file.read() == nil && !file.isThere)
        try Data([0xFF, 0x00]).write(to: URL(filePath: file.path))
        #expect(file.read() == nil)
        #expect(file.isThere)
        try Data("tombolo-mark 1\nhalf a cur".utf8).write(to: URL(filePath: file.path))
        #expect(file.read() == nil)
        try FileManager.default.removeItem(atPath: file.path)
        let elsewhere = folder + "/elsewhere"
        try Data(HistoryMark().text.utf8).write(to: URL(filePath: elsewhere))
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: elsewhere)
        #expect(file.read() == nil)
    }

    @Test func `the mark follows the commits, and the next start detects an older database`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = InMemoryAuthorityStore(epoch: Epoch(rawValue: "e"))
        let authority = authority(store)
        try write(0, to: authority)
        let copy = store.copy()
        let simulation = Simulation(seed: 1)
        let service = MarkService(
            authority: authority, file: file, former: former, runtime: simulation.makeRuntime(device: "server"),
            logger: Logger(label: "test"))
        let task = simulation.start("mark") {
            await #expect(throws: CancellationError.self) { try await service.keep() }
        }
        try simulation.advance(by: .seconds(1))
        let first = file.read()
        #expect(first?.cursors.count == 1)
        try write(1, to: authority)
        try simulation.advance(by: .seconds(3))
        let second = file.read()
        #expect(second != first)
        task.cancel()
        try simulation.finish()

        // The current database matches the mark. The copy is older.
        for (database, losses) in [(store, 0), (copy, 1)] {
            let histories = CountedHistories()
            try compare(self.authority(database, histories))
            #expect(histories.lost.count == losses)
        }
    }

    @Test func `a database that was copied before its data moved is older than the mark of the new database`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = InMemoryAuthorityStore(epoch: Epoch(rawValue: "e"))
        let moved = authority(store)
        try write(0, to: moved)
        let copy = store.copy()
        try write(1, to: moved)
        var mark = HistoryMark()
        try moved.update(&mark)
        try former.write(mark)

        let histories = CountedHistories()
        let authority = authority(copy, histories)
        try compare(authority)
        #expect(histories.lost.count == 1)
        try compare(authority)
        #expect(histories.lost.count == 1, "The mark stays, but proves nothing about the new history.")
    }

    private func compare(_ authority: Authority) throws {
        let service = MarkService(
            authority: authority, file: file, former: former,
            runtime: Simulation(seed: 2).makeRuntime(device: "server"), logger: Logger(label: "test"))
        try service.compare()
    }
}
