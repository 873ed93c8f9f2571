import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@Suite struct PullTests {
    /// Returns a world with 20 commits: ten users, three avatars, seven edits, and two deletes.
    private func world(policy: AuthorityPolicy = AuthorityPolicy()) throws -> AuthorityWorld {
        let world = AuthorityWorld(policy: policy)
        var device = Device(1)
        for number in 0..<10 as Range<UInt64> {
            try world.push(&device, create("user", number, ["username": .text("u\(number)")]))
        }
        try world.push(
            &device,
            create("avatar", 20, ["url": .text("a"), "author": .reference(id(0))]),
            create("avatar", 21, ["url": .text("b"), "author": .reference(id(1))]),
            create("avatar", 22, ["url": .text("c"), "author": .reference(id(1))]))
        for number in 0..<7 as Range<UInt64> {
            try world.push(&device, update("user", number, at: 5, "bio", .text("b\(number)"), seen: Version(99)))
        }
        try world.push(&device, delete("user", 9))
        try world.push(&device, delete("avatar", 22))
        #expect(try world.head() == Version(20))
        return world
    }

    @Test(arguments: [1, 2, 3, 5, 7, 11, 12, 13, 1_000])
    func `a snapshot in pages of any size contains every live record once`(limit: Int) throws {
        let world = try world()
        var mirror = Mirror()
        try mirror.pullAll(from: world, limit: limit)
        #expect(try mirror.records == world.liveRecords())
        #expect(mirror.version == Version(20))
        #expect(mirror.largestPage <= limit)
        #expect(mirror.shownRows == mirror.records.count, "each row is shown once")
    }

    @Test(arguments: [1, 2, 3, 4, 100])
    func `reading the feed from the beginning gives the same records as a snapshot`(limit: Int) throws {
        let world = try world()
        var mirror = Mirror(cursor: try world.cursor(0))
        try mirror.pullAll(from: world, limit: limit)
        #expect(try mirror.records == world.liveRecords())
        #expect(mirror.version == Version(20))
    }

    @Test func `a page of the feed never splits a commit and says whether more follow`() throws {
        let world = try world()
        guard case .page(let page) = try world.page(world.cursor(10), limit: 2),
            case .commits(let commits) = page.content
        else {
            Issue.record("no commits")
            return
        }
        #expect(commits.map(\.changes.count) == [3])
        #expect(page.version == Version(11))
        #expect(page.head == Version(20))
        #expect(page.hasMore)
        #expect(page.epoch == AuthorityWorld.epoch)
        guard case .page(let rest) = try world.page(page.cursor, limit: 100) else {
            Issue.record("no page")
            return
        }
        #expect(rest.version == Version(20))
        #expect(!rest.hasMore)
        guard case .page(let nothing) = try world.page(rest.cursor) else {
            Issue.record("no page")
            return
        }
        #expect(nothing.content == .commits([]))
        #expect(nothing.cursor == rest.cursor)
        #expect(!nothing.hasMore)
    }

    @Test func `an empty space has a snapshot of one empty page`() throws {
        let world = AuthorityWorld()
        guard case .page(let page) = try world.page(nil) else {
            Issue.record("no page")
            return
        }
        #expect(page.content == .snapshot([], isFirst: true, isLast: true))
        #expect(page.version == .zero)
        #expect(page.head == .zero)
        #expect(!page.hasMore)
        var device = Device(1)
        try world.push(&device, create("user", 1, ["username": .text("a")]))
        guard case .page(let next) = try world.page(page.cursor), case .commits(let commits) = next.content else {
            Issue.record("no commits")
            return
        }
        #expect(commits.count == 1)
    }

    @Test func `a snapshot taken during commits, followed by the feed, gives the exact state`() throws {
        for limit in 1...6 {
            let world = try world()
            var device = Device(2)
            var mirror = Mirror()
            var step: UInt64 = 0
            while !mirror.isComplete || mirror.hasMore || step < 12 {
                try mirror.pull(from: world, limit: limit)
                // The commits change records before, at, and after the current position of the snapshot.
                guard step < 12 else { continue }
                try world.push(
                    &device, update("user", step % 9, at: 50, "bio", .text("new \(step)"), seen: Version(999)))
                try world.push(&device, create("user", 100 + step, ["username": .text("new")]))
                if step == 3 { try world.push(&device, delete("user", 8)) }
                if step == 4 { try world.push(&device, delete("avatar", 20)) }
                step += 1
            }
            try mirror.pullAll(from: world, limit: limit)
            #expect(try mirror.records == world.liveRecords(), "limit \(limit)")
            #expect(try mirror.version == world.head())
        }
    }

    @Test(arguments: 1...12)
    func `a snapshot is complete although the server reorders its models in the middle of it`(limit: Int) throws {
        var world = try world()
        let models = AuthorityWorld.catalog.models
        let added = ModelSchema(collection: "badge", fields: [.text("name")])
        for pages in 1...12 {
            for order in [models.reversed(), [added] + models, models.reversed() + [added]] {
                var mirror = Mirror()
                world.authority = Authority(store: world.store, catalog: AuthorityWorld.catalog)
                for _ in 0..<pages where !mirror.isComplete { try mirror.pull(from: world, limit: limit) }
                world.authority = Authority(store: world.store, catalog: SchemaCatalog(order))
                try mirror.pullAll(from: world, limit: limit)
                #expect(try mirror.records == world.liveRecords(), "reordered after page \(pages)")
                #expect(mirror.shownRows == mirror.records.count, "each row is shown once")
            }
        }
    }

    @Test func `a page limit is clamped to the server's limit, and a negative limit is malformed`() throws {
        var policy = AuthorityPolicy()
        policy.limits = ServerLimits(pushBytes: 100_000, pushTransactions: 10, pageRows: 3)
        let world = try world(policy: policy)
        for (asked, given) in [(0, 1), (2, 2), (1_000_000, 3)] {
            guard case .page(let page) = try world.page(nil, limit: asked),
                case .snapshot(let rows, _, _) = page.content
            else {
                Issue.record("no rows")
                return
            }
            #expect(rows.reduce(0) { $0 + $1.records.count } == given)
        }
        let failure = #expect(throws: AuthorityError.self) { try world.page(nil, limit: -1) }
        #expect(failure?.code == .malformed)
    }

    @Test func `a page is bounded in bytes but always makes progress`() throws {
        var policy = AuthorityPolicy()
        policy.pageBytes = 1
        let world = try world(policy: policy)
        var mirror = Mirror()
        try mirror.pullAll(from: world, limit: 1_000)
        #expect(try mirror.records == world.liveRecords())
        #expect(mirror.largestPage == 1)
    }

    private static let fingerprint = "00000000-0000-0000-0000-000000000000"
    private static let tag = "11111111-1111-1111-1111-111111111111"

    static let strangeCursors: [String] =
        [
            "", ".", "1", "1.epoch-1.default.1", "1.epoch-1.default.1.\(fingerprint)",
            "1.epoch-1.default.1.\(fingerprint).log",
            "1.epoch-1.default.1.\(fingerprint).log.", "1.epoch-1.default.1.\(fingerprint).log.x",
            "1.epoch-1.default.1.x.log.\(tag)",
        ]
        + [
            "1.epoch-1.default.1.\(fingerprint).log", "1.epoch-1.default.-1.\(fingerprint).log",
            "1.epoch-1.default.+1.\(fingerprint).log",
            "1.epoch-1.default.01.\(fingerprint).log", "1.epoch-1.default.1.\(fingerprint).log.2",
            "1.epoch-1.default.99999999999999999999.\(fingerprint).log", "2.epoch-1.default.1.\(fingerprint).log",
            "1.epoch-1.other.1.\(fingerprint).log", "1.epoch-1.Default.1.\(fingerprint).log",
            "1.epoch 1.default.1.\(fingerprint).log",
            "1..default.1.\(fingerprint).log", "1.epoch-1.default.1.\(fingerprint).rows",
            "1.epoch-1.default.1.\(fingerprint).rows.user",
            "1.epoch-1.default.1.\(fingerprint).rows.user.x",
            "1.epoch-1.default.1.\(fingerprint).rows.user.00000000-0000-0007-0000-00000000000A",
            "1.epoch-1.default.1.\(fingerprint).rows.user.00000000-0000-0007-0000-000000000001",
            "1.epoch-1.default.1.\(fingerprint).feed", "1.epoch-1.default.\u{0661}.\(fingerprint).log",
            "1.epoch-1.default.1.\(fingerprint)\u{0}.log",
            "1.epoch-1.default.21.\(fingerprint).log",
            "1.epoch-1.default." + String(repeating: "1", count: 10_000) + ".\(fingerprint).log",
        ].map { "\($0).\(tag)" }

    @Test(arguments: strangeCursors)
    func `a cursor that this server did not issue leads to a snapshot and proves nothing`(text: String) throws {
        let world = try world()
        #expect(try world.page(Cursor(rawValue: text)) == .mustReset(.cursor))
        #expect(world.histories.lost.isEmpty)
    }

    @Test func `a cursor with any byte changed is not accepted`() throws {
        let world = try world()
        guard case .page(let page) = try world.page(nil, limit: 3) else {
            Issue.record("no page")
            return
        }
        let bytes = Array(page.cursor.rawValue.utf8)
        var refused = 0
        for index in bytes.indices {
            for byte in [UInt8(ascii: "0"), UInt8(ascii: "."), UInt8(ascii: "z"), UInt8(ascii: "A"), 0xC3] {
                var changed = bytes
                changed[index] = byte
                switch try world.page(Cursor(rawValue: String(decoding: changed, as: UTF8.self))) {
                case .mustReset(.epoch): #expect((2..<9).contains(index))
                case .mustReset(.cursor): refused += 1
                case .mustReset(.horizon): Issue.record("a cursor that was not made here was compared")
                case .page: #expect(changed == bytes)
                case .noAccess: Issue.record("a cursor changes nobody's rights")
                }
            }
        }
        #expect(refused > 100)
        #expect(world.histories.lost.isEmpty)
    }

    @Test func `a cursor of another space leads to a snapshot of the requested one`() throws {
        var policy = AuthorityPolicy()
        policy.access = AccessRules([.init(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let world = try world(policy: policy)
        #expect(try world.page(world.cursor(3), in: "north") == .mustReset(.cursor))
    }

    @Test func `a cursor of another epoch leads to a snapshot`() throws {
        let world = try world()
        guard case .page(let page) = try world.page(nil) else {
            Issue.record("no page")
            return
        }
        try world.authority.startNewEpoch(.fixed(Epoch(rawValue: "epoch-2")))
        #expect(try world.page(page.cursor) == .mustReset(.epoch))
        guard case .page(let again) = try world.page(nil) else {
            Issue.record("no page")
            return
        }
        #expect(again.epoch == Epoch(rawValue: "epoch-2"))
    }

    @Test(arguments: ["", "no dots.please", "epoch-1", String(repeating: "e", count: 65), "é"])
    func `an invalid or reused epoch is refused`(name: String) throws {
        let world = AuthorityWorld()
        let failure = #expect(throws: AuthorityError.self) {
            try world.authority.startNewEpoch(.fixed(Epoch(rawValue: name)))
        }
        #expect(failure?.code == .unavailable)
        #expect(try world.authority.epoch() == AuthorityWorld.epoch)
    }

    @Test func `a cursor below the horizon leads to a snapshot, and a cursor at the horizon continues`() throws {
        let world = try world()
        func cursor(_ version: Int64) throws -> Cursor { try world.cursor(version) }
        try world.authority.trimFeed(of: .default, before: Version(8))
        #expect(try world.page(cursor(6)) == .mustReset(.horizon))
        guard case .page(let page) = try world.page(cursor(7)), case .commits(let commits) = page.content else {
            Issue.record("no commits")
            return
        }
        #expect(commits.first?.version == Version(8))
        try world.authority.trimFeed(of: .default, to: FeedBound(commits: 5))
        #expect(try world.page(cursor(14)) == .mustReset(.horizon))
        guard case .page = try world.page(cursor(15)) else {
            Issue.record("no page")
            return
        }
        try world.authority.trimFeed(of: .default, before: Version(1))
        try world.authority.trimFeed(of: .default, before: Version(-5))
        try world.authority.trimFeed(of: .default, to: FeedBound(commits: 50))
        guard case .page = try world.page(cursor(15)) else {
            Issue.record("the horizon went somewhere")
            return
        }
        try world.authority.trimFeed(of: .default, before: Version(.max))
        #expect(try world.page(cursor(19)) == .mustReset(.horizon))
        guard case .page = try world.page(cursor(20)) else {
            Issue.record("no page")
            return
        }
    }

    @Test func `long feeds are trimmed in slices, and short feeds are not changed`() throws {
        var policy = AuthorityPolicy()
        policy.access = AccessRules([.init(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let world = try world(policy: policy)
        var device = Device(3)
        let note = try device.number([create("user", 70, ["username": .text("n")])], in: "north")
        _ = try world.response(device.request([note]), by: device.principal)
        let head = try world.head()
        var turns = 0
        while try world.authority.trimFeeds(to: FeedBound(commits: 5), slice: 4) {
            turns += 1
            try #require(turns < 50)
        }
        #expect(turns == (Int(head.rawValue) - 5 + 3) / 4)
        func response(after version: Int64) throws -> PullResponse {
            try world.page(world.cursor(version))
        }
        #expect(try response(after: head.rawValue - 6) == .mustReset(.horizon))
        #expect(try response(after: head.rawValue - 5) != .mustReset(.horizon))
        #expect(try !world.authority.trimFeeds(to: FeedBound(commits: 5)))
        let beginning = try world.cursor(0, in: "north")
        #expect(try world.page(beginning, in: "north") != .mustReset(.horizon))
    }

    @Test func `feeds with many bytes are trimmed in slices`() throws {
        let world = try world()
        var device = Device(2)
        for number in 50..<60 as Range<UInt64> {
            try world.push(&device, create("user", number, ["username": .text("u\(number)")]))
        }
        let head = try world.head()
        // The store in memory counts 64 bytes for each change, and each commit has one.
        let bound = FeedBound(bytes: 5 * 64)
        var turns = 0
        while try world.authority.trimFeeds(to: bound, slice: 4) {
            turns += 1
            try #require(turns < 50)
        }
        let extent = try world.store.read { view in try view.extent(of: .default) }
        #expect(extent == SpaceExtent(head: head, horizon: Version(head.rawValue - 5)))
        #expect(turns == (Int(head.rawValue) - 5 + 3) / 4)
    }

    @Test func `a snapshot restarts if its beginning falls below the horizon`() throws {
        let world = try world()
        guard case .page(let page) = try world.page(nil, limit: 2) else {
            Issue.record("no page")
            return
        }
        var device = Device(2)
        try world.push(&device, create("user", 50, ["username": .text("a")]))
        try world.authority.trimFeed(of: .default, before: Version(22))
        #expect(try world.page(page.cursor) == .mustReset(.horizon))
    }

    @Test func `a deleted record does not come back, even after its commit was trimmed`() throws {
        let world = try world()
        try world.authority.trimFeed(of: .default, before: Version(21))
        var old = Device(1, incarnation: 1)
        #expect(try world.push(&old, create("user", 9, ["username": .text("u9")])).rejection == nil, "the repeat")
        #expect(try world.push(&old, update("user", 9, "bio", .text("x"))).rejection == .recordDeleted)
        var other = Device(7)
        #expect(try world.push(&other, create("user", 9, ["username": .text("z")])).rejection == .recordDeleted)
        var mirror = Mirror()
        try mirror.pullAll(from: world, limit: 4)
        #expect(mirror.records[RecordAddress("user", id(9))] == nil)
    }

    @Test func `a client without read access can neither pull nor fetch`() throws {
        let world = try world()
        #expect(try world.page(nil, in: "secret") == .noAccess(AuthorityWorld.epoch))
        #expect(try world.fetch("user", .id(id(1)), in: "secret") == nil)
        #expect(
            try world.authority.readable(among: ["secret", .default], by: Principal(name: "anna")) == [.default])
    }

    @Test func `a live record can be fetched by id or uid, but only from its own space`() throws {
        var policy = AuthorityPolicy()
        policy.access = AccessRules([.init(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let world = try world(policy: policy)
        let byID = try world.fetch("user", .id(id(3)))
        #expect(byID?.uid == UID(3))
        #expect(byID?.values == [.text("u3"), .text("b3"), .null, .null, .null])
        #expect(byID?.version == Version(15))
        #expect(byID?.fieldVersions == [Version(4), Version(15), Version(4), Version(4), Version(4)])
        #expect(try world.fetch("user", .uid(UID(3))) == byID)
        #expect(try world.fetch("user", .id(id(9))) == nil)
        #expect(try world.fetch("user", .uid(UID(9))) == nil)
        #expect(try world.fetch("user", .id(id(3)), in: "other") == nil)
        #expect(try world.fetch("ghost", .id(id(3))) == nil)
    }

    @Test func `the hello response contains the epoch and the limits`() throws {
        let world = AuthorityWorld()
        let hello = try world.authority.hello(for: Principal(name: "anna"), now: AuthorityWorld.now)
        #expect(hello.epoch == AuthorityWorld.epoch)
        #expect(hello.limits == world.authority.policy.limits)
        #expect(hello.protocolVersions.contains(ProtocolVersion.current))
        #expect(hello.serverTime.wall == AuthorityWorld.now)
    }
}
