import SyncTestKit
import Testing
import Tombolo

/// The test in the guide "Get started".
@Suite struct TodoTests {
    typealias Todo = GuideModels.Todo
    typealias Person = GuideModels.Person

    @Test func `a todo that is written offline reaches the other device`() throws {
        let testbed = try SyncTestbed(models: [Todo.self, Person.self])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        phone.isOnline = false
        try testbed.run { try await phone.create(Todo.self) { $0.title = "Milk" } }
        phone.isOnline = true
        try testbed.settle()
        #expect(try testbed.run { try await tablet.query(Todo.self).snapshots().map(\.title) } == ["Milk"])
        try testbed.finish()
    }
}

/// The tests in the guide "Test your application". In the guide, `todoRules` is a function of the application's
/// library.
@Suite struct TodoRuleTests {
    typealias Todo = GuideModels.Todo
    typealias Person = GuideModels.Person

    @Test func `the server rejects spam`() throws {
        let testbed = try SyncTestbed(models: [Todo.self, Person.self], rules: todoRules)
        let phone = try testbed.device("phone", account: "ned")
        try testbed.run { try await phone.create(Todo.self) { $0.title = "spam" } }
        try testbed.settle()
        let rejection = try #require(try phone.rejections.all().first)
        #expect(rejection.fields.map(\.field) == ["title"])
        try rejection.discard()
        try testbed.finish()
    }

    @Test(.timeLimit(.minutes(10)))
    func `a test server has the rules of the real one`() async throws {
        let home = try Home()
        let server = try TestServer(models: [Todo.self, Person.self], rules: todoRules)
        var options = home.options
        options.transport = server.transport(for: "ned")
        options.reachability = FakeReachability()
        try await withClient("todo", models: [Todo.self, Person.self], options: options) { client in
            let todo = try await client.create(Todo.self) { $0.title = "spam" }
            for await status in client.statusUpdates where status.rejected == 1 { break }
            guard case .rejected(let rejection) = try todo.sync else {
                Issue.record("\(try todo.sync)")
                return
            }
            #expect(rejection.code.rawValue == "spam")
        }
    }
}

extension TodoRuleTests {
    func todoRules(_ server: inout ServerApplication) {
        server.validate(Todo.self) { write in
            guard write.proposed?.title != "spam" else {
                throw ServerRejection(code: "spam", message: "'spam' is not a title", fields: ["title"])
            }
        }
    }
}
