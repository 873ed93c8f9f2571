import Foundation
import Testing
import Tombolo

/// Tests tasks that write at the same time through one client. Their writes share commits of the database.
@Suite struct ConcurrentWriteTests {
    /// A todo as it was after the last `save` or `delete` that succeeded.
    private struct Saved: Sendable {
        let id: RecordID
        /// Nil for a deleted record.
        let title: String?
        let owner: RecordID?
    }

    @Test func `the writes that succeeded in concurrent tasks are there after the client is opened again`() async throws
    {
        let home = try Home()
        let models: [any Model.Type] = [Todo.self, Person.self]
        let saved = try await withClient("todo", models: models, options: home.options) { client in
            let shared = try await client.create(Person.self) { $0.name = "Shared" }
            return try await withThrowingTaskGroup(of: [Saved].self) { group in
                for task in 0..<12 {
                    group.addTask { try await write(as: task, of: shared, client) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        #expect(saved.count == 12 * 8)
        try await withClient("todo", models: models, options: home.options) { client in
            for saved in saved {
                let todo = try client.object(Todo.self, id: saved.id)
                guard let title = saved.title else {
                    #expect(todo.presence == .notHere)
                    continue
                }
                #expect(todo.title == title && todo.owner?.id == saved.owner)
            }
            #expect(try await client.query(Todo.self).count() == saved.count { $0.title != nil })
            #expect(try await client.query(Person.self).count() == 1 + 12 * 2)
        }
    }

    /// Creates, edits, and deletes todos of one task, and writes to a record that all tasks share.
    private func write(as task: Int, of shared: Live<Person>, _ client: Client) async throws -> [Saved] {
        var saved: [Saved] = []
        for number in 0..<8 {
            let title = "\(task).\(number)"
            // Every fourth todo refers to a draft, which is saved with the todo.
            let owner = number % 4 == 0 ? try client.draft(Person.self) { $0.name = title } : shared
            let todo = try await client.create(Todo.self) { todo in
                todo.title = title
                todo.owner = owner
            }
            switch number % 3 {
            case 0:
                todo.title = title + "!"
                try await todo.save()
                saved.append(Saved(id: try #require(todo.id), title: title + "!", owner: owner.id))
            case 1:
                let id = try #require(todo.id)
                try await todo.delete()
                saved.append(Saved(id: id, title: nil, owner: nil))
            default:
                // This write fails, and must not make the writes of its commit fail.
                todo.title = ""
                await #expect(throws: ModelError.self) { try await todo.save() }
                todo.revert()
                shared.name = "Shared by \(task)"
                try await shared.save()
                saved.append(Saved(id: try #require(todo.id), title: title, owner: owner.id))
            }
        }
        return saved
    }
}
