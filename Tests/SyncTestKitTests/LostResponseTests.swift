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
