import Foundation
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloModeling

/// Tests typed queries over a source in memory and over SQLite.
@Suite struct QueryTests {
    private let day = Date(timeIntervalSince1970: 86_400)

    /// Returns live objects over each source, with five todos and a person in each. The folder of a database exists as
    /// long as `keep`.
    private func sources() async throws -> [(objects: LiveObjects, keep: ScratchFolder?)] {
        let models = try ModelCatalog([Todo.self, Person.self])
        let folder = try ScratchFolder()
        let store = try folder.open(.mock(), catalog: models.schemas)
        let stored = LiveObjects(
            source: StoredSource(store: store, server: .none), models: models, runtime: .mock())
        let sources: [(LiveObjects, ScratchFolder?)] = [(try .todos(), nil), (stored, folder)]
        for (objects, _) in sources {
            let ned = try await objects.create(Person.self) { $0.name = "Ned" }
            for (index, title) in ["Milk", "Bread", "Butter", "Eggs", "Beer"].enumerated() {
                try await objects.create(Todo.self) { todo in
                    todo.title = title
                    todo.isDone = index == 3
                    todo.priority = index == 2 ? .high : .normal
                    if index < 3 { todo.due = Date(timeIntervalSince1970: Double(index) * 86_400) }
                    if index == 1 { todo.owner = ned }
                }
            }
        }
        return sources
    }

