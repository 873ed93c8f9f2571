import SyncTestKit
import Testing
import Tombolo

/// The test in the guide "Get started".
@Suite struct TodoTests {
    typealias Todo = GuideModels.Todo
    typealias Person = GuideModels.Person

    @Test func `a todo that is written offline reaches the other device`() throws {
        let lab = try SyncTestbed(models: [Todo.self, Person.self])
        let (phone, tablet) = (try lab.device("phone"), try lab.device("tablet"))
        phone.isOnline = false
        try lab.run { try await phone.create(Todo.self) { $0.title = "Milk" } }
        phone.isOnline = true
        try lab.settle()
        #expect(try lab.run { try await tablet.query(Todo.self).snapshots().map(\.title) } == ["Milk"])
        try lab.finish()
    }
}
