import Foundation
import SyncTestKit
import Testing
import Tombolo

/// Opening and closing a client, with the product's names alone.
@Suite struct ClientTests {
    @Test func `a client opens in one call, and keeps its records`() async throws {
        let home = try Home()
        let id = try await withClient("todo", models: [Todo.self, Person.self], options: home.options) { client in
            let milk = try await client.create(Todo.self) { $0.title = "Milk" }
            #expect(client.status.phase == .alone)
            #expect(!client.status.needsAttention)
            return try #require(milk.id)
        }
        #expect(FileManager.default.fileExists(atPath: home.path + "/.local/share/todo/tombolo.sqlite"))
        try await withClient("todo", models: [Todo.self, Person.self], options: home.options) { client in
            let milk = try client.object(Todo.self, id: id)
            #expect(milk.title == "Milk")
            #expect(try await client.query(Todo.self).all() == [milk])
            let failure = await #expect(throws: ModelError.self) { try await milk.create().confirmed() }
            #expect(failure?.code == .alreadyExists)
        }
    }

    @Test func `each name has a folder of its own`() async throws {
        let home = try Home()
        let todo = try await Client.open("todo", models: [Todo.self, Person.self], options: home.options)
        let people = try await Client.open("people", models: [Person.self], options: home.options)
        try await todo.create(Person.self) { $0.name = "Ned" }
        #expect(try await people.query(Person.self).count() == 0)
        await todo.close()
        await people.close()
        await people.close()
    }

    @Test func `a closed client throws, and a forgotten one is cleaned up`() async throws {
        let home = try Home()
        var client: Client? = try await Client.open("todo", models: [Person.self], options: home.options)
        let ned = try await #require(client).create(Person.self) { $0.name = "Ned" }
        let lists = try #require(client).query(Person.self).updates
        var updates = lists.makeAsyncIterator()
        #expect(try await updates.next()?.count == 1)
        await client?.close()
        #expect(try await updates.next() == nil)
        ned.name = "Eddard"
        let failure = await #expect(throws: ModelError.self) { try await ned.save() }
        #expect(failure?.code == .store)
        #expect(ned.name == "Eddard")

        client = try await Client.open("todo", models: [Person.self], options: home.options)
        client = nil
        try await withClient("todo", models: [Person.self], options: home.options) { client in
            let count = try await client.query(Person.self).count()
            #expect(count == 1)
        }
    }

    @Test func `an error at opening is typed, and says what to do`() async throws {
        let home = try Home()
        func failure(
            _ models: [any Model.Type], server: String? = nil, variables: [String: String] = [:]
        ) async throws -> ClientError? {
            var options = home.options
            options.variables.merge(variables) { $1 }
            return await #expect(throws: ClientError.self) {
                try await Client.open("todo", models: models, server: server, options: options)
            }
        }
        let target = try await failure([Todo.self])
        #expect(target?.code == .model)
        #expect(target?.message.contains("add Person.self to it") == true)
        let url = try await failure([Person.self], server: "ftp://example.org")
        #expect(url?.code == .configuration)
        let variable = try await failure([Person.self], variables: ["TODO_SERVER_ULR": "http://[::1]"])
        #expect(variable?.message.contains("TODO_SERVER_ULR") == true)
        #expect(variable?.advice == "did you mean TODO_SERVER_URL?")

        let named = await #expect(throws: ClientError.self) { try await Client.open("My Todos", models: []) }
        #expect(named?.message.contains("'My Todos' is not a name") == true)

        try await withClient("todo", models: [Todo.self, Person.self], options: home.options) { _ in }
        let other = try await failure([Person.self])
        #expect(other?.code == .store)
        #expect(other?.message.contains("collection todo") == true)
    }

    @Test func `what the body throws comes out, and the client is closed`() async throws {
        struct Stop: Error {}
        let home = try Home()
        let kept = Kept()
        await #expect(throws: Stop.self) {
            try await withClient("todo", models: [Person.self], options: home.options) { client in
                kept.client = client
                throw Stop()
            }
        }
        #expect(kept.client?.status.phase == .stopped)
    }

    private final class Kept {
        var client: Client?
    }
}
