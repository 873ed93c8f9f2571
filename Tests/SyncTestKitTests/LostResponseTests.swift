import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import TestRings
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests that a transaction that the server has applied is never reported as rejected, even if the device did not get
/// the response.
@Suite(.ring(.unit)) struct LostResponseTests {
    static let refusals: [TransportError.Code] = [.tooLarge, .forbidden, .refused]

    private func testbed() throws -> SyncTestbed { try SyncTestbed(models: CommunityCatalog.models) }

    @Test(arguments: refusals)
    func `a transaction that was applied with a lost response is confirmed despite later refusals`(
        code: TransportError.Code
    ) throws {
        let testbed = try testbed()
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        try testbed.settle()
        phone.server.script(.push, .dropResponse)
        // These are more refusals than the device accepts before it withdraws a single transaction.
        for _ in 0..<5 {
            phone.server.script(.push, .fail(TransportError(code, "planted", isDefinite: true)))
        }
        try testbed.run { try await phone.community.users.make(username: "Ned").create() }
        let sequence = try #require(try phone.store.outbox(limit: 1).first?.sequence)
        try testbed.advance(by: .seconds(3_600))
        try testbed.settle()
        #expect(try phone.store.fate(of: sequence) == .confirmed)
        #expect(try phone.store.journal(state: nil, limit: 10).isEmpty)
        for device in [phone, tablet] {
            let users = try device.store.records(matching: RecordQuery("user"))
            #expect(users.count == 1 && users.first?.uid.isValid == true, "\(device.name): \(users)")
        }
        try testbed.finish()
    }

    /// The engine notices its own commits, and must not take a new identity for progress.
    @Test func `a server that confirms what it never shows does not make the device take identity after identity`()
        throws
    {
        let testbed = try testbed()
        let phone = try testbed.device("phone")
        try testbed.settle()
        let lies = 100
        let epoch = try phone.store.session().epoch
        for _ in 0..<lies {
            let outcome = Outcome.applied(version: Version(1_000), uids: [], conflicts: [])
            let result = TransactionResult(number: TransactionNumber(0), outcome: outcome)
            let response = ServerResponse.push(.answered([result], epoch: try #require(epoch), serverTime: .zero))
            // In this time, the engine counts the outbox that it has changed itself.
            phone.server.script(.push, .delay(.milliseconds(50), then: .response(response)))
        }
        let before = phone.server.log.count
        try testbed.run { try await phone.community.users.make(username: "Arya").create() }
        try testbed.advance(by: .seconds(600))
        let pushes = phone.server.log.dropFirst(before).count {
            if case .call(.push, _, _) = $0 { true } else { false }
        }
        #expect(pushes > 1 && pushes < 40, "\(pushes) pushes")
    }

    /// The same refusals without a previous success prove that the test above can fail.
    @Test(arguments: refusals)
    func `a transaction that was only refused is rejected with the server's reason`(code: TransportError.Code) throws {
        let testbed = try testbed()
        let phone = try testbed.device("phone")
        try testbed.settle()
        for _ in 0..<3 {
            phone.server.script(.push, .fail(TransportError(code, "planted", isDefinite: true)))
        }
        try testbed.run { try await phone.community.users.make(username: "Ned").create() }
        let sequence = try #require(try phone.store.outbox(limit: 1).first?.sequence)
        try testbed.advance(by: .seconds(3_600))
        try testbed.settle()
        guard case .rejected(let entry) = try phone.store.fate(of: sequence),
            case .rejected(_, let rejection) = entry.event
        else {
            Issue.record("\(try phone.store.fate(of: sequence))")
            return
        }
        #expect(rejection.message.contains("planted"))
        try phone.store.dismiss(journal: entry.number)
        try testbed.finish()
    }
}
