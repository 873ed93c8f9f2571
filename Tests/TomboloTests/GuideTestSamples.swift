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
