import SyncConcurrency
import SyncTestKit
import Testing
import Tombolo

/// The model of a server that is stricter than its clients.
private struct StrictTodo: Model {
    static let collection = "todo"

    let title = Field<String>("title", .required, .length(1...5))
    let isDone = Field<Bool>("is_done", default: false)
}

/// The same collection, as declared by a client that allows longer titles.
private struct LaxTodo: Model {
    static let collection = "todo"

    let title = Field<String>("title", .required, .length(1...200))
    let isDone = Field<Bool>("is_done", default: false)
}

/// A collection with both kinds of references, as declared by the server.
private struct StrictStep: Model {
    static let collection = "step"

    let name = Field<String>("name", .required)
    let todo = Reference<StrictTodo>("todo", .required)
    let other = Reference<StrictTodo>("other")
}

private struct LaxStep: Model {
    static let collection = "step"

    let name = Field<String>("name", .required)
    let todo = Reference<LaxTodo>("todo", .required)
    let other = Reference<LaxTodo>("other")
}

/// A collection whose records may refer to each other, as declared by the server.
private struct StrictPage: Model {
    static let collection = "page"

    let title = Field<String>("title", .required, .length(1...5))
    let following = Reference<StrictPage>("following")
    let pages = Field<Int?>("pages", default: 3)
}

private struct LaxPage: Model {
    static let collection = "page"

    let title = Field<String>("title", .required, .length(1...200))
    let following = Reference<LaxPage>("following")
    let pages = Field<Int?>("pages", default: 3)
}

/// Tests that a rejected write is kept until the user retries, edits, or discards it, and that a merge shows both
/// values.
@Suite struct RejectionTests {
    private func strictTestbed() throws -> (testbed: SyncTestbed, phone: TestbedDevice) {
        let testbed = try SyncTestbed(models: [StrictTodo.self])
        return (testbed, try testbed.device("phone", models: [LaxTodo.self]))
    }

    /// Makes a todo whose new title the server has rejected.
    private func rejectedTitle() throws -> (SyncTestbed, TestbedDevice, Live<LaxTodo>, RejectedWrite) {
        let (testbed, phone) = try strictTestbed()
        let todo = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        todo.title = "Cucumbers"
        try testbed.run { try await todo.save() }
        try testbed.settle()
        return (testbed, phone, todo, try #require(try phone.rejections.all().first))
    }

    @Test func `a rejection has the reason and the attempted values, and survives a restart`() throws {
        let (testbed, phone) = try strictTestbed()
        let todo = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Cucumbers" } }
        try testbed.settle()
        let failure = #expect(throws: ModelError.self) {
            try testbed.run { try await todo.create().confirmed() }
        }
        #expect(failure?.code == .rejected)
        guard case .rejected(let rejection) = try todo.sync else {
            Issue.record("\(try todo.sync)")
            return
        }
        #expect(rejection.message.contains("todo.title"))
        #expect(rejection.changes.map(\.kind) == [.create])
        #expect(rejection.fields.map(\.field) == ["title"])
        #expect(rejection.fields.map(\.record) == [todo.id])
        #expect(rejection.fields.allSatisfy { $0.isField(todo.fields.title) && !$0.isField(todo.fields.isDone) })
        #expect(rejection.changes[0].value(todo.fields.title) == "Cucumbers")

        phone.stop()
        try phone.start()
        let kept = try testbed.run { try await phone.rejections.first { _ in true } }
        #expect(kept?.id == rejection.id)
        #expect(kept?.fields == rejection.fields)
        try kept?.discard()
        #expect(try phone.rejections.all().isEmpty)
        try testbed.settle()
        try testbed.finish()
    }

