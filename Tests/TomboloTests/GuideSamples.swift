import Foundation
import Logging
import SyncTestKit
import Testing
import Tombolo

// The code of the guides. `GuideTests` checks that each line of a guide occurs in one of these files. The code is
// compiled, and tests use its models, but the functions never run.

enum GuideModels {
    enum Priority: String, ModelEnum {
        case low, normal, high
        static let fallback = Priority.normal
    }

    struct Person: Model {
        static let collection = "person"
        let name = Field<String>("name", .required, .length(1...64), .rule(.name))
    }

    struct Todo: Model {
        static let collection = "todo"
        let title = Field<String>("title", .required, .length(1...200))
        let isDone = Field<Bool>("is_done", default: false)
        let priority = Field<Priority>("priority", default: .normal)
        let due = Field<Date?>("due", .indexed)
        let tags = Field<JSON<[String]>>("tags", default: JSON([]))
        let owner = Reference<Person>("owner", .indexed)
        public init() {}
    }

    struct Badge: Model {
        static let collection = "badge"
        let title = Field<String>("title", .required, .rule(.capital))
    }

    struct Invoice: Model {
        static let collection = "invoice"
        static let deleteRule = DeleteRule.editWins
        let amount = Field<Double>("amount", .merge(.serverWins))
    }
}

extension FieldRule {
    static let capital = FieldRule(name: "capital") { text in
        text.first?.isUppercase == true ? nil : "must begin with a capital letter"
    }
}

/// The functions and statements of the guides.
struct GuideSamples {
    typealias Todo = GuideModels.Todo
    typealias Person = GuideModels.Person

    struct TodoApp {
        static func main() async {
            do {
                try await withClient("todo", models: [Todo.self, Person.self]) { client in
                    if let title = CommandLine.arguments.dropFirst().first {
                        try await client.create(Todo.self) { $0.title = title }
                    } else {
                        for try await todos in client.query(Todo.self).where({ !$0.isDone }).updates {
                            print(todos.map(\.title))
                        }
                    }
                }
            } catch {
                FileHandle.standardError.write(Data("todo: \(error)\n".utf8))
                exit(1)
            }
        }
    }

    func readme() async throws {
        try await withClient("todo", models: [Todo.self]) { client in
            let milk = try await client.create(Todo.self) { $0.title = "Milk" }
            milk.isDone = true
            let receipt = try await milk.save()
            try await receipt.confirmed()

            for try await todos in client.query(Todo.self).where({ !$0.isDone }).updates {
                print(todos.map(\.title))
            }
        }
    }

    func token(_ login: any Login) async throws {
        try await withClient(
            "todo", models: [Todo.self, Person.self], server: "https://todo.example.org",
            token: login.freshToken
        ) { client in
            for await status in client.statusUpdates { print(status) }
        }
    }

    func ownLifetime() async throws {
        let client = try await Client.open("todo", models: [Todo.self, Person.self])
        await client.close()
    }

    func use(_ client: Client, _ milk: Live<Todo>) async throws {
        milk.title = "Oat milk"
        print(milk.edits.fields)  // ["title"]
        milk.revert()
        milk.isDone = true
        let receipt = try await milk.save()  // durable on this device
        try await receipt.confirmed()  // accepted by the server
        try await milk.delete()
    }

    func draftsAndLists(_ client: Client, _ milk: Live<Todo>) async throws {
        let ned = try client.draft(Person.self) { $0.name = "Ned" }
        let oats = try await client.create(Todo.self) { todo in
            todo.title = "Oats"
            todo.owner = ned
        }
        print(oats)

        var tags = milk.tags.value ?? []
        tags.append("dairy")
        milk.tags = JSON(tags)
    }

    func transaction(_ client: Client, _ bread: Live<Todo>, _ old: Live<Todo>) async throws {
        let receipt = try await client.write { tx in
            tx.create(Todo.self) { $0.title = "Milk" }
            tx.edit(bread) { $0.isDone = true }
            tx.delete(old)
        }
        try await receipt.confirmed()
    }

    func query(_ client: Client, _ ned: Live<Person>, _ tomorrow: Date) async throws {
        let urgent = client.query(Todo.self)
            .where { !$0.isDone && ($0.due < tomorrow || $0.priority == .high) }
            .sorted { [$0.due.ascending, $0.title.descending] }
        let page = try await urgent.limit(50).all()
        let next = try await urgent.after(page.last).limit(50).all()
        let count = try await urgent.count()
        let mine = client.query(Todo.self).where { $0.owner == ned && $0.title.hasPrefix("M") }
        let some = client.query(Todo.self).where { $0.priority.in([.low, .normal]) && !$0.due.isNil }
        print(next.count, count, mine, some)
    }

