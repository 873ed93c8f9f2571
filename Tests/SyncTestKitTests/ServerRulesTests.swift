import SyncModel
import SyncObjects
import SyncTestKit
import TestRings
import Testing
import TomboloModeling

private struct Note: Model {
    static let collection = "note"
    let text = Field<String>("text", .required)
    let author = Field<String?>("author")
}

private struct Ticket: Model {
    static let collection = "ticket"
    let seat = Field<Int>("seat", .merge(.serverWins), default: 0)
    let approved = Field<Bool>("approved", default: false)
    let step = Field<Int>("step", default: 0)
}

/// Rules over two fields, and over the steps of a number.
private func ticketRules(_ server: inout ServerApplication) {
    server.validate(Ticket.self) { write in
        guard let ticket = write.proposed, ticket.approved, ticket.seat > 1 else { return }
        throw ServerRejection(code: "bad_seat", message: "approved only in seat 0 or 1", fields: ["approved"])
    }
    server.validate(Ticket.self) { write in
        guard let before = write.before, let after = write.proposed, after.step > before.step + 1 else { return }
        throw ServerRejection(code: "too_fast", message: "one step at a time", fields: ["step"])
    }
}

private struct Stranger: Model {
    static let collection = "stranger"
    let name = Field<String>("name")
}

/// The rules of an application's server, as the server program takes them.
private func noteRules(_ server: inout ServerApplication) {
    server.authorize(Note.self) { write in
        write.record.map { $0.author == write.principal.name } ?? (write.kind == .create)
    }
    server.validate(Note.self) { write in
        guard write.proposed?.text != "spam" else {
            throw ServerRejection(code: "spam", message: "'spam' is not a note", fields: ["text"])
        }
    }
}

