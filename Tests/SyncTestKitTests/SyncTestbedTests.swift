import SyncCore
import SyncModel
import SyncObjects
import SyncSimulation
import SyncTestKit
import TestRings
import Testing
import TomboloCommunity
import TomboloModeling

@Suite(.ring(.unit)) struct SyncTestbedTests {
    private func testbed(seed: UInt64 = 1) throws -> SyncTestbed {
        try SyncTestbed(seed: seed, models: CommunityCatalog.models)
    }

    @Test func `an unconfirmed transaction at the end is a failure that names the device`() throws {
        let testbed = try testbed()
        let phone = try testbed.device("phone")
        phone.isOnline = false
        try testbed.run { try await phone.community.users.make(username: "Ned").create() }
        let failure = try #require(throws: TestbedError.self) { try testbed.finish() }
        #expect(failure.description == "phone: 1 transactions are not confirmed")
    }

    @Test(arguments: [false, true])
    func `the work of a device that is off at the end is checked, too`(isConfirmed: Bool) throws {
        let testbed = try testbed()
        let phone = try testbed.device("phone")
        phone.isOnline = isConfirmed
        try testbed.run { try await phone.community.users.make(username: "Ned").create() }
        try testbed.settle()
        phone.stop()
        if isConfirmed { return try testbed.finish() }
        let failure = try #require(throws: TestbedError.self) { try testbed.finish() }
        #expect(failure.description == "phone: 1 transactions are not confirmed")
    }

    @Test func `unused script steps at the end are a failure`() throws {
        let testbed = try testbed()
        let phone = try testbed.device("phone")
        try testbed.settle()
        phone.server.script(.push, .captivePortal)
        let failure = try #require(throws: TestbedError.self) { try testbed.finish() }
        #expect(failure.description.contains("1 steps left"))
    }

    @Test func `an unhandled rejection at the end is a failure`() throws {
        let testbed = try testbed()
        let phone = try testbed.device("phone")
        let rejection = Rejection(code: .forbidden, message: "not you", mutation: nil)
        phone.server.script(
            .push,
            .response(
                .push(
                    .answered(
                        [TransactionResult(number: .first, outcome: .rejected(rejection))],
                        epoch: Epoch(rawValue: "testbed"), serverTime: HybridTime(wall: Simulation.startTime)))))
        try testbed.run { try await phone.community.users.make(username: "Ned").create() }
        try testbed.settle()
        let failure = try #require(throws: TestbedError.self) { try testbed.finish() }
        #expect(
            failure.description
                == "phone: the journal has a rejected transaction (forbidden: not you): create user: username 'Ned'")
    }

    @Test func `a device that cannot sync is reported after its virtual time limit`() throws {
        let testbed = try testbed()
        let phone = try testbed.device("phone")
        phone.network.faults.refuse = 1
        let failure = try #require(throws: TestbedError.self) { try testbed.settle(within: .seconds(100)) }
        #expect(
            failure.description.hasPrefix("phone is not in sync after 100.0 seconds: trying again: "), "\(failure)")
        phone.network.faults = .none
        try testbed.settle()
        try testbed.finish()
    }

    /// The data by which two runs are compared: the number of jobs, the time of the end, and the requests of each
    /// device.
    private struct Course: Equatable {
        let jobs: Int
        let end: Duration
        let asked: [[MockEntry]]
    }

    @Test(.ring(.test)) func `runs of one seed are identical`() throws {
        func course(seed: UInt64) throws -> Course {
            let testbed = try testbed(seed: seed)
            let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
            phone.network.faults = .poor
            tablet.network.faults = .poor
            for number in 0..<10 {
                try testbed.run { try await phone.community.users.make(username: "User \(number)").create() }
                try testbed.advance(by: .seconds(600))
            }
            try testbed.settle()
            #expect(phone.network.struckCount > 5)
            try testbed.finish()
            return Course(
                jobs: testbed.simulation.scheduler.jobCount, end: testbed.simulation.now,
                asked: [phone.server.log, tablet.server.log])
        }
        let first = try course(seed: 5)
        #expect(first.asked.allSatisfy { $0.count > 20 })
        #expect(try course(seed: 5) == first)
        #expect(try course(seed: 6) != first)
    }

    @Test func `a record that another device deletes is gone`() throws {
        let testbed = try testbed()
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        let uid = try testbed.run { try await phone.community.users.make(username: "Ned").create().confirmed() }
        try testbed.settle()
        try testbed.run {
            let seen = try tablet.community.users.user(uid: uid)
            try await seen.delete()
        }
        try testbed.settle()
        #expect(try testbed.run { try await phone.community.users.users().isEmpty })
        try testbed.finish()
    }
}
