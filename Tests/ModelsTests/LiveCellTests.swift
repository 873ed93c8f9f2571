import Testing

@testable import SyncObjects

@Suite struct LiveCellTests {
    @Test func `edits of an earlier moment come back, except where a value has been set since`() async throws {
        let objects = try LiveObjects.todos()
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        milk.title = "typed"
        let earlier = milk.cell.stagedEdits
        milk.title = "corrected"
        milk.isDone = true
        let later = milk.cell.stagedEdits
        milk.priority = .high
        milk.cell.restage(earlier, replacing: later)
        #expect(milk.title == "typed" && !milk.isDone && milk.priority == .high)
        #expect(milk.edits.fields == ["priority", "title"])
        milk.title = "typed later"
        milk.cell.restage(earlier, replacing: later)
        #expect(milk.title == "typed later")
    }
}
