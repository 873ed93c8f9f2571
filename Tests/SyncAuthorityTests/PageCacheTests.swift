import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncSimulation
import SyncTestKit
import SyncWire
import TestRings
import Testing

@Suite struct PageCacheTests {
    private static let long = FieldValue.text(String(repeating: "x", count: 600))

    /// Returns a world with enough values that its pages are kept.
    private func world(over store: (any AuthorityStore)? = nil) throws -> AuthorityWorld {
        let world = AuthorityWorld(over: store)
        var device = Device(1)
        for number in 0..<20 as Range<UInt64> {
            try world.push(&device, create("user", number, ["username": .text("u\(number)"), "bio": Self.long]))
        }
        return world
    }

    @Test func `a page that another device has requested is not read again until its space changes`() throws {
        let world = try world()
        let first = try world.page(nil)
        // The state, the extent of the feed, and the fingerprint at its head.
        world.store.arm(after: 3)
        #expect(try world.page(nil, by: "eve") == first)
        world.store.disarm()
        var device = Device(2)
        try world.push(&device, update("user", 3, at: 5, "username", .text("changed"), seen: Version(99)))
        guard case .page(let page) = try world.page(nil), case .snapshot(let groups, _, _) = page.content else {
            Issue.record("no snapshot")
            return
        }
        #expect(page.head == Version(21))
        #expect(groups.flatMap(\.records).contains { $0.values.contains(.text("changed")) })
    }

    @Test func `the contents of a page are encoded once for all devices`() throws {
        let world = try world()
        for device in ["anna", "eve"] {
            guard case .page(let page) = try world.page(nil, by: device) else {
                Issue.record("no page")
                return
            }
            let form = try #require(page.sharedForm)
            var isEncoded = false
            let bytes = form.bytes {
                isEncoded = true
                return [UInt8](device.utf8)
            }
            #expect(isEncoded == (device == "anna"))
            #expect(bytes == Array("anna".utf8))
        }
    }

    @Test func `an answer is the same with a form that other answers have made`() throws {
        let world = try world()
        guard case .page(let first) = try world.page(nil), case .page(let second) = try world.page(nil, by: "eve")
        else {
            Issue.record("no page")
            return
        }
        let alone = PullPage(
            space: first.space, epoch: first.epoch, serverTime: first.serverTime, content: first.content,
            cursor: first.cursor, version: first.version, head: first.head, hasMore: first.hasMore)
        let expected = try PullCodec.encode(.page(alone), catalog: AuthorityWorld.catalog)
        #expect(try PullCodec.encode(.page(first), catalog: AuthorityWorld.catalog) == expected)
        #expect(try PullCodec.encode(.page(second), catalog: AuthorityWorld.catalog) == expected)
    }

    @Test func `an account without rights gets no page that another one has requested`() throws {
        var policy = AuthorityPolicy()
        policy.access = AccessRules([
            .init(principals: .only([Principal(name: "anna")]), spaces: .all, access: .readAndWrite)
        ])
        let base = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
        _ = try world(over: base)
        let guarded = AuthorityWorld(policy: policy, over: base)
        guard case .page = try guarded.page(nil) else {
            Issue.record("no page for the owner")
            return
        }
        #expect(try guarded.page(nil, by: "eve") == .noAccess(AuthorityWorld.epoch))
    }

    @Test func `a database with other commits of the same versions gets its own pages`() throws {
        let store = ReplaceableStore(InMemoryAuthorityStore(epoch: AuthorityWorld.epoch))
        let world = try world(over: store)
        let before = try world.page(nil)
        store.replace(by: InMemoryAuthorityStore(epoch: AuthorityWorld.epoch))
        var device = Device(3)
        for number in 100..<120 as Range<UInt64> {
            try world.push(&device, create("user", number, ["username": .text("v"), "bio": Self.long]))
        }
        let after = try world.page(nil)
        guard case .page(let old) = before, case .page(let new) = after, case .snapshot(let groups, _, _) = new.content
        else {
            Issue.record("no pages")
            return
        }
        #expect(old.head == new.head)
        #expect(groups.flatMap(\.records).map(\.id) == (100..<120).map { id($0) })
    }

    @Test(.ring(.test), arguments: TestRing.sample(0..<8, 0..<100) as Range<UInt64>)
    func `pages are those of an authority that keeps none`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, stream: "pages")
        let world = try world()
        var device = Device(4)
        for _ in 0..<60 {
            if random.below(3) == 0 {
                let number = UInt64(random.below(24))
                switch random.below(4) {
                case 0: try world.push(&device, delete("user", number))
                case 1: try world.push(&device, create("user", number, ["username": .text("n"), "bio": Self.long]))
                default:
                    let value = FieldValue.text("t\(random.below(3))")
                    let seen = Version(Int64(random.below(30)))
                    try world.push(&device, update("user", number, at: 9, "username", value, seen: seen))
                }
            }
            let fresh = Authority(
                store: world.store, catalog: AuthorityWorld.catalog, histories: CountedHistories())
            let head = try world.head().rawValue
            let cursor = random.below(3) == 0 ? nil : try world.cursor(Int64(random.below(Int(head) + 1)))
            var next = cursor
            for _ in 0..<3 {
                let request = PullRequest(space: .default, cursor: next, limit: [8, 15, 1_000][random.below(3)])
                let anna = Principal(name: "anna")
                let page = try world.authority.pull(request, by: anna, now: AuthorityWorld.now)
                #expect(try page == fresh.pull(request, by: anna, now: AuthorityWorld.now), "seed \(seed)")
                guard case .page(let page) = page, page.hasMore else { break }
                next = page.cursor
            }
        }
    }
}

/// A store that can be replaced by another one while it is used.
private final class ReplaceableStore: AuthorityStore {
    private let base: Guarded<InMemoryAuthorityStore>

    init(_ base: InMemoryAuthorityStore) {
        self.base = Guarded(base)
    }

    func replace(by other: InMemoryAuthorityStore) { base.withLock { $0 = other } }

    func read<Result>(_ body: (any AuthorityView) throws -> Result) throws -> Result {
        try base.withLock { $0 }.read(body)
    }

    func write<Result>(_ body: (any AuthorityTransaction) throws -> Result) throws -> Result {
        try base.withLock { $0 }.write(body)
    }
}