    @Test func `a rejection shows the server's row beside the attempted values`() throws {
        let (testbed, phone) = try strictTestbed()
        let tablet = try testbed.device("tablet")
        let todo = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        let id = try #require(todo.id)
        phone.isOnline = false
        todo.title = "Cucumbers"
        try testbed.run { try await todo.save() }
        // Meanwhile, another device changes the record on the server.
        let other = try tablet.object(StrictTodo.self, id: id)
        other.title = "Bread"
        try testbed.run { try await other.save().confirmed() }
        phone.isOnline = true
        try testbed.settle()

        let rejection = try #require(try phone.rejections.all().first)
        let change = rejection.changes[0]
        #expect(change.value(todo.fields.title) == "Cucumbers")
        #expect(try rejection.serverRow(LaxTodo.self, of: change)?.title == "Bread")
        // The server's row stays the same while this device has another unsent change of the record.
        phone.isOnline = false
        todo.title = "Eggs"
        try testbed.run { try await todo.save() }
        #expect(try rejection.serverRow(LaxTodo.self, of: change)?.title == "Bread")
        phone.isOnline = true
        try testbed.settle()
        #expect(try rejection.serverRow(LaxTodo.self, of: change)?.title == "Eggs")

        // The server has no row for a record whose creation it rejected, or for a deleted record.
        try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Cabbages" } }
        try testbed.settle()
        let created = try #require(try phone.rejections.all().last)
        #expect(try created.serverRow(LaxTodo.self, of: created.changes[0]) == nil)
        try testbed.run { try await other.delete() }
        try testbed.settle()
        #expect(try rejection.serverRow(LaxTodo.self, of: change) == nil)
        for rejection in try phone.rejections.all() { try rejection.discard() }
        try testbed.finish()
    }

    @Test func `a rejected write is corrected and sent again`() throws {
        let (testbed, phone) = try strictTestbed()
        let tablet = try testbed.device("tablet")
        try testbed.run {
            try await phone.write { tx in
                tx.create(LaxTodo.self) { $0.title = "Cucumbers" }
                tx.create(LaxTodo.self) { $0.title = "Milk" }
            }
        }
        try testbed.settle()
        let rejections = try phone.rejections.all()
        #expect(rejections.count == 1)
        try testbed.run {
            try await rejections[0].edit { edit in
                for todo in edit.objects(LaxTodo.self) where todo.title.count > 5 { todo.title = "Leek" }
            }
        }
        try testbed.settle()
        let titles = try testbed.run { try await tablet.query(StrictTodo.self).snapshots().map(\.title) }
        #expect(Set(titles) == ["Leek", "Milk"])
        #expect(try phone.rejections.all().isEmpty)
        try testbed.finish()
    }

