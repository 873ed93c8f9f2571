import SyncAuthority
import SyncModel
import SyncTestKit
import TestRings
import Testing

/// Tests the rights of a server whose members decide about their spaces.
@Suite struct MemberTests {
    private let store = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
    private let world: AuthorityWorld
    /// Another server over the same store, which has its own copy of the members.
    private let other: AuthorityWorld

    init() throws {
        var policy = AuthorityPolicy()
        policy.access = .members
        world = AuthorityWorld(policy: policy, over: store)
        other = AuthorityWorld(policy: policy, over: store)
    }

    private func admit(_ name: String, to space: SpaceID, as role: SpaceRole) throws {
        let change = try world.authority.admit(Principal(name: name), to: space, as: role, closingDefault: true)
        guard case .changed = change else {
            Issue.record("\(name) was not admitted to \(space): \(change)")
            return
        }
    }

    private func dismiss(_ name: String, from space: SpaceID) throws {
        let change = try world.authority.dismiss(Principal(name: name), from: space, openingDefault: true)
        guard case .changed = change else {
            Issue.record("\(name) was not removed from \(space): \(change)")
            return
        }
    }

    /// The access of a principal to a space, as the calls of the protocol show it.
    private enum Access: String { case none, reading, writing }

    /// Returns the access, after checking that all calls agree about it.
    private func access(
        of name: String, to space: SpaceID, at world: AuthorityWorld? = nil,
        location: SourceLocation = #_sourceLocation
    ) throws -> Access {
        let world = world ?? self.world
        let principal = Principal(name: name)
        var device = Device(UInt64.random(in: 1...(.max)), principal: name)
        let record = UInt64.random(in: 1...(.max))
        let outcome = try world.push(&device, create("user", record, ["username": .text("x")]), in: space)
        let mayWrite = outcome.rejection != .forbidden
        let response = try world.page(nil, in: space, by: name)
        let mayRead = if case .noAccess = response { false } else { true }
        let readable = try world.authority.readable(among: [space], by: principal)
        #expect(readable == (mayRead ? [space] : []), sourceLocation: location)
        let heads = try world.authority.heads(of: [space], for: principal, now: AuthorityWorld.now)
        #expect(heads.heads.keys.map(\.self) == readable, sourceLocation: location)
        if mayWrite {
            let request = FetchRequest(space: space, collection: "user", key: .id(id(record)))
            let fetched = try world.authority.fetch(request, by: principal, now: AuthorityWorld.now)
            #expect((fetched != nil) == mayRead, sourceLocation: location)
        }
        #expect(mayRead || !mayWrite, sourceLocation: location)
        return mayWrite ? .writing : mayRead ? .reading : .none
    }

    @Test func `a writer reads and writes, a reader reads, and nobody else has access`() throws {
        try admit("ned", to: "team", as: .writer)
        try admit("arya", to: "team", as: .reader)
        #expect(try access(of: "ned", to: "team") == .writing)
        #expect(try access(of: "arya", to: "team") == .reading)
        #expect(try access(of: "rob", to: "team") == .none)
        #expect(try access(of: "ned", to: "team_2") == .none)
    }

    @Test func `a reader can fetch a record that a writer has created, and others cannot`() throws {
        try admit("ned", to: "team", as: .writer)
        try admit("arya", to: "team", as: .reader)
        var device = Device(1, principal: "ned")
        #expect(try world.push(&device, create("user", 1, ["username": .text("a")]), in: "team").version == Version(1))
        let request = FetchRequest(space: "team", collection: "user", key: .id(id(1)))
        for (name, mayRead) in [("ned", true), ("arya", true), ("rob", false)] {
            let record = try world.authority.fetch(request, by: Principal(name: name), now: AuthorityWorld.now)
            #expect((record != nil) == mayRead, "\(name)")
        }
    }

    @Test func `without members, default is open to everybody, and another space to nobody`() throws {
        #expect(try access(of: "ned", to: .default) == .writing)
        #expect(try access(of: "ned", to: "team") == .none)
        try admit("ned", to: "team", as: .writer)
        #expect(try access(of: "rob", to: .default) == .writing)
        try dismiss("ned", from: "team")
        #expect(try access(of: "ned", to: "team") == .none)
    }

    @Test func `with members, default is open to them only`() throws {
        try admit("ned", to: .default, as: .writer)
        try admit("arya", to: .default, as: .reader)
        #expect(try access(of: "ned", to: .default) == .writing)
        #expect(try access(of: "arya", to: .default) == .reading)
        #expect(try access(of: "rob", to: .default) == .none)
        try dismiss("ned", from: .default)
        try dismiss("arya", from: .default)
        #expect(try access(of: "rob", to: .default) == .writing)
    }

