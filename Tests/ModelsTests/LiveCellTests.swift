import Testing

@testable import SyncObjects

@Suite struct LiveCellTests {
    @Test func `edits of an earlier moment come back, except where a value has been set since`() async throws {
        let objects = try LiveObjects.todos()
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        milk.title = "typed"
        let log = EditLog()
        log.record {
            milk.title = "corrected"
            milk.isDone = true
        }
        milk.priority = .high
        log.undo()
        #expect(milk.title == "typed" && !milk.isDone && milk.priority == .high)
        #expect(milk.edits.fields == ["priority", "title"])
        log.record { milk.title = "corrected" }
        milk.title = "typed later"
        log.undo()
        #expect(milk.title == "typed later")
    }

    @Test func `a revert in the body of a transaction is the last word of the body`() async throws {
        let objects = try LiveObjects.todos()
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        milk.priority = .high
        _ = try await objects.write { transaction in
            transaction.edit(milk) {
                $0.isDone = true
                $0.revert()
                $0.effort = 1
            }
        }
        #expect(!milk.isDone && milk.priority == .normal && milk.effort == 1)
        #expect(milk.edits.isEmpty)
    }
}
