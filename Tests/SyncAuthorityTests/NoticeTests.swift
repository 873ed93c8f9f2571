import SyncAuthority
import SyncModel
import SyncTestKit
import SyncWire
import TestRings
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

    /// Regression test: a device that changes a value and sets it back sends the value that the server has. An older
    /// edit of another device replaced it, and nobody was told.
    @Test(arguments: [false, true])
    func `an older edit does not replace in silence a value that another device has changed and set back`(
        isOwner: Bool
    ) throws {
        let owner = try #require(try devices([2], times: [1]).first)
        var setter = isOwner ? owner : Device(3)
        var older = Device(5)
        let head = try world.head()
        try world.push(
            &setter, update("user", 1, at: 20, "bio", .text("equal"), before: .text("equal"), seen: head))
        #expect(try world.head() == head)
        let outcome = try world.push(
            &older, update("user", 1, at: 9, "bio", .text("older"), before: .text("equal"), seen: head))
        #expect(outcome.conflicts.map(\.loser.value) == [.text("older")])
        #expect(outcome.conflicts.map(\.winner.stamp.client) == [setter.identity.client])
        #expect(try world.value("user", 1, "bio") == .text("equal"))
        // A later edit has seen the value, and replaces it.
        let later = try world.push(
            &older, update("user", 1, at: 30, "bio", .text("later"), before: .text("equal"), seen: head))
        #expect(later.conflicts.isEmpty)
        #expect(try world.value("user", 1, "bio") == .text("later"))
    }

    @Test func `an older edit does not replace in silence a field that another device has filled and emptied again`()
        throws
    {
        let owner = try #require(try devices([2], times: [1]).first)
        var (setter, older) = (owner, Device(5))
        try world.push(
            &setter, update("user", 1, at: 2, "bio", .null, before: .text("equal"), seen: try world.head()))
        let head = try world.head()
        try world.push(&setter, update("user", 1, at: 20, "bio", .null, before: .null, seen: head))
        let outcome = try world.push(
            &older, update("user", 1, at: 9, "bio", .text("older"), before: .null, seen: head))
        #expect(outcome.conflicts.map(\.loser.value) == [.text("older")])
        #expect(try world.value("user", 1, "bio") == .null)
    }

    @Test func `the number of devices that get a notice is bounded`() throws {
        let count = UInt64(AuthorityLimits.equalEdits) + 5
        let equal = try devices(Array(10..<(10 + count)), times: Array(1...Int64(count)))
        var winner = Device(5)
        try world.push(&winner, update("user", 1, at: 1_000, "bio", .text("other")))
        let told = try equal.filter { try !losses(of: $0).isEmpty }
        #expect(told.map(\.identity) == equal.suffix(AuthorityLimits.equalEdits + 1).map(\.identity))
    }

    /// Pulls the first rows and the notices after a number.
    private static func page(
        of authority: Authority, to device: Device, after number: Int64 = 0, fingerprint: NoticeFingerprint? = nil
    ) throws -> PullPage {
        let request = PullRequest(
            space: .default, cursor: nil, limit: 1_000,
            notices: NoticeRequest(clients: [device.identity.client], after: number, fingerprint: fingerprint))
        guard case .page(let page) = try authority.pull(request, by: device.principal, now: AuthorityWorld.now)
        else { throw AuthorityWorld.Unexpected() }
        return page
    }

    /// The values of each conflict have 1,001 bytes: 500 for the winner and for the loser, and 1 for the base.
    @Test(arguments: [(1, [1, 1, 1, 1, 1]), (2_001, [1, 1, 1, 1, 1]), (2_002, [2, 2, 1]), (5_005, [5])])
    func `the notices of a page do not exceed its bytes, and a larger one comes alone`(
        bytes: Int, counts: [Int]
    ) throws {
        let world = AuthorityWorld(policy: AuthorityPolicy(pageBytes: bytes))
        var (owner, loser) = (Device(1), Device(2))
        let value = FieldValue.text(String(repeating: "a", count: 500))
        for number in 1...5 {
            try world.push(&owner, create("user", UInt64(number), at: 5, ["username": .text("anna"), "bio": value]))
            let other = FieldValue.text(String(repeating: "b", count: 500))
            try world.push(&loser, update("user", UInt64(number), at: 1, "bio", other))
        }
        var found: [Int] = []
        var last: Int64 = 0
        var page = try Self.page(of: world.authority, to: loser)
        while !page.notices.isEmpty {
            found.append(page.notices.count)
            last = page.notices.last?.number ?? last
            #expect(page.hasMoreNotices == (found.reduce(0, +) < 5))
            page = try Self.page(of: world.authority, to: loser, after: last)
        }
        #expect(found == counts)
    }

    /// A push that only loses makes no commit. A restore can lose its conflict, and no version shows that.
    @Test func `a store that has lost a notice sends those that have its number`() throws {
        let world = AuthorityWorld()
        var (owner, loser) = (Device(1), Device(2))
        func lose(_ record: UInt64, in world: AuthorityWorld) throws {
            try world.push(&loser, update("user", record, at: 1, "bio", .text("lost \(record)")))
        }
        for number in 1...4 as ClosedRange<UInt64> {
            try world.push(&owner, create("user", number, at: 5, ["username": .text("u"), "bio": .text("won")]))
        }
        for record in [1, 2] as [UInt64] { try lose(record, in: world) }
        let known = try #require(Self.page(of: world.authority, to: loser).notices.last)
        #expect(try Self.page(of: world.authority, to: loser, after: known).notices.isEmpty)
        try lose(3, in: world)
        #expect(
            try Self.page(of: world.authority, to: loser, after: known).notices.map(\.conflict.loser.value)
                == [.text("lost 3")])
        // Another store has given the number to another conflict, and a third one has not given it yet.
        for records in [[3, 4, 1], [4]] as [[UInt64]] {
            let other = AuthorityWorld()
            (owner, loser) = (Device(1), Device(2))
            for number in 1...4 as ClosedRange<UInt64> {
                try other.push(&owner, create("user", number, at: 5, ["username": .text("u"), "bio": .text("won")]))
            }
            for record in records { try lose(record, in: other) }
            #expect(
                try Self.page(of: other.authority, to: loser, after: known).notices.map(\.conflict.loser.value)
                    == records.map { .text("lost \($0)") })
        }
    }

    @Test func `a device that has not fetched a removed notice learns that one is missing, and others do not`() throws {
        let world = AuthorityWorld()
        var (owner, loser) = (Device(1), Device(2))
        for number in 1...4 as ClosedRange<UInt64> {
            try world.push(&owner, create("user", number, at: 5, ["username": .text("u"), "bio": .text("won")]))
            try world.push(&loser, update("user", number, at: 1, "bio", .text("lost \(number)")))
        }
        let all = try Self.page(of: world.authority, to: loser)
        #expect(all.notices.count == 4 && all.noticesRemovedUpTo == nil)
        #expect(try world.authority.trimConflicts(keeping: ConflictAmount(conflicts: 2)))
        let removed = all.notices[1]
        let behind = try Self.page(of: world.authority, to: loser, after: all.notices[0])
        #expect(behind.noticesRemovedUpTo == removed.number)
        #expect(behind.notices == Array(all.notices[2...]))
        // These devices have fetched all that is removed.
        for last in all.notices[1...] {
            #expect(try Self.page(of: world.authority, to: loser, after: last).noticesRemovedUpTo == nil)
        }
        // A device that was told goes on behind the removed notices. One that a lie has sent beyond all notices gets
        // them.
        for (number, expected) in [(removed.number, 2), (.max, 2), (all.notices[3].number, 0)] as [(Int64, Int)] {
            let page = try Self.page(of: world.authority, to: loser, after: number)
            #expect(page.notices.count == expected && page.noticesRemovedUpTo == nil)
        }
        #expect(try Self.page(of: world.authority, to: owner).noticesRemovedUpTo == nil)
        #expect(try Self.page(of: world.authority, to: Device(3)).noticesRemovedUpTo == nil)
    }

    /// Pulls the first rows and the notices after one.
    private static func page(
        of authority: Authority, to device: Device, after notice: ConflictNotice
    ) throws -> PullPage {
        try page(of: authority, to: device, after: notice.number, fingerprint: notice.fingerprint)
    }

    @Test(.ring(.check)) func `the longest record, with as many notices as a page may have, fits into a response`()
        throws
    {
        let fields = (0..<SchemaLimits.fields).map { FieldName(rawValue: "f\($0)")! }
        let catalog = SchemaCatalog([ModelSchema(collection: "doc", fields: fields.map { .text($0) })])
        let authority = Authority(
            store: InMemoryAuthorityStore(epoch: AuthorityWorld.epoch), catalog: catalog, histories: CountedHistories())
        var (owner, loser) = (Device(1), Device(2))
        // In JSON, each byte takes six.
        let longest = FieldValue.text(String(repeating: "\u{1}", count: SchemaLimits.textBytes))
        let other = FieldValue.text(String(repeating: "\u{2}", count: SchemaLimits.textBytes))
        func push(_ device: inout Device, _ mutation: Mutation) throws {
            let request = device.request([try device.number([mutation])])
            guard
                case .answered(let results, _, _) = try authority.push(
                    request, by: device.principal, now: AuthorityWorld.now),
                case .applied = results.first?.outcome
            else { throw AuthorityWorld.Unexpected() }
        }
        /// Sets fields of a record, as many in one transaction as it can hold.
        func set(
            _ fields: ArraySlice<FieldName>, of number: UInt64, to value: FieldValue, at offset: Int64,
            by device: inout Device
        ) throws {
            for start in stride(from: fields.startIndex, to: fields.endIndex, by: 15) {
                let edits = fields[start..<min(start + 15, fields.endIndex)].map {
                    FieldEdit(field: $0, value: value, before: .null, seen: .zero)
                }
                try push(
                    &device,
                    Mutation(collection: "doc", record: id(number), time: time(offset), intent: .update(edits)))
            }
        }
        for number in [1, 2] as [UInt64] { try push(&owner, create("doc", number, at: 1, [:])) }
        // The first record almost fills the page, so the second one is still added.
        try set(fields.prefix(10), of: 1, to: longest, at: 5, by: &owner)
        try set(fields[...], of: 2, to: longest, at: 5, by: &owner)
        try set(fields.prefix(45), of: 2, to: other, at: 2, by: &loser)

        let page = try Self.page(of: authority, to: loser)
        guard case .snapshot(let groups, true, true) = page.content else { throw AuthorityWorld.Unexpected() }
        #expect(groups.map(\.records.count) == [2])
        #expect(page.notices.count == 31 && page.hasMoreNotices)
        let size = try PullCodec.encode(.page(page), catalog: catalog).count
        #expect((50 * 1_024 * 1_024..<58 * 1_024 * 1_024).contains(size), "\(size)")
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
