import Foundation
import SyncTestKit
import TestRings
import Testing
import Tombolo

/// Tests the background sync of a client with the test server of the test kit.
@Suite struct ClientSyncTests {
    @Test(.timeLimit(.minutes(10)))
    func `two clients of one server get each other's records`() async throws {
        let (home, other) = (try Home(), try Home())
        let server = try TestServer(models: [Todo.self, Person.self])
        var (options, others) = (home.options, other.options)
        options.transport = server.transport(for: "ned")
        others.transport = server.transport(for: "ned")
        options.reachability = FakeReachability()
        others.reachability = FakeReachability()
        let phone = try await Client.open("todo", models: [Todo.self, Person.self], options: options)
        let tablet = try await Client.open("todo", models: [Todo.self, Person.self], options: others)
        let milk = try await phone.create(Todo.self) { $0.title = "Milk" }
        #expect(try await milk.save().isEmpty)
        let seen = try tablet.object(Todo.self, id: try #require(milk.id))
        try await seen.arrival()
        #expect(seen.title == "Milk")
        seen.isDone = true
        try await seen.save().confirmed()
        for await todo in milk.snapshots where todo.isDone { break }
        for await status in phone.statusUpdates where status.isInSync && status.phase == .live { break }
        guard case .synced = try milk.sync else {
            Issue.record("\(try milk.sync)")
            return
        }
        await phone.close()
        await tablet.close()
    }

    @Test(.ring(.test), .timeLimit(.minutes(10)))
    func `a second process takes over the sync when the first one ends`() async throws {
        let home = try Home()
        let server = try TestServer(models: [Person.self])
        var options = home.options
        options.transport = server.transport(for: "ned")
        options.reachability = FakeReachability()
        let first = try await Client.open("todo", models: [Person.self], options: options)
        for await status in first.statusUpdates where status.phase == .live { break }
        let second = try await Client.open("todo", models: [Person.self], options: options)
        for await status in second.statusUpdates where status.phase == .otherProcess { break }
        let ned = try await second.create(Person.self) { $0.name = "Ned" }
        let seen = try first.object(Person.self, id: try #require(ned.id))
        try await seen.arrival()
        await first.close()
        for await status in second.statusUpdates where status.phase == .live && status.isInSync { break }
        await second.close()
    }

    @Test(.ring(.test), .timeLimit(.minutes(10)))
    func `an older build ends its sync when a newer one has changed the database, which then syncs`() async throws {
        let home = try Home()
        let server = try TestServer(models: [Todo.self, Person.self])
        var options = home.options
        options.transport = server.transport(for: "ned")
        options.reachability = FakeReachability()
        let older = try await Client.open("todo", models: [Person.self], options: options)
        for await status in older.statusUpdates where status.phase == .live { break }
        let newer = try await Client.open("todo", models: [Todo.self, Person.self], options: options)
        try await newer.create(Todo.self) { $0.title = "Milk" }
        for await status in older.statusUpdates
        where status.phase == .blocked && status.reason.hasPrefix("the sync has ended: ") {
            break
        }
        try await newer.synced()
        #expect(newer.status.phase == .live)
        for client in [older, newer] { await client.close() }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a program waits until everything is in sync, whichever client of the database syncs it`() async throws {
        let (home, other) = (try Home(), try Home())
        let server = try TestServer(models: [Person.self])
        var (options, others) = (home.options, other.options)
        options.transport = server.transport(for: "ned")
        others.transport = server.transport(for: "ned")
        let link = FakeReachability()
        options.reachability = link
        others.reachability = FakeReachability()
        let tablet = try await Client.open("todo", models: [Person.self], options: others)
        try await tablet.create(Person.self) { $0.name = "Ned" }
        try await tablet.synced()
        let first = try await Client.open("todo", models: [Person.self], options: options)
        try await first.synced()
        #expect(try await first.query(Person.self).count() == 1)
        #expect(first.status.isInSync && first.status.lastInSync != nil)

        let second = try await Client.open("todo", models: [Person.self], options: options)
        for await status in second.statusUpdates where status.phase == .otherProcess { break }
        try await second.synced()
        #expect(second.status.isInSync && second.status.lastInSync != nil)
        let arya = try await second.create(Person.self) { $0.name = "Arya" }
        try await second.synced()
        #expect(arya.uid >= 0)
        options.sync = .off
        let reader = try await Client.open("todo", models: [Person.self], options: options)
        #expect(reader.status.phase == .notSyncing && reader.status.isInSync)
        try await reader.synced()
        await reader.close()

        link.setOffline()
        for await status in first.statusUpdates where status.phase == .offline { break }
        try await second.create(Person.self) { $0.name = "Rob" }
        #expect(!second.status.isInSync)
        for client in [first, second] {
            let failure = await #expect(throws: ModelError.self) { try await client.synced(within: .milliseconds(20)) }
            #expect(failure?.code == .notInSync)
            #expect(failure?.message.contains("1 pending") == true)
        }
        let wait = Task { try await second.synced() }
        wait.cancel()
        let stopped = await #expect(throws: ModelError.self) { try await wait.value }
        #expect(stopped?.code == .interrupted)
        link.setOnline()
        try await second.synced()
        for client in [first, second, tablet] { await client.close() }
    }

    /// Regression test: the wait ended with the state before the sync that it had requested.
    @Test(.timeLimit(.minutes(10)))
    func `after a wait for the sync, the device has what the server had before it`() async throws {
        let server = try TestServer(models: [Person.self])
        var clients: [(home: Home, client: Client)] = []
        for _ in 0..<2 {
            let home = try Home()
            var options = home.options
            options.transport = server.transport(for: "ned")
            options.reachability = FakeReachability()
            clients.append((home, try await Client.open("todo", models: [Person.self], options: options)))
        }
        let (writer, reader) = (clients[0].client, clients[1].client)
        try await reader.synced()
        for number in 1...50 {
            try await writer.create(Person.self) { $0.name = "Person \(number)" }.create().confirmed()
            try await reader.synced()
            #expect(try await reader.query(Person.self).count() == number)
        }
        for (_, client) in clients { await client.close() }
    }

    @Test func `a wait for a sync that can never come ends at once`() async throws {
        let home = try Home()
        let alone = try await Client.open("todo", models: [Person.self], options: home.options)
        let failure = await #expect(throws: ModelError.self) { try await alone.synced() }
        #expect(failure?.code == .noServer)
        await alone.close()
        let closed = await #expect(throws: ModelError.self) { try await alone.synced() }
        #expect(closed?.code == .interrupted)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a state that another process has not stored lately does not end a wait`() async throws {
        let home = try Home()
        let server = try TestServer(models: [Person.self])
        var options = home.options
        options.transport = server.transport(for: "ned")
        options.reachability = FakeReachability()
        try await withClient("todo", models: [Person.self], options: options) { try await $0.synced() }
        // A clock of another year.
        options.runtime = .mock()
        options.sync = .off
        try await withClient("todo", models: [Person.self], options: options) { client in
            #expect(client.status.isInSync)
            let failure = await #expect(throws: ModelError.self) { try await client.synced(within: .seconds(30)) }
            #expect(failure?.code == .notInSync)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a client that syncs by hand keeps its writes until the program asks for a sync`() async throws {
        let (home, other) = (try Home(), try Home())
        let server = try TestServer(models: [Person.self])
        var (options, others) = (home.options, other.options)
        options.transport = server.transport(for: "ned")
        others.transport = server.transport(for: "ned")
        options.reachability = FakeReachability()
        others.reachability = FakeReachability()
        options.sync = .manual
        others.sync = .off
        let phone = try await Client.open("todo", models: [Person.self], options: options)
        #expect(phone.status.phase == .notSyncing)
        #expect(phone.status.reason.contains("syncNow()"))
        try await phone.create(Person.self) { $0.name = "Ned" }
        #expect(phone.status.pending == 1)
        phone.syncNow()
        for await status in phone.statusUpdates where status.isInSync { break }
        #expect(phone.status.pending == 0)
        phone.syncNow()
        await phone.close()
        phone.syncNow()

        let never = try await Client.open("todo", models: [Person.self], options: others)
        never.syncNow()
        #expect(never.status.phase == .notSyncing)
        await never.close()
    }

    @Test(.timeLimit(.minutes(10)))
    func `a client keeps several spaces in sync, and each record stays in its own`() async throws {
        let (home, other) = (try Home(), try Home())
        let server = try TestServer(models: [Todo.self, Person.self], spaces: [.default, "team"])
        var (options, others) = (home.options, other.options)
        options.transport = server.transport(for: "ned")
        others.transport = server.transport(for: "rob")
        others.spaces = ["team"]
        options.reachability = FakeReachability()
        others.reachability = FakeReachability()
        let phone = try await Client.open("todo", models: [Todo.self, Person.self], options: options)
        let tablet = try await Client.open("todo", models: [Todo.self, Person.self], options: others)
        let own = try await phone.create(Person.self) { $0.name = "Ned" }
        let shared = try await phone.create(Todo.self, in: "team") { $0.title = "Milk" }
        #expect(try own.space == .default)
        #expect(try shared.space == "team")
        let seen = try tablet.object(Todo.self, id: try #require(shared.id))
        try await seen.arrival()
        seen.isDone = true
        try await seen.save().confirmed()
        for await todo in shared.snapshots where todo.isDone { break }
        #expect(try Set(phone.spaces) == [.default, "team"])
        let mixed = await #expect(throws: ModelError.self) {
            try await phone.write { tx in
                tx.edit(own) { $0.name = "Eddard" }
                tx.edit(shared) { $0.title = "Bread" }
            }
        }
        #expect(mixed?.code == .invalidValue)
        #expect(mixed?.message.contains("default and team") == true)
        own.revert()
        shared.revert()
        await #expect(throws: ModelError.self) {
            try await phone.create(Todo.self, in: "team") { todo in
                todo.title = "Eggs"
                todo.owner = own
            }
        }
        await phone.close()
        await tablet.close()
    }

    @Test(.timeLimit(.minutes(10)))
    func `a client follows a space while it runs, and leaves it`() async throws {
        let (home, other) = (try Home(), try Home())
        let server = try TestServer(models: [Person.self], spaces: [.default, "team"])
        var (options, others) = (home.options, other.options)
        options.transport = server.transport(for: "ned")
        others.transport = server.transport(for: "rob")
        options.reachability = FakeReachability()
        others.reachability = FakeReachability()
        let tablet = try await Client.open("todo", models: [Person.self], options: others)
        let arya = try await tablet.create(Person.self, in: "team") { $0.name = "Arya" }
        try await arya.save().confirmed()
        var phone = try await Client.open("todo", models: [Person.self], options: options)
        for await status in phone.statusUpdates where status.isInSync { break }
        #expect(phone.status.spaces.map(\.space) == [.default])

        try phone.follow("team")
        // The engine may not have noticed the new space yet. Even then, the status must not claim to be in sync.
        #expect(!phone.status.isInSync || phone.status.spaces.allSatisfy(\.isComplete))
        for await status in phone.statusUpdates where status.isInSync { break }
        #expect(phone.status.spaces.map(\.isComplete) == [true, true])
        #expect(try await phone.query(Person.self).all().map(\.name) == ["Arya"])
        await phone.close()
        options.sync = .off
        phone = try await Client.open("todo", models: [Person.self], options: options)
        #expect(try phone.spaces == [.default, "team"])
        let rob = try await phone.create(Person.self, in: "team") { $0.name = "Rob" }
        let refused = #expect(throws: ModelError.self) { try phone.unfollow("team") }
        #expect(refused?.code == .unsentWrites)
        await phone.close()

        options.sync = .automatic
        phone = try await Client.open("todo", models: [Person.self], options: options)
        for await status in phone.statusUpdates where status.isInSync { break }
        try phone.unfollow("team")
        #expect(try phone.spaces == [.default])
        #expect(try await phone.query(Person.self).count() == 0)
        for await status in phone.statusUpdates where status.spaces.map(\.space) == [.default] { break }
        await phone.close()
        #expect(try await tablet.query(Person.self).count() == 2)
        await tablet.close()
        _ = rob
    }

    @Test(.timeLimit(.minutes(10)))
    func `a token is renewed before it expires`() async throws {
        let home = try Home()
        var options = home.options
        options.tokenExpiry = { $0 == "first" ? Date(timeIntervalSinceNow: 30) : nil }
        let (calls, call) = AsyncStream.makeStream(of: Void.self)
        let client = try await Client.open(
            "todo", models: [Person.self], server: "http://127.0.0.1:1",
            token: {
                call.yield()
                return await count.next() == 1 ? "first" : "second"
            }, options: options)
        var made = calls.makeAsyncIterator()
        // The client calls the closure at the start, and again 30 seconds before the expiry, which is immediately.
        await made.next()
        await made.next()
        await client.close()
    }

    private let count = Count()

    @Test(.ring(.test), .timeLimit(.minutes(10)))
    func `a token closure that returns nil, throws, or hangs leaves the client working`() async throws {
        let home = try Home()
        var options = home.options
        options.tokenTimeout = .milliseconds(50)
        let answers = Answers()
        let client = try await Client.open(
            "todo", models: [Person.self], server: "http://127.0.0.1:1", token: { try await answers.next() },
            options: options)
        try await client.create(Person.self) { $0.name = "Ned" }
        for _ in 0..<5 { await client.refreshToken() }
        #expect(client.status.pending == 1)
        // The fourth call hangs. A refresh after its timeout makes another call.
        #expect(await answers.calls >= 5)
        await client.close()
    }
}

private actor Count {
    private var value = 0

    func next() -> Int {
        value += 1
        return value
    }
}

/// A token closure whose calls, in order, return nil, throw an error, return a token, and then hang.
private actor Answers {
    private(set) var calls = 0
    private let never = AsyncStream.makeStream(of: Void.self)

    struct Unavailable: Error {}

    func next() async throws -> String? {
        calls += 1
        switch calls {
        case 1: return nil
        case 2: throw Unavailable()
        case 3: return "token"
        default:
            for await _ in never.stream {}
            return nil
        }
    }
}
