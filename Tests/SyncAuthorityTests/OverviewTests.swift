import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

/// Tests what an authority tells the operator of its server.
@Suite struct OverviewTests {
    private let world: AuthorityWorld

    init() {
        var policy = AuthorityPolicy()
        policy.access = .members
        world = AuthorityWorld(policy: policy)
    }

    private func summaries() throws -> [ClientSummary] { try world.authority.clients(limit: 10) }

    @Test func `an overview counts the records, conflicts, and clients of each space`() throws {
        let empty = try world.authority.overview()
        #expect(
            empty
                == AuthorityOverview(
                    epoch: AuthorityWorld.epoch, catalogRevision: 0, collections: [], spaces: [], clients: 0))
        try world.store.write { transaction in
            try transaction.set(AuthorityWorld.catalog)
            try transaction.set(.reader, of: Principal(name: "ned"), in: "team")
        }
        var (anna, bo) = (Device(1), Device(2, principal: "bo"))
        for number in UInt64(1)...3 { try world.push(&anna, create("user", number, ["username": .text("a")])) }
        try world.push(&anna, create("avatar", 1, ["url": .text("u"), "author": .reference(id(1))]))
        try world.push(&anna, delete("user", 3))
        try world.push(&anna, update("user", 1, at: 2, "bio", .text("mine"), seen: Version(1)))
        let merged = try world.push(&bo, update("user", 1, at: 1, "bio", .text("yours"), seen: Version(1)))
        #expect(merged.word == "merged")
        try world.authority.trimFeed(of: .default, before: Version(3))

        let overview = try world.authority.overview()
        #expect(overview.collections == ["user", "avatar"] && overview.catalogRevision != 0)
        #expect(overview.clients == 2)
        let head = try #require(overview.spaces.first).summary.head
        #expect(
            overview.spaces == [
                SpaceOverview(
                    SpaceSummary(
                        space: .default, members: 0, extent: SpaceExtent(head: head, horizon: Version(2))),
                    records: ["user": 2, "avatar": 1], conflicts: 1),
                SpaceOverview(
                    SpaceSummary(space: "team", members: 1, extent: .empty), records: [:], conflicts: 0),
            ])
    }

    @Test func `a client has the outcome of its last transaction, and the time of the commit`() throws {
        var (anna, bo) = (Device(1), Device(2, principal: "bo"))
        let later = WallTime(milliseconds: AuthorityWorld.now.milliseconds + 5_000)
        _ = try world.authority.admit(bo.principal, to: "other", as: .writer)
        // Both spaces have a commit with the version 1.
        try world.push(&anna, create("user", 1, ["username": .text("a")]))
        try world.push(&bo, create("user", 2, ["username": .text("b")]), in: "other", now: later)
        #expect(try summaries().map(\.client.identity) == [anna.identity, bo.identity])
        #expect(try summaries().map(\.client.principal.name) == ["anna", "bo"])
        #expect(try summaries().map(\.lastAnswered) == [.first, .first])
        #expect(try summaries().map(\.lastOutcome?.word) == ["applied", "applied"])
        #expect(try summaries().map(\.lastCommit) == [AuthorityWorld.now, later])
        #expect(
            try world.authority.clients(after: anna.identity.client, limit: 10).map(\.client.principal.name) == ["bo"])
        #expect(try world.authority.clients(limit: 1).map(\.client.principal.name) == ["anna"])

        // A rejected transaction makes no commit.
        try world.push(&anna, delete("user", 9))
        try world.push(&bo, create("user", 3, [:]))
        #expect(try summaries().map(\.lastAnswered) == [TransactionNumber(1), TransactionNumber(1)])
        #expect(try summaries().map(\.lastOutcome?.word) == ["rejected", "rejected"])
        #expect(try summaries().map(\.lastCommit) == [nil, nil])

        try world.push(&bo, update("user", 2, "bio", .text("x"), seen: Version(1)), in: "other", now: later)
        #expect(try summaries().map(\.lastCommit) == [nil, later])
        try world.authority.trimFeed(of: "other", to: FeedBound(commits: 0))
        #expect(try summaries().map(\.lastCommit) == [nil, nil])
    }

    @Test func `a client that took a new incarnation shows the progress of the new one`() throws {
        var device = Device(1)
        for number in UInt64(1)...3 { try world.push(&device, create("user", number, ["username": .text("a")])) }
        var again = Device(1, incarnation: 1)
        try world.push(&again, create("user", 4, ["username": .text("b")]))
        #expect(try summaries().map(\.client.identity) == [again.identity])
        #expect(try summaries().map(\.lastAnswered) == [.first])
    }

    @Test func `the newest commits come with their authors`() throws {
        var (anna, bo) = (Device(1), Device(2, principal: "bo"))
        try world.push(&anna, create("user", 1, ["username": .text("a")]))
        try world.push(&bo, create("user", 2, ["username": .text("b")]))
        func authors(before version: Version?) throws -> [String] {
            try world.authority.recentCommits(
                in: .default, before: version, budget: PageBudget(rows: 10, bytes: 1_000)
            ).map { "\($0.author.principal.name) \($0.commit.version)" }
        }
        #expect(try authors(before: nil) == ["bo 2", "anna 1"])
        #expect(try authors(before: Version(2)) == ["anna 1"])
        #expect(try world.authority.recordCounts(in: .default) == ["user": 2])
    }
}