    @Test func `a correction that fails leaves the unsaved edits as they were`() throws {
        let (testbed, _, todo, rejection) = try rejectedTitle()
        todo.title = "typed"
        #expect(throws: CancellationError.self) {
            try testbed.run { try await rejection.edit { _ in throw CancellationError() } }
        }
        #expect(todo.title == "typed" && todo.edits.fields == ["title"])
        let failure = #expect(throws: ModelError.self) {
            try testbed.run {
                try await rejection.edit { edit in
                    for todo in edit.objects(LaxTodo.self) {
                        todo.title = ""
                        todo.isDone = true
                    }
                }
            }
        }
        #expect(failure?.code == .invalidValue)
        #expect(todo.title == "typed" && todo.edits.fields == ["title"])
        todo.revert()
        #expect(todo.title == "Milk" && todo.edits.isEmpty)
        try rejection.discard()
        try testbed.finish()
    }

    @Test func `a corrected creation has no unsaved edits`() throws {
        let (testbed, phone) = try strictTestbed()
        _ = try testbed.run {
            try await phone.create(LaxTodo.self) {
                $0.title = "Cucumbers"
                $0.isDone = true
            }
        }
        try testbed.settle()
        let rejection = try #require(try phone.rejections.all().first)
        let kept = Guarded<[Live<LaxTodo>]>([])
        try testbed.run {
            try await rejection.edit { edit in
                for todo in edit.objects(LaxTodo.self) {
                    todo.title = "Leek"
                    kept.withLock { $0.append(todo) }
                }
            }
        }
        let todo = try #require(kept.withLock { $0.first })
        // The defaults of other fields are not unsaved edits.
        #expect(todo.title == "Leek" && todo.isDone && todo.edits.isEmpty)
        try testbed.settle()
        try testbed.finish()
    }

    /// Regression test: the draft of a corrected creation had the default of a field that its author had emptied.
    @Test func `a corrected creation leaves empty what its author had emptied`() throws {
        let testbed = try SyncTestbed(models: [StrictPage.self])
        let phone = try testbed.device("phone", models: [LaxPage.self])
        _ = try testbed.run {
            try await phone.create(LaxPage.self) {
                $0.title = "Cucumbers"
                $0.pages = nil
            }
        }
        try testbed.settle()
        let rejection = try #require(try phone.rejections.all().first)
        try testbed.run {
            try await rejection.edit { edit in
                for page in edit.objects(LaxPage.self) { page.title = "Leek" }
            }
        }
        try testbed.settle()
        let pages = try testbed.run { try await phone.query(LaxPage.self).all() }
        #expect(pages.map(\.title) == ["Leek"] && pages[0].pages == nil)
        try testbed.finish()
    }

    @Test func `an edit that replaces a rejected value of its device does not conflict with the stored value`() throws {
        let (testbed, phone) = try strictTestbed()
        let tablet = try testbed.device("tablet", models: [LaxTodo.self])
        let milk = try testbed.run { try await tablet.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        let todo = try phone.object(LaxTodo.self, id: #require(milk.id))
        todo.title = "Cucumbers"
        try testbed.run { try await todo.save() }
        todo.title = "Leek"
        try testbed.settle()
        #expect(try phone.rejections.all().count == 1 && todo.title == "Leek")
        try testbed.run { try await todo.save() }
        try testbed.settle()
        #expect(milk.title == "Leek")
        #expect(try tablet.merges.all().isEmpty && phone.merges.all().isEmpty)
        for rejection in try phone.rejections.all() { try rejection.discard() }
        try testbed.finish()
    }

    @Test func `a correction keeps the text that a person has typed meanwhile as an unsaved edit`() throws {
        let (testbed, phone, todo, rejection) = try rejectedTitle()
        todo.title = "typed"
        try testbed.run {
            try await rejection.edit { edit in
                for todo in edit.objects(LaxTodo.self) { todo.title = "Leek" }
            }
        }
        #expect(todo.title == "typed" && todo.edits.fields == ["title"])
        #expect(try testbed.run { try await phone.query(LaxTodo.self).snapshots().map(\.title) } == ["Leek"])
        todo.revert()
        #expect(todo.title == "Leek")
        try testbed.settle()
        try testbed.finish()
    }

    /// Regression test: concurrent corrections staged their values on the same object, so one wrote the values of
    /// another.
    @Test(.timeLimit(.minutes(10)))
    func `only one of several concurrent corrections is written, and the others leave no staged values`() async throws {
        let home = try Home()
        var options = home.options
        options.transport = try TestServer(models: [StrictTodo.self]).transport(for: "ned")
        options.reachability = FakeReachability()
        let client = try await Client.open("todo", models: [LaxTodo.self], options: options)
        let todo = try await client.create(LaxTodo.self) { $0.title = "Milk" }
        for _ in 0..<20 {
            todo.title = "Cucumbers"
            let receipt = try await todo.save()
            await #expect(throws: ModelError.self) { try await receipt.confirmed() }
            let rejection = try #require(try client.rejections.all().first)
            let titles = ["Leek", "Kale", "Peas", "Corn"]
            let written = await withTaskGroup(of: String?.self) { group in
                for title in titles {
                    group.addTask {
                        do {
                            try await rejection.edit { edit in
                                for todo in edit.objects(LaxTodo.self) { todo.title = title }
                            }
                            return title
                        } catch {
                            #expect((error as? ModelError)?.code == .alreadyDecided)
                            return nil
                        }
                    }
                }
                return await group.reduce(into: [String]()) { if let title = $1 { $0.append(title) } }
            }
            #expect(written.count == 1)
            #expect(todo.title == written.first && todo.edits.isEmpty)
            try await client.synced()
            #expect(todo.title == written.first)
            #expect(try client.rejections.all().isEmpty)
        }
        await client.close()
    }

    @Test func `a decision about a decided rejection writes nothing, and says so`() throws {
        let (testbed, phone) = try strictTestbed()
        let todo = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        func reject() throws -> RejectedWrite {
            todo.title = "Cucumbers"
            todo.isDone = true
            try testbed.run { try await todo.save() }
            try testbed.settle()
            return try #require(try phone.rejections.all().first)
        }
        func edit(_ rejection: RejectedWrite, _ body: @escaping @Sendable () throws -> Void = {}) throws {
            try testbed.run {
                try await rejection.edit { edit in
                    for todo in edit.objects(LaxTodo.self) { todo.title = "Leek" }
                    try body()
                }
            }
        }
        /// Expects that every decision except a discard fails, and that newer values stay.
        func expectDecided(_ rejection: RejectedWrite) throws {
            todo.title = "Eggs"
            todo.isDone = false
            try testbed.run { try await todo.save() }
            try testbed.settle()
            let edited = #expect(throws: ModelError.self) { try edit(rejection) }
            #expect(edited?.code == .alreadyDecided)
            #expect(edited?.message.contains("nothing was written") == true)
            let retried = #expect(throws: ModelError.self) { try rejection.retry() }
            #expect(retried?.code == .alreadyDecided)
            try rejection.discard()
            try testbed.settle()
            #expect(todo.title == "Eggs" && !todo.isDone && todo.edits.isEmpty)
            #expect(try phone.rejections.all().isEmpty)
        }
        let corrected = try reject()
        try edit(corrected)
        #expect(todo.title == "Leek" && todo.isDone)
        try expectDecided(corrected)

        let discarded = try reject()
        try discarded.discard()
        try expectDecided(discarded)

        // Somebody else decides while the body of the edit runs. The values that the body staged are dropped.
        let raced = try reject()
        let failure = #expect(throws: ModelError.self) { try edit(raced) { try raced.discard() } }
        #expect(failure?.code == .alreadyDecided)
        #expect(todo.title == "Eggs" && !todo.isDone && todo.edits.isEmpty)
        try expectDecided(raced)
        try testbed.finish()
    }

    /// The writes were rejected because they refer to a record whose creation was rejected.
    @Test(arguments: [false, true])
    func `after a rejected creation is corrected, the writes that depend on it refer to its new record`(isRetried: Bool)
        throws
    {
        let testbed = try SyncTestbed(models: [StrictTodo.self, StrictStep.self])
        let phone = try testbed.device("phone", models: [LaxTodo.self, LaxStep.self])
        phone.isOnline = false
        try testbed.run {
            let todo = try await phone.create(LaxTodo.self) { $0.title = "Cucumbers" }
            try await phone.create(LaxStep.self) {
                $0.name = "wash"
                $0.todo = todo
            }
            let milk = try await phone.create(LaxTodo.self) { $0.title = "Milk" }
            try await phone.create(LaxStep.self) {
                $0.name = "buy"
                $0.todo = milk
                $0.other = todo
            }
        }
        phone.isOnline = true
        try testbed.settle()
        let rejections = try phone.rejections.all()
        #expect(rejections.map { $0.changes.map(\.collection) } == [["todo"], ["step"], ["step"]])
        try testbed.run {
            try await rejections[0].edit { edit in
                for todo in edit.objects(LaxTodo.self) { todo.title = "Leek" }
            }
        }
        for rejection in rejections.dropFirst() {
            if isRetried { try rejection.retry() } else { try testbed.run { try await rejection.edit { _ in } } }
        }
        try testbed.settle()
        #expect(try phone.rejections.all().isEmpty)
        let steps = try testbed.run { try await phone.query(LaxStep.self).sorted { [$0.name.ascending] }.all() }
        #expect(steps.map(\.name) == ["buy", "wash"])
        #expect(steps.map { $0.todo?.title } == ["Milk", "Leek"])
        #expect(steps.map { $0.other?.title } == ["Leek", nil])
        try testbed.finish()
    }

    @Test func `corrected creations that refer to each other keep their references`() throws {
        let testbed = try SyncTestbed(models: [StrictPage.self])
        let phone = try testbed.device("phone", models: [LaxPage.self])
        try testbed.run {
            try await phone.write { tx in
                let first = tx.create(LaxPage.self) { $0.title = "Cucumbers" }
                let second = tx.create(LaxPage.self) {
                    $0.title = "two"
                    $0.following = first
                }
                first?.following = second
            }
        }
        try testbed.settle()
        try testbed.run {
            try await #require(try phone.rejections.all().first).edit { edit in
                for page in edit.objects(LaxPage.self) where page.title.count > 5 { page.title = "one" }
            }
        }
        try testbed.settle()
        #expect(try phone.rejections.all().isEmpty)
        let pages = try testbed.run { try await phone.query(LaxPage.self).sorted { [$0.title.ascending] }.all() }
        #expect(pages.map(\.title) == ["one", "two"])
        #expect(pages.map { $0.following?.title } == ["two", "one"])
        try testbed.finish()
    }

    @Test func `a corrected creation stays in the space of the rejected one`() throws {
        let testbed = try SyncTestbed(models: [StrictTodo.self], spaces: [.default, "team"])
        let phone = try testbed.device("phone", models: [LaxTodo.self])
        try testbed.run { try await phone.create(LaxTodo.self, in: "team") { $0.title = "Cucumbers" } }
        try testbed.settle()
        try testbed.run {
            try await #require(try phone.rejections.all().first).edit { edit in
                for todo in edit.objects(LaxTodo.self) { todo.title = "Leek" }
            }
        }
        let leek = try #require(try testbed.run { try await phone.query(LaxTodo.self).first() })
        #expect(leek.title == "Leek")
        #expect(try leek.space == "team")
        try testbed.settle()
        try testbed.finish()
    }

    @Test func `a rejected write is accepted when the server's rules have changed`() throws {
        let (testbed, phone) = try strictTestbed()
        let todo = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Cucumbers" } }
        try testbed.settle()
        #expect(todo.presence == .gone)
        try testbed.replaceServer(models: [LaxTodo.self])
        try phone.rejections.all()[0].retry()
        try testbed.settle()
        #expect(todo.presence == .here)
        guard case .synced = try todo.sync else {
            Issue.record("\(try todo.sync)")
            return
        }
        try testbed.finish()
    }

    @Test func `a merge shows both values, and restores the lost one`() throws {
        let testbed = try SyncTestbed(models: [LaxTodo.self])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        let milk = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        phone.isOnline = false
        milk.title = "Oat milk"
        try testbed.run { try await milk.save() }
        try testbed.advance(by: .seconds(10))
        let id = try #require(milk.id)
        try testbed.run {
            let seen = try tablet.object(LaxTodo.self, id: id)
            seen.title = "Soy milk"
            try await seen.save()
        }
        try testbed.settle()
        phone.isOnline = true
        try testbed.settle()
        #expect(milk.title == "Soy milk")
        let merge = try #require(try phone.merges.all().first)
        #expect(merge.fields.map(\.field) == ["title"])
        #expect(merge.fields[0].kept(milk.fields.title) == "Soy milk")
        #expect(merge.fields[0].lost(milk.fields.title) == "Oat milk")
        #expect("\(merge)" == "merged: todo.title: 'Oat milk' was overwritten by 'Soy milk'")
        #expect(merge.fields[0].lostBy.isThisDevice && !merge.fields[0].keptBy.isThisDevice)
        #expect(merge.fields[0].lostBy.account == "phone" && merge.fields[0].keptBy.account == "tablet")
        #expect("\(merge.fields[0].lostBy)" == "phone, on this device")
        #expect("\(merge.fields[0].keptBy)" == "tablet, on another device")
        try merge.restore()
        try testbed.settle()
        #expect(milk.title == "Oat milk")
        for merge in try tablet.merges.all() { try merge.accept() }
        #expect(try phone.merges.all().isEmpty)
        try testbed.finish()
    }

    @Test func `when the later push wins, the merge on each device says which device wrote the lost value`() throws {
        let testbed = try SyncTestbed(models: [LaxTodo.self])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        let milk = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        let seen = try tablet.object(LaxTodo.self, id: #require(milk.id))
        phone.isOnline = false
        try testbed.run {
            seen.title = "Soy milk"
            try await seen.save().confirmed()
        }
        try testbed.advance(by: .seconds(10))
        milk.title = "Oat milk"
        try testbed.run { try await milk.save() }
        phone.isOnline = true
        try testbed.settle()
        #expect(seen.title == "Oat milk")
        for (device, isLoser) in [(phone, false), (tablet, true)] {
            let merge = try #require(try device.merges.all().first)
            #expect(merge.fields.map(\.lostBy.isThisDevice) == [isLoser])
            #expect(merge.fields.map(\.keptBy.isThisDevice) == [!isLoser])
            try merge.accept()
        }
        try testbed.finish()
    }

    @Test func `an edit staged before the value of another device arrives conflicts with that value`() throws {
        let testbed = try SyncTestbed(models: [LaxTodo.self])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        let milk = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        // An edit is staged on the phone, as in an open form. It hides the value that arrives.
        milk.title = "Oat milk"
        let seen = try tablet.object(LaxTodo.self, id: #require(milk.id))
        try testbed.run {
            seen.title = "Soy milk"
            try await seen.save().confirmed()
        }
        try testbed.settle()
        #expect(milk.title == "Oat milk")
        try testbed.run { try await milk.save() }
        try testbed.settle()
        #expect(seen.title == "Oat milk")
        for device in [phone, tablet] {
            let merge = try #require(try device.merges.all().first)
            #expect(merge.fields.map { $0.lost(milk.fields.title) } == ["Soy milk"])
            try merge.accept()
        }
        // The object now shows the current value, so the next edit of it is not a conflict.
        milk.title = "Rice milk"
        try testbed.run { try await milk.save().confirmed() }
        try testbed.settle()
        #expect(try phone.merges.all().isEmpty && tablet.merges.all().isEmpty)
        try testbed.finish()
    }

    @Test func `a delete conflicts with a value that an unsaved edit of the object hides`() throws {
        let testbed = try SyncTestbed(models: [LaxTodo.self])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        let milk = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        milk.title = "Oat milk"
        let seen = try tablet.object(LaxTodo.self, id: #require(milk.id))
        try testbed.run {
            seen.title = "Soy milk"
            try await seen.save().confirmed()
        }
        try testbed.settle()
        try testbed.run { try await milk.delete() }
        try testbed.settle()
        for device in [phone, tablet] {
            let merge = try #require(try device.merges.all().first)
            #expect(merge.fields.map { $0.lost(milk.fields.title) } == ["Soy milk"])
            try merge.accept()
        }
        try testbed.finish()
    }

    @Test func `a reference to a deleted record reads as nil on a device that holds no object of that record`() throws {
        let testbed = try SyncTestbed(models: [Todo.self, Person.self])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        let ned = try testbed.run { try await phone.create(Person.self) { $0.name = "Ned" } }
        let milk = try testbed.run {
            try await phone.create(Todo.self) {
                $0.title = "Milk"
                $0.owner = ned
            }
        }
        let seen = try tablet.object(Todo.self, id: try #require(milk.id))
        try testbed.settle()
        #expect(try tablet.objects.object(Person.self, id: #require(ned.id)).presence == .here)
        try testbed.run { try await ned.delete() }
        try testbed.settle()
        #expect(milk.owner == nil && seen.owner == nil)
        #expect(seen.edits.isEmpty)
        try testbed.finish()
    }

    @Test func `an edit staged before the record arrives conflicts with the values of the record`() throws {
        let testbed = try SyncTestbed(models: [LaxTodo.self])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        tablet.isOnline = false
        let milk = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        let awaited = try tablet.object(LaxTodo.self, uid: milk.uid)
        awaited.title = "Oat milk"
        tablet.isOnline = true
        try testbed.settle()
        try testbed.run { try await awaited.save() }
        try testbed.settle()
        #expect(milk.title == "Oat milk")
        for device in [phone, tablet] {
            let merge = try #require(try device.merges.all().first)
            #expect(merge.fields.map { $0.lost(milk.fields.title) } == ["Milk"])
            try merge.accept()
        }
        try testbed.finish()
    }

    @Test func `a merge with a deletion has the lost value and no kept value`() throws {
        let testbed = try SyncTestbed(models: [LaxTodo.self])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        let milk = try testbed.run { try await phone.create(LaxTodo.self) { $0.title = "Milk" } }
        try testbed.settle()
        tablet.isOnline = false
        let seen = try tablet.object(LaxTodo.self, id: #require(milk.id))
        try testbed.run { try await seen.delete() }
        milk.title = "Oat milk"
        try testbed.run { try await milk.save() }
        try testbed.settle()
        tablet.isOnline = true
        try testbed.settle()
        let merge = try #require(try phone.merges.all().first)
        #expect(merge.fields.map(\.isDeletion) == [true])
        #expect(merge.fields[0].lostBy.isThisDevice && merge.fields[0].keptBy.account == "tablet")
        #expect(merge.fields[0].kept(milk.fields.title) == nil)
        #expect(merge.fields[0].lost(milk.fields.title) == "Oat milk")
        #expect("\(merge)" == "merged: todo.title: 'Oat milk' was lost, because the record was deleted")
        for device in [phone, tablet] {
            for merge in try device.merges.all() { try merge.accept() }
        }
        try testbed.finish()
    }
}