    func observe(_ client: Client, _ milk: Live<Todo>) async throws {
        for await todo in milk.snapshots {
            print(todo.title)
        }
        for try await change in client.query(Todo.self).changes {
            print(change.inserted, change.removed, change.moved)
            for (todo, fields) in change.changed { print(todo, fields.fields) }
        }
    }

    func waitUntilInSync(_ client: Client) async throws {
        try await client.synced(within: .seconds(30))
    }

    func rejections(_ client: Client) async throws {
        for try await rejection in client.rejections {
            print(rejection.message)
            try await rejection.edit { edit in
                for todo in edit.objects(Todo.self) { todo.title = "Milk" }
            }
        }
    }

    func decide(_ rejection: RejectedWrite, _ todo: Live<Todo>) throws {
        try rejection.retry()  // sends the same values again
        try rejection.discard()  // drops them
        if case .rejected(let rejection) = try todo.sync { print(rejection) }
    }

    func fields(_ rejection: RejectedWrite, _ todo: Live<Todo>) -> Bool {
        let isTitleWrong = rejection.fields.contains { $0.record == todo.id && $0.isField(todo.fields.title) }
        return isTitleWrong
    }

    func serverRow(_ rejection: RejectedWrite, _ todo: Live<Todo>) throws {
        for change in rejection.changes {
            let attempted = change.value(todo.fields.title)
            let onServer = try rejection.serverRow(Todo.self, of: change)?.title
            print("\(attempted ?? "") was rejected, and the server has \(onServer ?? "no such record")")
        }
    }

    func spaces() async throws {
        var options = ClientOptions()
        options.spaces = [.default, "team_7"]
        let client = try await Client.open("todo", models: [Todo.self, Person.self], options: options)
        let milk = try await client.create(Todo.self, in: "team_7") { $0.title = "Milk" }
        print(try milk.space ?? .default, try client.spaces)
    }

    func follow(_ client: Client) async throws {
        try client.follow("team_7")
        for await status in client.statusUpdates {
            if status.spaces.contains(where: { $0.space == "team_7" && $0.isComplete }) { break }
        }
        try client.unfollow("team_7")
    }

    func tokens(_ login: any Login) async throws {
        var options = ClientOptions()
        options.tokenTimeout = .seconds(10)
        options.tokenExpiry = { token in login.expiry(of: token) }
        let client = try await Client.open(
            "todo", models: [Todo.self], server: "https://todo.example.org", token: login.freshToken, options: options)
        for await status in client.statusUpdates where status.phase == .needsToken {
            await login.showSignIn()
            await client.refreshToken()
        }
    }

    func inject() throws -> ClientOptions {
        var options = ClientOptions()
        options.folder = "/var/lib/todo"
        options.sync = .manual
        options.logger = Logger(label: "todo")
        let server = try TestServer(models: [Todo.self, Person.self])
        let (transport, link) = (server.transport(for: "ned"), FakeReachability())
        options.folder = NSTemporaryDirectory() + "todo-test-\(UUID())"
        options.transport = transport
        options.reachability = link
        link.setOffline()
        transport.script(.push, .dropResponse, .captivePortal)
        link.setOnline()
        options.runtime = .mock()
        options.sync = .off
        var recipes = ClientRecipes.live
        recipes.machine.reachability = { _ in FakeReachability() }
        options.recipes = recipes
        return options
    }

    func addGroceries(to todos: ModelProvider<Todo>) async throws {
        try await todos.draft { $0.title = "Milk" }.create()
    }

    func testbed() throws {
        let testbed = try SyncTestbed(models: [Todo.self, Person.self], spaces: [.default, "team_7"])
        try testbed.finish()
    }

    func merges(_ client: Client, _ todo: Live<Todo>) async throws {
        for try await merge in client.merges {
            for field in merge.fields where field.lostBy.isThisDevice {
                print(field.lost(todo.fields.title) ?? "", "gave way to", field.kept(todo.fields.title) ?? "nothing")
            }
            if merge.noticesRemovedFrom == nil { try merge.restore() } else { try merge.accept() }
        }
    }
}

protocol Login: Sendable {
    func freshToken() async throws -> String?
    func expiry(of token: String) -> Date?
    func showSignIn() async
}