    @Test func `conditions, orders, and counts are the same in memory and in SQLite`() async throws {
        for (objects, _) in try await sources() {
            let todos = objects.query(Todo.self)
            let ned = try await #require(objects.query(Person.self).first())
            func titles(_ query: ModelQuery<Todo>) async throws -> [String] { try await query.all().map(\.title) }
            let urgent = todos.where { !$0.isDone && ($0.due < day || $0.priority == .high) }
            #expect(try await titles(urgent.sorted { [$0.title.ascending] }) == ["Butter", "Milk"])
            #expect(try await urgent.count() == 2)
            let sorted = todos.sorted { [$0.title.ascending] }
            #expect(try await titles(sorted.where { $0.title.hasPrefix("B") }) == ["Beer", "Bread", "Butter"])
            #expect(
                try await titles(todos.sorted { [$0.due.descending, $0.title.ascending] })
                    == ["Butter", "Bread", "Milk", "Beer", "Eggs"])
            #expect(try await titles(todos.where { $0.owner == ned }) == ["Bread"])
            #expect(try await titles(sorted.where { $0.owner != ned && $0.due.isNil }) == ["Beer", "Eggs"])
            #expect(try await titles(todos.where { $0.priority.in([.high, .low]) }) == ["Butter"])
            #expect(try await todos.where { $0.isDone == true }.first()?.title == "Eggs")
            #expect(try await sorted.limit(2).snapshots().map(\.title) == ["Beer", "Bread"])
        }
    }

    @Test func `writes between two pages neither repeat nor skip records`() async throws {
        for (objects, _) in try await sources() {
            let query = objects.query(Todo.self).sorted { [$0.due.ascending, $0.title.descending] }.limit(2)
            let first = try await query.all()
            #expect(first.map(\.title) == ["Eggs", "Beer"])
            try await first[0].delete()
            try await objects.create(Todo.self) { $0.title = "Apples" }
            let second = try await query.after(first.last).all()
            #expect(second.map(\.title) == ["Apples", "Milk"])
            let cursor = try #require(query.cursor(of: second[1]))
            #expect(try await query.after(cursor).all().map(\.title) == ["Bread", "Butter"])
            let draft = try objects.draft(Todo.self) { $0.title = "Never stored" }
            await #expect(throws: ModelError.self) { try await query.after(draft).all() }
        }
    }

    @Test func `equal lists are not repeated, and changes list the differences`() async throws {
        for (objects, _) in try await sources() {
            let query = objects.query(Todo.self).where { $0.title.hasPrefix("B") }.sorted { [$0.title.ascending] }
            var lists = query.updates.makeAsyncIterator()
            var changes = query.changes.makeAsyncIterator()
            let all = try #require(try await lists.next())
            #expect(all.map(\.title) == ["Beer", "Bread", "Butter"])
            let begin = try #require(try await changes.next())
            #expect(begin.inserted == all && begin.removed.isEmpty && begin.moved.isEmpty && begin.changed.isEmpty)

            // The query does not match this record, so neither sequence delivers anything.
            try await objects.create(Todo.self) { $0.title = "Salt" }
            try await objects.write { tx in
                tx.edit(all[0]) { $0.title = "Byte" }
                tx.delete(all[1])
                tx.create(Todo.self) { $0.title = "Basil" }
            }
            #expect(try await lists.next()?.map(\.title) == ["Basil", "Butter", "Byte"])
            let change = try #require(try await changes.next())
            #expect(change.objects.map(\.title) == ["Basil", "Butter", "Byte"])
            #expect(change.inserted.map(\.title) == ["Basil"])
            #expect(change.removed == [all[1]])
            #expect(change.moved == [all[0]])
            #expect(change.changed.map(\.object) == [all[0]])
            #expect(change.changed.first?.fields.fields == ["title"])
            #expect(change.changed.first?.fields.before(all[0].fields.title) == "Beer")
        }
    }

    @Test func `a limit of zero or less is a limit for the first object, too`() async throws {
        for (objects, _) in try await sources() {
            let query = objects.query(Todo.self)
            for limit in [0, -1, .min] {
                #expect(try await query.limit(limit).first() == nil)
                #expect(try await query.limit(limit).all().isEmpty)
            }
            #expect(try await query.limit(2).first() != nil)
        }
    }

    /// Regression test: the second page counted the conditions of its cursor, and exceeded the limit for conditions.
    @Test func `a query that has a first page has all pages, with as many sort keys as are allowed`() async throws {
        for (objects, _) in try await sources() {
            func query(_ keys: Int) -> ModelQuery<Todo> {
                objects.query(Todo.self).sorted { todo in
                    (0..<keys).map { $0 == 0 ? todo.due.descending : todo.title.ascending }
                }
            }
            let most = query(66)
            let first = try await most.limit(2).all()
            #expect(first.map(\.title) == ["Butter", "Bread"])
            #expect(try await most.after(first.last).all().map(\.title) == ["Milk", "Beer", "Eggs"])
            let error = await #expect(throws: ModelError.self) { try await query(67).all() }
            #expect(error?.message == "a query on todo has 67 sort keys; at most 66 are allowed")
        }
    }

    @Test func `conditions within the limits are legal for SQLite in any shape`() async throws {
        let priorities: [Priority] = [.low, .high]
        for (objects, _) in try await sources() {
            let todos = objects.query(Todo.self)
            func leaf(_ todo: Todo, _ number: Int) -> ModelCondition<Todo> {
                switch number % 4 {
                case 0: !todo.title.contains("\(number)")
                case 1: !todo.title.hasPrefix("x\(number)")
                case 2: !todo.priority.in(priorities)
                default: !(todo.due < day)
                }
            }
            func level(_ number: Int, _ one: ModelCondition<Todo>, _ other: ModelCondition<Todo>)
                -> ModelCondition<Todo>
            {
                number.isMultiple(of: 2) ? one || other : one && other
            }
            // One deep chain in each order of operands, and chains above a complete tree, which needs the most symbols.
            for isRight in [false, true] {
                let chain = todos.where { todo in
                    (1..<49).reduce(leaf(todo, 3)) { nested, number in
                        isRight ? level(number, leaf(todo, number), nested) : level(number, nested, leaf(todo, number))
                    }
                }
                _ = try await chain.all()
                _ = try await chain.count()
                let page = try await chain.sorted { [$0.due.descending, $0.title.ascending] }.limit(1).all()
                _ = try await chain.sorted { [$0.due.descending, $0.title.ascending] }.after(page.first).all()
            }
            for depth in [4, 5, 6, 7] {
                let tree = todos.where { todo in
                    func tree(_ level: Int) -> ModelCondition<Todo> {
                        guard level > 0 else { return leaf(todo, 0) }
                        let (one, other) = (tree(level - 1), tree(level - 1))
                        return level.isMultiple(of: 2) ? one || other : one && other
                    }
                    return (depth..<48).reduce(tree(depth)) { nested, number in
                        number.isMultiple(of: 2) ? nested && leaf(todo, number) : nested || leaf(todo, number)
                    }
                }
                _ = try await tree.all()
            }
        }
    }

    @Test func `a query prints as text`() throws {
        let query = try LiveObjects.todos().query(Todo.self).where { $0.due < day && $0.title != "x" }
            .sorted { [$0.due.descending] }.limit(5)
        #expect("\(query)" == "todo where (due < 86400000000 && title != 'x') sorted by due descending limit 5")
    }
}
