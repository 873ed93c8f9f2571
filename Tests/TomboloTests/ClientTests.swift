import Foundation
import SyncTestKit
import Testing
import Tombolo

/// Tests opening and closing a client, using only the product's public names.
@Suite struct ClientTests {
    @Test func `a client opens in one call, and keeps its records`() async throws {
        let home = try Home()
        let id = try await withClient("todo", models: [Todo.self, Person.self], options: home.options) { client in
            let milk = try await client.create(Todo.self) { $0.title = "Milk" }
            #expect(client.status.phase == .notSyncing)
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

    @Test func `a deleted draft cannot be created`() async throws {
        let home = try Home()
        try await withClient("todo", models: [Person.self], options: home.options) { client in
            let draft = try client.draft(Person.self) { $0.name = "Arya" }
            try await draft.delete()
            let failure = await #expect(throws: ModelError.self) { try await draft.create() }
            #expect(failure?.code == .gone && failure?.message.contains("was deleted") == true)
            #expect(try await client.query(Person.self).count() == 0)
        }
    }

    @Test func `clients with different names use different folders`() async throws {
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
        let unknown = try await failure([Person.self], variables: ["TODO_COLORS": "many"])
        #expect(unknown?.advice == "syncctl config show lists the keys")

        let named = await #expect(throws: ClientError.self) { try await Client.open("My Todos", models: []) }
        #expect(named?.message.contains("'My Todos' is not a valid client name") == true)

        try await withClient("todo", models: [Todo.self, Person.self], options: home.options) { _ in }
        let other = try await failure([Person.self])
        #expect(other?.code == .store)
        #expect(other?.message.contains("collection todo") == true)
    }

    @Test(arguments: [ClientOptions.SyncMode.automatic, .manual])
    func `a runtime whose waits end at once does not sync, and says so`(mode: ClientOptions.SyncMode) async throws {
        let home = try Home()
        var options = home.options
        options.runtime = .mock()
        options.sync = mode
        // Without a server, nothing syncs.
        try await withClient("todo", models: [Person.self], options: options) { _ in }
        let server = try TestServer(models: [Person.self])
        for transport in [server.transport(for: "ned"), nil] {
            options.transport = transport
            let failure = await #expect(throws: ClientError.self) {
                try await Client.open(
                    "todo", models: [Person.self], server: transport == nil ? "http://127.0.0.1:1" : nil,
                    options: options)
            }
            #expect(failure?.code == .configuration)
            #expect(failure?.message.contains("a runtime whose waits end at once") == true)
            #expect(failure?.advice?.contains("SyncTestbed") == true)
        }
        options.sync = .off
        options.transport = server.transport(for: "ned")
        try await withClient("todo", models: [Person.self], options: options) { client in
            try await client.create(Person.self) { $0.name = "Ned" }
            #expect(client.status.phase == .notSyncing)
        }
    }

    @Test func `an error of the body is rethrown, and the client is closed`() async throws {
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

    private struct FirstNote: Model {
        static let collection = "note"
        let title = Field<String>("title", .required)
        let text = Field<String>("text")
    }

    /// The same collection of a later build: a field in the middle, another order, and a Swift property with another
    /// name.
    private struct LaterNote: Model {
        static let collection = "note"
        let body = Field<String>("text")
        let color = Field<String>("color", default: "white")
        let title = Field<String>("title", .required)
    }

    private struct RenamedNote: Model {
        static let collection = "note"
        let title = Field<String>("heading", .required)
        let text = Field<String>("text")
    }

    private struct RetypedNote: Model {
        static let collection = "note"
        let title = Field<String>("title", .required)
        let text = Field<Int>("text")
    }

    @Test func `a new field may stand anywhere in the declaration, and other changes are refused by name`() async throws
    {
        let home = try Home()
        let id = try await withClient("todo", models: [FirstNote.self], options: home.options) { client in
            try await client.create(FirstNote.self) { note in
                note.title = "a"
                note.text = "b"
            }.id
        }
        for _ in 0..<2 {
            try await withClient("todo", models: [LaterNote.self], options: home.options) { client in
                let note = try client.object(LaterNote.self, id: try #require(id))
                #expect(note.snapshot.map { [$0.title, $0.body, $0.color] } == ["a", "b", "white"])
                note.color = "white"
                try await note.save()
            }
        }
        func message(_ model: any Model.Type) async throws -> String? {
            await #expect(throws: ClientError.self) {
                try await Client.open("todo", models: [model], options: home.options)
            }?.message
        }
        let unknown = try await message(FirstNote.self)
        #expect(unknown?.contains("note has fields that this build does not declare: color") == true)
        #expect(unknown?.contains("to rename a field, rename the Swift property") == true)
        let other = try Home()
        try await withClient("todo", models: [FirstNote.self], options: other.options) { _ in }
        let renamed = await #expect(throws: ClientError.self) {
            try await Client.open("todo", models: [RenamedNote.self], options: other.options)
        }
        #expect(renamed?.message.contains("has the fields title, and this build has heading instead") == true)
        let retyped = await #expect(throws: ClientError.self) {
            try await Client.open("todo", models: [RetypedNote.self], options: other.options)
        }
        #expect(retyped?.message.contains("has text: text where this build has text: integer") == true)
        #expect(retyped?.code == .model && renamed?.code == .model && retyped?.advice == nil)
    }

    private struct StrictNote: Model {
        static let collection = "note"
        let title = Field<String>("title", .required)
        let text = Field<String>("text")
        let color = Field<String>("color", .required, default: "white")
    }

    @Test func `a new required field is refused as a server refuses it, and the older build goes on`() async throws {
        let home = try Home()
        let id = try await withClient("todo", models: [FirstNote.self], options: home.options) { client in
            try await client.create(FirstNote.self) { $0.title = "a" }.id
        }
        let failure = await #expect(throws: ClientError.self) {
            try await Client.open("todo", models: [StrictNote.self], options: home.options)
        }
        #expect(failure?.code == .model)
        // The words of the server.
        let problem = "note.color is new and required, but stored records have no value for it"
        #expect(failure?.message.contains(problem) == true, "\(failure?.message ?? "")")
        try await withClient("todo", models: [FirstNote.self], options: home.options) { client in
            #expect(client.status.pending == 1)
            let note = try client.object(FirstNote.self, id: try #require(id))
            note.text = "b"
            try await note.save()
            #expect(note.title == "a")
        }
    }
}
