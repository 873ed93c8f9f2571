import Foundation
import Observation
import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import TestRings
import Testing
import TomboloModeling

/// Tests live objects of an application's own models.
@Suite struct LiveTests {
    private let objects: LiveObjects

    init() throws {
        objects = try .todos()
    }

    @Test func `an object is created with its defaults, and read by its properties`() async throws {
        let ned = try await objects.create(Person.self) { $0.name = "Ned" }
        let milk = try await objects.create(Todo.self) { todo in
            todo.title = "Milk"
            todo.due = Date(timeIntervalSince1970: 86_400)
            todo.owner = ned
        }
        #expect(milk.title == "Milk")
        #expect(milk.priority == .normal)
        #expect(!milk.isDone)
        #expect(milk.tags.value == [])
        #expect(milk.owner === ned)
        #expect(milk[milk.fields.due] == Date(timeIntervalSince1970: 86_400))
        #expect(milk.presence == .here)
        #expect(try objects.object(Todo.self, id: #require(milk.id)) === milk)
        #expect(Set([milk, milk]).count == 1)
    }

    @Test func `edits are staged, listed, dropped by revert, and written by save`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        #expect(milk.edits.isEmpty)
        milk.title = "Bread"
        milk.isDone = true
        #expect(milk.edits.fields == ["is_done", "title"])
        #expect(milk.edits.contains(milk.fields.title))
        #expect(milk.edits.before(milk.fields.title) == "Milk")
        #expect(milk.edits.after(milk.fields.title) == "Bread")
        milk.isDone = false
        #expect(milk.edits.fields == ["title"])
        milk.revert()
        #expect(milk.edits.isEmpty && milk.title == "Milk")
        milk.title = "Bread"
        let receipt = try await milk.save()
        #expect(receipt.records == [milk.id])
        #expect(milk.edits.isEmpty)
        let empty = try await milk.save()
        #expect(empty.isEmpty && "\(empty)" == "nothing to write")
    }

    /// Regression test: a form that set all its fields wrote edits of records of an older build.
    @Test func `setting a field to the default that a record of an older build shows is no edit`() async throws {
        let models = try ModelCatalog([Todo.self, Person.self])
        let source = MockSource(catalog: models.schemas)
        let id = RecordID(bits: Identifier128(high: 1, low: 2))
        _ = try source.write(
            [ModelEdit(.create("todo", id, ["title": .text("Milk")]), shown: nil)], now: WallTime(milliseconds: 1))
        let objects = LiveObjects(source: source, models: models, runtime: .mock())
        let milk = try #require(try await objects.query(Todo.self).first())
        let version = milk.version
        milk.isDone = false
        milk.priority = .normal
        milk.tags = JSON([])
        milk.effort = nil
        #expect(milk.edits.isEmpty && milk.version == version)
        #expect(try await milk.save().isEmpty)
        milk.priority = .high
        milk.isDone = true
        #expect(milk.edits.fields == ["is_done", "priority"])
        milk.priority = .normal
        #expect(milk.edits.fields == ["is_done"] && milk.priority == .normal)
        #expect(milk.snapshot?.values[2] == .null)
        try await milk.save()
        milk.isDone = false
        #expect(milk.edits.fields == ["is_done"])
    }

    @Test func `a draft reverts to its defaults`() throws {
        let draft = try objects.draft(Todo.self) { $0.priority = .high }
        draft.title = "Milk"
        draft.revert()
        #expect(draft.title == "" && draft.priority == .normal)
        #expect(draft.presence == .draft)
    }

    @Test func `save names the field whose value breaks a rule, and later saves work`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        milk.title = ""
        let empty = await #expect(throws: ModelError.self) { try await milk.save() }
        #expect(empty?.message == "todo.title is empty")
        milk.effort = .infinity
        milk.title = "Milk"
        let infinite = await #expect(throws: ModelError.self) { try await milk.save() }
        #expect(infinite?.message == "todo.effort inf is not a finite number")
        milk.revert()
        milk.effort = 101
        let large = await #expect(throws: ModelError.self) { try await milk.save() }
        #expect(large?.message == "todo.effort is 101.0; expected 0.0 to 100.0")
        milk.effort = 1.5
        #expect(try await !milk.save().isEmpty)
        let missing = await #expect(throws: ModelError.self) { try await objects.create(Todo.self) { _ in } }
        #expect(missing?.message == "todo.title is required and has no value")
    }

    @Test func `a computed field reads as empty, and writing or querying it is an error`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        #expect(milk.computed == "")
        milk.computed = "x"
        let written = await #expect(throws: ModelError.self) { try await milk.save() }
        #expect(written?.code == .invalidModel)
        let queried = await #expect(throws: ModelError.self) {
            try await objects.query(Todo.self).where { $0.computed == "x" }.all()
        }
        #expect(queried?.code == .invalidModel)
    }

    @Test func `a comparison with a value that cannot be stored is an error`() async throws {
        let compared = await #expect(throws: ModelError.self) {
            try await objects.query(Todo.self).where { $0.effort < .infinity }.all()
        }
        #expect(compared?.code == .invalidValue)
    }

    @Test func `a model that is not in the client's list is an error, not a trap`() async throws {
        let drafted = #expect(throws: ModelError.self) { try objects.draft(Stranger.self) }
        #expect(drafted?.code == .invalidModel)
        #expect(drafted?.message.contains("The list has: todo, person") == true)
        await #expect(throws: ModelError.self) { try await objects.query(Stranger.self).count() }
        await #expect(throws: ModelError.self) {
            try await objects.write { transaction in
                #expect(transaction.create(Stranger.self) { _ in } == nil)
            }
        }
    }

    @Test func `a reference to an object of another client is refused`() async throws {
        let stranger = try await LiveObjects.todos().create(Person.self) { $0.name = "Ned" }
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        milk.owner = stranger
        let failure = await #expect(throws: ModelError.self) { try await milk.save() }
        #expect(failure?.message.contains("it belongs to another client") == true)
    }

    @Test func `records that refer to each other are created together, and leak no memory`() async throws {
        weak var weakNed: Live<Person>?
        func create() async throws -> RecordID {
            let ned = try objects.draft(Person.self) { $0.name = "Ned" }
            let milk = try objects.draft(Todo.self) { $0.title = "Milk" }
            ned.favorite = milk
            milk.owner = ned
            weakNed = ned
            let receipt = try await ned.create()
            #expect(receipt.records.count == 2)
            #expect(ned.favorite?.owner === ned)
            return try #require(ned.id)
        }
        let id = try await create()
        #expect(weakNed == nil)
        let ned = try objects.object(Person.self, id: id)
        #expect(ned.favorite?.owner === ned)
    }

    /// If the time grew with the square of the length, this would take many minutes.
    @Test(.ring(.test), .timeLimit(.minutes(2)))
    func `the time to build a long chain of drafts grows with its length`() async throws {
        let models = try ModelCatalog([Todo.self, Person.self])
        let folder = try ScratchFolder()
        let objects = LiveObjects(
            source: StoredSource(store: try folder.open(.mock(), catalog: models.schemas), server: .none),
            models: models, runtime: .mock())
        var last = try objects.draft(Todo.self) { $0.title = "0" }
        for number in 1...10_000 {
            let person = try objects.draft(Person.self) {
                $0.name = "Ned"
                $0.favorite = last
            }
            last = try objects.draft(Todo.self) {
                $0.title = "\(number)"
                $0.owner = person
            }
        }
        let failure = await #expect(throws: ModelError.self) { try await last.create() }
        #expect(failure?.message.contains("at most 1000 are allowed") == true)
        withExtendedLifetime(folder) {}
    }

    @Test func `a deleted object keeps its values, and references to it read as nil`() async throws {
        let ned = try await objects.create(Person.self) { $0.name = "Ned" }
        let milk = try await objects.create(Todo.self) { todo in
            todo.title = "Milk"
            todo.owner = ned
        }
        try await ned.delete()
        #expect(ned.presence == .gone && ned.name == "Ned")
        #expect(milk.owner == nil)
        ned.name = "Eddard"
        let failure = await #expect(throws: ModelError.self) { try await ned.save() }
        #expect(failure?.code == .gone)
    }

    @Test func `several objects are written in one transaction, or none`() async throws {
        let bread = try await objects.create(Todo.self) { $0.title = "Bread" }
        let old = try await objects.create(Todo.self) { $0.title = "Old" }
        let receipt = try await objects.write { tx in
            tx.create(Todo.self) { $0.title = "Milk" }
            tx.edit(bread) { $0.isDone = true }
            tx.delete(old)
        }
        #expect(receipt.records.count == 3)
        let titles = try await objects.query(Todo.self).sorted { [$0.title.ascending] }.all().map(\.title)
        #expect(titles == ["Bread", "Milk"])

        await #expect(throws: ModelError.self) {
            try await objects.write { tx in
                tx.create(Todo.self) { $0.title = "Eggs" }
                tx.edit(bread) { $0.title = "" }
            }
        }
        #expect(try await objects.query(Todo.self).count() == 2)
        bread.revert()
        #expect(bread.title == "Bread")
        #expect(try await objects.write { _ in }.isEmpty)
    }

    @Test func `a transaction that fails keeps the drafts that it was to discard`() async throws {
        let draft = try objects.draft(Todo.self) { $0.title = "Milk" }
        let missing = try objects.object(Todo.self, uid: 42)
        let failure = await #expect(throws: ModelError.self) {
            try await objects.write { tx in
                tx.delete(draft)
                tx.delete(missing)
            }
        }
        #expect(failure?.code == .notHere)
        #expect(draft.presence == .draft)
        let models = try ModelCatalog([Todo.self, Person.self])
        let failing = LiveObjects(
            source: MockSource(catalog: models.schemas, failingWith: ModelError(.store, "the disk is full")),
            models: models, runtime: .mock())
        let kept = try failing.draft(Todo.self)
        await #expect(throws: ModelError.self) {
            try await failing.write { tx in
                tx.create(Person.self) { $0.name = "Ned" }
                tx.delete(kept)
            }
        }
        #expect(kept.presence == .draft)
        #expect(try await draft.delete().isEmpty)
        #expect(draft.presence == .gone)
    }

    @Test func `edits of a placeholder pass to the object of its record, and the version increases`() async throws {
        let bread = try await objects.create(Todo.self) { $0.title = "Bread" }
        let placeholder = try objects.object(Todo.self, uid: bread.uid + 1)
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        #expect(milk.uid == bread.uid + 1)
        milk.isDone = true
        placeholder.isDone = false
        placeholder.effort = .infinity
        // An observer compares versions, so a version that it has seen must not occur again with other values.
        while placeholder.version < milk.version { placeholder.title += "!" }
        let (title, version) = (placeholder.title, placeholder.version)
        try await placeholder.load()
        #expect(placeholder.version > version && placeholder.id == milk.id)
        #expect(milk.edits.fields == ["is_done", "title"])
        #expect(milk.title == title && placeholder.isDone)
        let failure = await #expect(throws: ModelError.self) { try await milk.save() }
        #expect(failure?.message == "todo.effort inf is not a finite number")
    }

    @Test func `an observer is told of a change after it is visible`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        let seen = Guarded<[String]>([])
        withObservationTracking {
            _ = milk.title
        } onChange: {
            seen.withLock { $0.append(milk.title) }
        }
        milk.title = "Bread"
        #expect(seen.withLock { $0 } == ["Bread"])
    }

    @Test func `snapshots of an object follow its changes, and never repeat`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        var snapshots = milk.snapshots.makeAsyncIterator()
        #expect(await snapshots.next()?.title == "Milk")
        milk.title = "Bread"
        try await milk.save()
        #expect(await snapshots.next()?.title == "Bread")
        try await milk.delete()
        #expect(await snapshots.next() == nil)
    }
}