/// A testbed and a test server judge pushes by the application's own rules.
@Suite(.ring(.unit)) struct ServerRulesTests {
    @Test func `a testbed rejects what the rules of the server reject, with their code and fields`() throws {
        let testbed = try SyncTestbed(models: [Note.self], rules: noteRules)
        let phone = try testbed.device("phone")
        try testbed.run {
            try await phone.create(Note.self) { $0.text = "spam" }
            try await phone.create(Note.self) { $0.text = "milk" }
        }
        try testbed.settle()
        let rejections = try phone.rejections.all()
        #expect(rejections.map(\.code.rawValue) == ["spam"])
        #expect(rejections.map(\.message) == ["'spam' is not a note"])
        #expect(rejections.first?.fields.map(\.field) == ["text"])
        #expect(try testbed.run { try await phone.query(Note.self).snapshots().map(\.text) } == ["milk"])
        try rejections.first?.discard()
        try testbed.finish()
    }

    @Test func `a device does not get the name of a field that the model does not have`() throws {
        let testbed = try SyncTestbed(models: [Note.self]) { server in
            server.validate(Note.self) { _ in
                throw ServerRejection(code: "spam", message: "no", fields: ["txet", "text"])
            }
        }
        let phone = try testbed.device("phone")
        try testbed.run { try await phone.create(Note.self) { $0.text = "milk" } }
        try testbed.settle()
        let rejection = try #require(try phone.rejections.all().first)
        #expect(rejection.fields.map(\.field) == ["text"])
        try rejection.discard()
        try testbed.finish()
    }

    /// Regression test: the device held the transaction as if an upgrade of the server could accept it.
    @Test(arguments: [
        "unknown_field", "unknown_collection", "lost", "depends_on_rejected", "record_deleted", "duplicate_record",
    ])
    func `a rule that uses a code of the protocol rejects under another one`(code: String) throws {
        let testbed = try SyncTestbed(models: [Note.self]) { server in
            server.validate(Note.self) { _ in throw ServerRejection(code: code, message: "no") }
        }
        let phone = try testbed.device("phone")
        try testbed.run { try await phone.create(Note.self) { $0.text = "milk" } }
        try testbed.settle()
        let rejection = try #require(try phone.rejections.all().first)
        #expect(rejection.code.rawValue == "rule_\(code)")
        try rejection.discard()
        try testbed.finish()
    }

    /// Regression test: the second save returned a receipt that was confirmed at once, although its caller's edit was
    /// on the way, and rejected later.
    @Test func `a save whose edits another save has written waits for that one`() throws {
        let testbed = try SyncTestbed(models: [Note.self], rules: noteRules)
        let phone = try testbed.device("phone")
        let note = try testbed.run {
            try await phone.create(Note.self) { note in
                note.text = "milk"
                note.author = "phone"
            }
        }
        try testbed.settle()
        phone.isOnline = false
        try testbed.run {
            note.text = "spam"
            try await note.save()
            let second = try await note.save()
            let third = try await phone.write { $0.edit(note) }
            #expect(second.isEmpty && third.isEmpty)
            phone.isOnline = true
            for receipt in [second, third] {
                let error = await #expect(throws: ModelError.self) { try await receipt.confirmed() }
                #expect(error?.code == .rejected && error?.message.contains("not a note") == true, "\(error as Any)")
            }
            // Nothing of the object is on its way any more.
            #expect(try await note.save().confirmed() == note.uid)
        }
        for rejection in try phone.rejections.all() { try rejection.discard() }
        try testbed.settle()
        try testbed.finish()
    }

    @Test func `a device made after the server was replaced has the models of the new server`() throws {
        let testbed = try SyncTestbed(models: [Note.self])
        try testbed.replaceServer(models: [Note.self, Stranger.self])
        let phone = try testbed.device("phone")
        try testbed.run { try await phone.create(Stranger.self) { $0.name = "Jaqen" }.create().confirmed() }
        try testbed.settle()
        try testbed.finish()
    }

    @Test func `a change of a query lists a record whose uid has arrived, without fields`() throws {
        let testbed = try SyncTestbed(models: [Note.self])
        let phone = try testbed.device("phone")
        let change = try testbed.run {
            var changes = phone.query(Note.self).changes.makeAsyncIterator()
            _ = try await changes.next()
            let note = try await phone.create(Note.self) { $0.text = "milk" }
            let created = try #require(try await changes.next())
            #expect(created.inserted == [note] && created.changed.isEmpty)
            try await note.create().confirmed()
            return try #require(try await changes.next())
        }
        #expect(change.inserted.isEmpty && change.removed.isEmpty && change.moved.isEmpty)
        #expect(change.changed.map(\.object.text) == ["milk"])
        #expect(change.changed.map(\.fields.fields) == [[]])
        try testbed.finish()
    }

    @Test func `objects of a stopped device throw, and those of the next run do not`() throws {
        let testbed = try SyncTestbed(models: [Note.self])
        let phone = try testbed.device("phone")
        let old = try testbed.run { try await phone.create(Note.self) { $0.text = "milk" } }
        try testbed.settle()
        phone.stop()
        for isOn in [false, true] {
            if isOn { try phone.start() }
            old.text = "oat milk"
            let failure = #expect(throws: ModelError.self) { try testbed.run { try await old.save() } }
            #expect(failure?.message.contains("closed") == true, "\(failure?.message ?? "")")
            #expect(throws: ModelError.self) { _ = try old.sync }
            guard !isOn else { continue }
            #expect(throws: ModelError.self) { try testbed.run { try await phone.query(Note.self).all() } }
        }
        let id = try #require(old.id)
        try testbed.run {
            let note = try phone.object(Note.self, id: id)
            #expect(note.text == "milk")
            note.text = "oat milk"
            try await note.save()
        }
        try testbed.settle()
        try testbed.finish()
    }

    @Test func `devices of one account have its rights, and those of another have not`() throws {
        let testbed = try SyncTestbed(models: [Note.self], rules: noteRules)
        let phone = try testbed.device("phone", account: "ned")
        let tablet = try testbed.device("tablet", account: "ned")
        let other = try testbed.device("laptop", account: "rob")
        let note = try testbed.run {
            try await phone.create(Note.self) { note in
                note.text = "milk"
                note.author = "ned"
            }
        }
        try testbed.settle()
        let id = try #require(note.id)
        try testbed.run {
            let seen = try tablet.object(Note.self, id: id)
            seen.text = "oat milk"
            try await seen.save().confirmed()
        }
        try testbed.settle()
        try testbed.run {
            let seen = try other.object(Note.self, id: id)
            seen.text = "beer"
            try await seen.save()
        }
        try testbed.settle()
        let rejection = try #require(try other.rejections.all().first)
        #expect(rejection.code == .forbidden)
        #expect(note.text == "oat milk")
        try rejection.discard()
        try testbed.finish()
    }

    @Test func `a rule that fails or hangs holds a push back, and the device tries again`() throws {
        struct Unavailable: Error {}
        let testbed = try SyncTestbed(models: [Note.self]) { server in
            server.validate { _, _ in throw Unavailable() }
        }
        let phone = try testbed.device("phone")
        try testbed.settle()
        try testbed.run { try await phone.create(Note.self) { $0.text = "milk" } }
        #expect(throws: TestbedError.self) { try testbed.settle(within: .seconds(60)) }
        try testbed.replaceServer(models: [Note.self]) { server in
            // Each call needs its own stream, because a cancelled stream ends for all calls.
            server.validate { _, _ in for await _ in AsyncStream(Void.self, { _ in }) {} }
        }
        #expect(throws: TestbedError.self) { try testbed.settle(within: .seconds(60)) }
        try testbed.replaceServer(models: [Note.self], rules: noteRules)
        try testbed.settle()
        try testbed.finish()
    }

    /// Regression test: the rules judged the pushed values, of which the merge then stored only some.
    @Test func `a rule over two fields holds when the edit of one of them loses the merge`() throws {
        let testbed = try SyncTestbed(models: [Ticket.self], rules: ticketRules)
        let phone = try testbed.device("phone", account: "ned")
        let tablet = try testbed.device("tablet", account: "ned")
        let ticket = try testbed.run { try await phone.create(Ticket.self) { _ in } }
        try testbed.settle()
        let id = try #require(ticket.id)
        tablet.isOnline = false
        try testbed.run {
            ticket.seat = 5
            try await ticket.save().confirmed()
            let other = try tablet.object(Ticket.self, id: id)
            other.seat = 1
            other.approved = true
            try await other.save()
        }
        tablet.isOnline = true
        try testbed.settle()
        #expect(try tablet.rejections.all().map(\.code.rawValue) == ["bad_seat"])
        #expect(ticket.seat == 5 && !ticket.approved)
        for rejection in try tablet.rejections.all() { try rejection.discard() }
        try testbed.finish()
    }

    /// Regression test: each edit of one record needed a push of its own.
    @Test func `edits of one record that wait are judged one by one, in one push`() throws {
        let testbed = try SyncTestbed(models: [Ticket.self], rules: ticketRules)
        let phone = try testbed.device("phone")
        let ticket = try testbed.run { try await phone.create(Ticket.self) { _ in } }
        try testbed.settle()
        let pushes = Self.pushes(of: phone)
        phone.isOnline = false
        try testbed.run {
            for step in [1, 2, 9, 3] {
                try await phone.write { $0.edit(ticket) { $0.step = step } }
            }
        }
        phone.isOnline = true
        try testbed.settle()
        #expect(try phone.rejections.all().map(\.code.rawValue) == ["too_fast"])
        #expect(Self.pushes(of: phone) == pushes + 1)
        for rejection in try phone.rejections.all() { try rejection.discard() }
        try testbed.finish()
    }

    private static func pushes(of device: TestbedDevice) -> Int {
        device.server.log.count { entry in
            if case .call(.push, _, _) = entry { true } else { false }
        }
    }

    @Test func `the rules decide who reads which space`() throws {
        let testbed = try SyncTestbed(models: [Note.self], spaces: [.default, "team"]) { server in
            server.authorizeSpaces { principal, space, _ in space == .default || principal.name == "ned" }
        }
        let (ned, rob) = (try testbed.device("ned"), try testbed.device("rob"))
        try testbed.run { try await ned.create(Note.self, in: "team") { $0.text = "milk" } }
        try testbed.settle()
        #expect(try testbed.run { try await rob.query(Note.self).count() } == 0)
        try testbed.run { try await rob.create(Note.self, in: "team") { $0.text = "beer" } }
        try testbed.settle()
        #expect(try rob.rejections.all().map(\.code) == [.forbidden])
        try rob.rejections.all().first?.discard()
        try testbed.finish()
    }

    @Test func `a rule for a model that is not served is an error`() throws {
        let typed = #expect(throws: ModelDeclarationError.self) {
            try SyncTestbed(models: [Note.self]) { server in server.authorize(Stranger.self) { _ in false } }
        }
        #expect(typed?.code == .unknownModel)
        let named = #expect(throws: ModelDeclarationError.self) {
            try SyncTestbed(models: [Note.self]) { server in server.authorize("stranger") { _ in false } }
        }
        #expect(named?.message.contains("a rule for the collection stranger") == true)
    }
}