    @Test func `each change takes effect with the next call of every server`() throws {
        for world in [world, other] { #expect(try access(of: "ned", to: "team", at: world) == .none) }
        try admit("ned", to: "team", as: .reader)
        for world in [other, world] { #expect(try access(of: "ned", to: "team", at: world) == .reading) }
        try admit("ned", to: "team", as: .writer)
        for world in [other, world] { #expect(try access(of: "ned", to: "team", at: world) == .writing) }
        try admit("ned", to: "team", as: .reader)
        for world in [other, world] { #expect(try access(of: "ned", to: "team", at: world) == .reading) }
        try dismiss("ned", from: "team")
        for world in [other, world] { #expect(try access(of: "ned", to: "team", at: world) == .none) }
    }

    @Test func `a write that was confirmed before the loss of a right keeps its outcome, and a new one is rejected`()
        throws
    {
        try admit("ned", to: "team", as: .writer)
        var device = Device(1, principal: "ned")
        let numbered = try device.number([create("user", 1, ["username": .text("a")])], in: "team")
        let first = try world.response(device.request([numbered]), by: device.principal)
        try admit("arya", to: "team", as: .reader)
        try dismiss("ned", from: "team")
        guard case .answered(let results, _, _) = first,
            case .answered(let repeated, _, _) = try world.response(device.request([numbered]), by: device.principal)
        else {
            Issue.record("the push was refused")
            return
        }
        #expect(repeated.map(\.outcome) == results.map(\.outcome))
        // A receipt tells how far the space has come.
        #expect(results.first?.receipt != nil && repeated.first?.receipt == nil)
        let next = try world.push(&device, update("user", 1, at: 5, "bio", .text("b")), in: "team")
        #expect(next.rejection == .forbidden)
    }

    @Test func `members are read once for each change, and not at all for rules without them`() throws {
        try admit("ned", to: "team", as: .writer)
        func calls(of world: AuthorityWorld, in space: SpaceID) throws -> Int {
            for passing in 0..<100 {
                world.store.arm(after: passing)
                let response = try? world.page(nil, in: space, by: "ned")
                let hasFailed = world.store.hasFailed
                world.store.disarm()
                if !hasFailed, response != nil { return passing }
            }
            return .max
        }
        let plain = AuthorityWorld(over: store)
        let expected = try calls(of: plain, in: .default)
        _ = try world.page(nil, in: "team", by: "ned")
        #expect(try calls(of: world, in: "team") == expected)
        try admit("arya", to: "team", as: .reader)
        world.store.arm(after: 1)
        #expect(throws: AuthorityError.self) { try world.page(nil, in: "team", by: "ned") }
        world.store.disarm()
        _ = try world.page(nil, in: "team", by: "ned")
        #expect(try calls(of: world, in: "team") == expected)
    }

    @Test func `while the members cannot be read, nobody has access`() throws {
        try admit("ned", to: "team", as: .writer)
        let ned = Principal(name: "ned")
        other.store.arm(after: 0)
        #expect(throws: AuthorityError.self) { try other.authority.readable(among: [.default, "team"], by: ned) }
        other.store.arm(after: 1)
        #expect(throws: AuthorityError.self) { try other.authority.readable(among: [.default, "team"], by: ned) }
        other.store.disarm()
        #expect(try other.authority.readable(among: ["none", .default, "team"], by: ned) == [.default, "team"])
    }

    @Test func `an application's own rule replaces the members`() throws {
        try admit("ned", to: "team", as: .writer)
        var policy = AuthorityPolicy()
        policy.access = AccessRules(
            [.init(principals: .everyone, spaces: .all, access: .readAndWrite)],
            check: AccessCheck(name: "application") { principal, _, _ in principal.name == "rob" })
        let own = AuthorityWorld(policy: policy, over: store)
        #expect(try access(of: "ned", to: "team", at: own) == .none)
        #expect(try access(of: "rob", to: "team", at: own) == .writing)
    }

    @Test func `a check takes rights away from members, too`() throws {
        try admit("ned", to: "team", as: .writer)
        var policy = AuthorityPolicy()
        policy.access = .members
        policy.access.check = AccessCheck(name: "frozen") { _, _, access in access == .read }
        let frozen = AuthorityWorld(policy: policy, over: store)
        #expect(try access(of: "ned", to: "team", at: frozen) == .reading)
    }

    // MARK: Changes

    private func admission(_ name: String, _ space: SpaceID, _ role: SpaceRole) throws -> MemberChange {
        try world.authority.admit(Principal(name: name), to: space, as: role)
    }

    private func dismissal(_ name: String, _ space: SpaceID) throws -> MemberChange {
        try world.authority.dismiss(Principal(name: name), from: space)
    }

    private var revision: Int64 { get throws { try store.read { view in try view.state().memberRevision } } }

    @Test func `a change reports what was before, and a repeated one writes nothing`() throws {
        #expect(try admission("ned", "team", .reader) == .changed(from: nil, others: 0))
        #expect(try admission("arya", "team", .reader) == .changed(from: nil, others: 1))
        #expect(try admission("ned", "team", .writer) == .changed(from: .reader, others: 1))
        let before = try revision
        #expect(try admission("ned", "team", .writer) == .unchanged)
        #expect(try dismissal("rob", "team") == .unchanged)
        #expect(try dismissal("ned", "other") == .unchanged)
        #expect(try revision == before)
        #expect(try dismissal("ned", "team") == .changed(from: .writer, others: 1))
        #expect(try dismissal("arya", "team") == .changed(from: .reader, others: 0))
        #expect(try world.authority.members(of: "team").isEmpty)
    }

    @Test func `a copy of the database that has lost a change and gets another one has another revision`() {
        let revision = { (after: Int64, role: SpaceRole?, name: String) in
            Revision.next(
                after: after, SpaceMember.change(to: role, of: Principal(name: name), in: "team"))
        }
        let common = revision(0, .writer, "ned")
        #expect(revision(common, .reader, "arya") != revision(common, nil, "ned"))
        #expect(revision(common, .reader, "arya") != revision(common, .writer, "arya"))
        #expect(revision(common, .reader, "arya") == revision(revision(0, .writer, "ned"), .reader, "arya"))
        #expect(common > 0)
    }

    @Test func `closing default to accounts, and opening it to all, needs consent`() throws {
        #expect(try admission("ned", .default, .writer) == .needsConsent)
        #expect(try revision == 0)
        try admit("ned", to: .default, as: .writer)
        #expect(try admission("arya", .default, .writer) == .changed(from: nil, others: 1))
        #expect(try dismissal("arya", .default) == .changed(from: .writer, others: 1))
        #expect(try dismissal("ned", .default) == .needsConsent)
        #expect(try admission("ned", .default, .reader) == .changed(from: .writer, others: 0))
        #expect(try access(of: "rob", to: .default) == .none)
    }

    @Test(.ring(.test)) func `the members of a space and of all spaces are bounded`() throws {
        try store.write { transaction in
            for number in 0..<AuthorityLimits.membersPerSpace {
                try transaction.set(.reader, of: Principal(name: "a\(number)"), in: "large")
            }
        }
        #expect(
            try admission("ned", "large", .reader)
                == .tooMany(AuthorityLimits.membersPerSpace, inAllSpaces: false))
        // A former member can still change its role, or leave.
        #expect(
            try admission("a1", "large", .writer)
                == .changed(from: .reader, others: AuthorityLimits.membersPerSpace - 1))
        #expect(
            try dismissal("a1", "large") == .changed(from: .writer, others: AuthorityLimits.membersPerSpace - 1))
        #expect(
            try admission("ned", "large", .reader) == .changed(from: nil, others: AuthorityLimits.membersPerSpace - 1))
        try store.write { transaction in
            for number in AuthorityLimits.membersPerSpace..<AuthorityLimits.members {
                let space = SpaceID(unchecked: "s\(number / 9_000)")
                try transaction.set(.reader, of: Principal(name: "a\(number)"), in: space)
            }
        }
        #expect(try admission("ned", "small", .reader) == .tooMany(AuthorityLimits.members, inAllSpaces: true))
    }

    @Test func `spaces with members or commits are listed with both`() throws {
        try admit("ned", to: "team", as: .writer)
        try admit("arya", to: "team", as: .reader)
        try admit("ned", to: "empty", as: .reader)
        var device = Device(1, principal: "ned")
        try world.push(&device, create("user", 1, ["username": .text("a")]), in: "team")
        try world.push(&device, create("user", 2, ["username": .text("b")]))
        #expect(
            try world.authority.spaces() == [
                SpaceSummary(space: .default, members: 0, extent: SpaceExtent(head: Version(1), horizon: .zero)),
                SpaceSummary(space: "empty", members: 1, extent: .empty),
                SpaceSummary(space: "team", members: 2, extent: SpaceExtent(head: Version(1), horizon: .zero)),
            ])
        #expect(
            try world.authority.members(of: "team") == [
                SpaceMember(space: "team", principal: Principal(name: "arya"), role: .reader),
                SpaceMember(space: "team", principal: Principal(name: "ned"), role: .writer),
            ])
    }
}
