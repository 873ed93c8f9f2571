import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

/// Two servers over one database, while they are upgraded: the old one does not know the models of the new one.
@Suite struct StoredModelsTests {
    private let store = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
    private let old: AuthorityWorld
    private let new: Authority
    private let newCatalog: SchemaCatalog

    init() throws {
        old = AuthorityWorld(over: store)
        newCatalog = SchemaCatalog(
            AuthorityWorld.catalog.models + [
                ModelSchema(
                    collection: "badge",
                    fields: [.text("name", required: true), .reference("owner", to: "user", required: true)])
            ])
        try store.write { transaction in try transaction.set(AuthorityWorld.catalog) }
        new = Authority(store: store, catalog: newCatalog, histories: CountedHistories())
        // The old server has answered before the new one starts.
        var device = Device(1)
        try old.push(&device, create("user", 1, ["username": .text("ann")]))
        let catalog = newCatalog
        try store.write { transaction in try transaction.set(catalog) }
    }

    /// Creates a badge of the user, through the new server.
    private func createBadge() throws {
        var device = Device(2)
        let badge = create("badge", 9, ["name": .text("gold"), "owner": .reference(id(1))])
        let request = device.request([try device.number([badge])])
        _ = try new.push(request, by: device.principal, now: AuthorityWorld.now)
    }

    @Test func `a snapshot from an old server contains the collections that it does not know`() throws {
        try createBadge()
        guard case .page(let page) = try old.page(nil), case .snapshot(let groups, _, isLast: true) = page.content
        else {
            Issue.record("no snapshot of one page")
            return
        }
        #expect(groups.map(\.collection) == ["badge", "user"])
        let badge = try #require(groups.first?.records.first)
        #expect(badge.unknown == ["name": .text("gold"), "owner": .reference(id(1))])
        guard
            case .page(let newer) = try new.pull(
                PullRequest(space: .default, cursor: nil, limit: 100), by: Principal(name: "anna"),
                now: AuthorityWorld.now)
        else {
            Issue.record("no page")
            return
        }
        #expect(newer.version == page.version)
    }

    @Test func `a snapshot that ends a page within an unknown collection continues there`() throws {
        try createBadge()
        guard case .page(let first) = try old.page(nil, limit: 1), first.hasMore,
            case .page(let second) = try old.page(first.cursor, limit: 1),
            case .snapshot(let groups, isFirst: false, _) = second.content
        else {
            Issue.record("no two pages")
            return
        }
        #expect(groups.map(\.collection) == ["user"])
    }

    @Test func `an old server does not delete a record that an unknown collection requires`() throws {
        try createBadge()
        var device = Device(1)
        device.next = TransactionNumber.first.next
        let outcome = try old.push(&device, delete("user", 1, at: 5))
        #expect(outcome.rejection == .stillReferenced)
        #expect(try old.value("user", 1, "username") == .text("ann"))
    }

    @Test func `an old server finds a record of an unknown collection by its id, and refuses writes to it`() throws {
        try createBadge()
        #expect(try old.fetch("badge", .id(id(9)))?.unknown.isEmpty == false)
        #expect(try old.fetch("medal", .id(id(9))) == nil)
        var device = Device(3)
        let outcome = try old.push(&device, update("badge", 9, "name", .text("iron")))
        #expect(outcome.rejection == .unknownCollection)
    }

    @Test func `a server stores its models again when the database has gone back to a state before them`() throws {
        // The new server has read the models that were stored later.
        _ = try new.pull(
            PullRequest(space: .default, cursor: nil, limit: 100), by: Principal(name: "anna"), now: AuthorityWorld.now)
        try store.write { transaction in try transaction.set(AuthorityWorld.catalog) }

        try createBadge()

        #expect(try store.read { view in try view.catalog() } == newCatalog)
        guard case .page(let page) = try old.page(nil), case .snapshot(let groups, _, _) = page.content else {
            Issue.record("no snapshot")
            return
        }
        #expect(groups.map(\.collection) == ["badge", "user"])
        var device = Device(1)
        device.next = TransactionNumber.first.next
        #expect(try old.push(&device, delete("user", 1, at: 5)).rejection == .stillReferenced)
    }

    @Test func `a server stores fields again, and keeps those that only another server knows`() throws {
        let extended = ModelSchema(
            collection: "user", fields: AuthorityWorld.catalog["user"]!.fields + [.text("motto")])
        let others = AuthorityWorld.catalog.models.filter { $0.collection != "user" }
        let third = Authority(
            store: store, catalog: SchemaCatalog([extended] + others), histories: CountedHistories())
        var device = Device(3)
        let request = device.request([try device.number([update("user", 1, "motto", .text("nan"))])])

        _ = try third.push(request, by: device.principal, now: AuthorityWorld.now)

        let stored = try #require(try store.read { view in try view.catalog() })
        #expect(stored["badge"] == newCatalog["badge"])
        #expect(stored["user"] == extended)
    }

    @Test func `a server refuses pushes when the database has gone to models that contradict its own`() throws {
        let other = ModelSchema(collection: "badge", fields: [.integer("name")])
        try store.write { transaction in
            try transaction.set(SchemaCatalog(AuthorityWorld.catalog.models + [other]))
        }
        #expect {
            try createBadge()
        } throws: { error in
            (error as? AuthorityError)?.description.contains("badge.name") == true
        }
        #expect(
            try new.fetch(
                FetchRequest(space: .default, collection: "badge", key: .id(id(9))), by: Principal(name: "anna"),
                now: AuthorityWorld.now) == nil)
    }
}
