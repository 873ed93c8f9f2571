import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

/// Tests which clients get a notice when a value loses a conflict.
@Suite struct NoticeTests {
    private let world = AuthorityWorld()

    /// Creates a user, and lets devices set the same bio without having seen each other's edits.
    private func devices(_ numbers: [UInt64], times: [Int64]) throws -> [Device] {
        var owner = Device(1)
        try world.push(&owner, create("user", 1, ["username": .text("anna")]))
        var devices: [Device] = []
        for (number, time) in zip(numbers, times) {
            var device = Device(number)
            let edit = update("user", 1, at: time, "bio", .text("equal"), seen: Version(1))
            let outcome = try world.push(&device, edit)
            #expect(outcome.conflicts.isEmpty)
            devices.append(device)
        }
        return devices
    }

    private func losses(of device: Device, in space: SpaceID = .default) throws -> [FieldConflict] {
        let request = PullRequest(
            space: space, cursor: nil, limit: 10, notices: NoticeRequest(clients: [device.identity.client], after: 0))
        guard case .page(let page) = try world.authority.pull(request, by: device.principal, now: AuthorityWorld.now)
        else { throw AuthorityWorld.Unexpected() }
        return page.notices.map(\.conflict)
    }

    @Test func `a device that pushes a value which loses gets a notice beside the outcome`() throws {
        _ = try devices([2], times: [5])
        var loser = Device(3)
        let outcome = try world.push(&loser, update("user", 1, at: 1, "bio", .text("older")))
        #expect(outcome.conflicts.count == 1)
        #expect(try losses(of: loser) == outcome.conflicts)
    }

    /// The first device may have the newest stamp, so that the others' edits change nothing.
    @Test(arguments: [[1, 2, 3], [3, 2, 1], [2, 3, 1]] as [[Int64]])
    func `every device that has set a value gets a notice when the value loses`(times: [Int64]) throws {
        let equal = try devices([2, 3, 4], times: times)
        var winner = Device(5)
        let outcome = try world.push(&winner, update("user", 1, at: 9, "bio", .text("other")))
        #expect(outcome.conflicts.count == 1)
        for (device, time) in zip(equal, times) {
            let losses = try losses(of: device)
            #expect(losses.map(\.loser.value) == [.text("equal")])
            #expect(losses.map(\.winner.value) == [.text("other")])
            #expect(losses.map(\.loser.stamp.client) == [device.identity.client])
            #expect(
                losses.map(\.loser.stamp.time) == [
                    HybridTime(wall: AuthorityWorld.now.advanced(by: .milliseconds(time)))
                ])
        }
        #expect(try losses(of: winner).isEmpty)
        // A value that has already lost cannot lose again.
        var later = Device(6)
        try world.push(&later, update("user", 1, at: 10, "bio", .text("third")))
        for device in equal { #expect(try losses(of: device).count == 1) }
    }

    @Test func `every device that has set a value gets a notice when the record is deleted`() throws {
        let equal = try devices([2, 3], times: [1, 2])
        var deleter = Device(5)
        try world.push(&deleter, delete("user", 1, at: 9))
        for device in equal {
            let losses = try losses(of: device)
            #expect(losses.map(\.rule) == [.deleteWins])
            #expect(losses.map(\.loser.value) == [.text("equal")])
        }
    }

    @Test func `no device gets a notice when an edit replaces a value that it has seen`() throws {
        let equal = try devices([2, 3], times: [1, 2])
        var successor = Device(5)
        let head = try world.head()
        try world.push(&successor, update("user", 1, at: 9, "bio", .text("next"), before: .text("equal"), seen: head))
        for device in equal { #expect(try losses(of: device).isEmpty) }
    }

    /// A device that has seen a value has not seen that a second device set the same value later.
    @Test(arguments: [false, true])
    func `an older change does not replace in silence a value that another device has set again`(isDelete: Bool) throws
    {
        let equal = try devices([2, 3], times: [1, 20])
        var older = Device(5)
        let head = try world.head()
        let change =
            isDelete
            ? Mutation(collection: "user", record: id(1), time: time(9), intent: .delete(seen: head))
            : update("user", 1, at: 9, "bio", .text("older"), before: .text("equal"), seen: head)
        let outcome = try world.push(&older, change)
        #expect(outcome.conflicts.map(\.loser.value) == [.text(isDelete ? "equal" : "older")])
        #expect(try world.value("user", 1, "bio") == (isDelete ? nil : .text("equal")))
        for device in equal where isDelete { #expect(try losses(of: device).map(\.loser.value) == [.text("equal")]) }
    }

    @Test func `the number of devices that get a notice is bounded`() throws {
        let count = UInt64(AuthorityLimits.equalEdits) + 5
        let equal = try devices(Array(10..<(10 + count)), times: Array(1...Int64(count)))
        var winner = Device(5)
        try world.push(&winner, update("user", 1, at: 1_000, "bio", .text("other")))
        let told = try equal.filter { try !losses(of: $0).isEmpty }
        #expect(told.map(\.identity) == equal.suffix(AuthorityLimits.equalEdits + 1).map(\.identity))
    }

    @Test func `an equal edit of an empty field keeps no stamp`() throws {
        var owner = Device(1)
        try world.push(&owner, create("user", 1, ["username": .text("anna")]))
        var other = Device(2)
        try world.push(&other, update("user", 1, at: 1, "bio", .null, seen: .zero))
        let stored = try world.store.read { view in try view.record(RecordAddress("user", id(1))) }
        #expect(stored?.fields.allSatisfy(\.equalEdits.isEmpty) == true)
    }
}
