import SyncTestKit
import Testing
import Tombolo

@testable import contacts

/// Tests the contact book on two devices, on virtual time.
@Suite struct ContactsTests {
    private func run(_ testbed: SyncTestbed, _ device: TestbedDevice, _ arguments: String...) throws -> [String] {
        let command = try Command(arguments)
        return try testbed.run {
            var lines: [String] = []
            try await command.run(on: ContactBook(access: device)) { lines.append($0) }
            return lines
        }
    }

    @Test func `a contact that is added offline reaches the other device with its company`() throws {
        let testbed = try SyncTestbed(models: ContactBook.models)
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        phone.isOnline = false
        _ = try run(testbed, phone, "add", "Ned Stark", "email=ned@winterfell.example", "company=Winterfell")
        let line = "Ned Stark  ned@winterfell.example  at Winterfell"
        #expect(try run(testbed, phone, "list") == [line + " [not confirmed]"])
        phone.isOnline = true
        try testbed.settle()
        #expect(try run(testbed, phone, "list", "Ned") == [line])
        #expect(try run(testbed, tablet, "list") == [line])
        _ = try run(testbed, tablet, "add", "Arya Stark", "company=Winterfell")
        _ = try run(testbed, tablet, "edit", "Ned Stark", "email=", "phone=1")
        try testbed.settle()
        #expect(try run(testbed, phone) == ["Arya Stark  at Winterfell", "Ned Stark  1  at Winterfell"])
        #expect(try testbed.run { try await phone.query(Company.self).count() } == 1)
        _ = try run(testbed, phone, "remove", "Ned Stark")
        try testbed.settle()
        #expect(try run(testbed, tablet, "list", "Ned").isEmpty)
        try testbed.finish()
    }

    @Test func `edits of two devices are merged by field, and a lost name can be put back`() throws {
        let testbed = try SyncTestbed(models: ContactBook.models)
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        _ = try run(testbed, phone, "add", "Ned")
        try testbed.settle()
        phone.isOnline = false
        _ = try run(testbed, phone, "edit", "Ned", "phone=1", "name=Eddard")
        try testbed.advance(by: .seconds(5))
        _ = try run(testbed, tablet, "edit", "Ned", "notes=hand\u{1B}", "name=Lord Stark")
        try testbed.settle()
        phone.isOnline = true
        try testbed.settle()
        #expect(try run(testbed, phone, "list") == ["Lord Stark  1  hand "])
        let problems = try run(testbed, phone, "problems")
        #expect(problems.count == 1)
        let number = try #require(problems.first?.split(separator: " ").first.map(String.init))
        _ = try run(testbed, phone, "retry", number)
        try testbed.settle()
        #expect(try run(testbed, tablet, "list") == ["Eddard  1  hand "])
        for device in [phone, tablet] {
            for problem in try run(testbed, device, "problems") {
                _ = try run(testbed, device, "discard", String(problem.prefix { $0 != " " }))
            }
        }
        try testbed.finish()
    }

    /// The model of contacts on a server that rejects long phone numbers.
    private struct StrictContact: Model {
        static let collection = "contact"
        let name = Field<String>("name", .required)
        let phone = Field<String?>("phone", .length(1...5))
        let email = Field<String?>("email")
        let notes = Field<String?>("notes")
        let company = Reference<Company>("company")
    }

    @Test func `a refused contact is shown with the field at fault until somebody decides`() throws {
        let testbed = try SyncTestbed(models: [StrictContact.self, Company.self])
        let phone = try testbed.device("phone", models: ContactBook.models)
        _ = try run(testbed, phone, "add", "Ned", "phone=123456")
        try testbed.settle()
        #expect(try run(testbed, phone, "list").isEmpty)
        let problem = try #require(try run(testbed, phone, "problems").first)
        #expect(
            problem.contains("rejected (phone): ")
                && problem.hasSuffix(": Ned: create contact: name 'Ned', phone '123456'"),
            "\(problem)")
        _ = try run(testbed, phone, "discard", String(problem.prefix { $0 != " " }))
        #expect(try run(testbed, phone, "problems").isEmpty)
        try testbed.finish()
    }

    @Test func `of two contacts with the same name, one is chosen by its id`() throws {
        let testbed = try SyncTestbed(models: ContactBook.models)
        let phone = try testbed.device("phone")
        for number in ["phone=1", "phone=2"] { _ = try run(testbed, phone, "add", "Ned", number) }
        let failure = try #require(throws: BookError.self) { try run(testbed, phone, "edit", "Ned", "phone=3") }
        let choice = try #require(failure.description.split(separator: "\n").first { $0.hasSuffix("  Ned  2") })
        _ = try run(testbed, phone, "edit", String(choice.split(separator: " ")[0]), "name=Eddard")
        try testbed.settle()
        #expect(try run(testbed, phone) == ["Eddard  2", "Ned  1"])
        _ = try run(testbed, phone, "remove", "Ned")
        #expect(throws: BookError.self) { try run(testbed, phone, "remove", "019b773a-3e83-7ddc-a49c-f7043f2084cb") }
        try testbed.finish()
    }

    @Test func `a contact outlives its company, and refers only to companies of its own space`() throws {
        let testbed = try SyncTestbed(models: ContactBook.models, spaces: [.default, "team"])
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        try testbed.run {
            _ = try await tablet.create(Company.self, in: "team") { $0.name = "Winterfell" }
        }
        _ = try run(testbed, tablet, "add", "Ned", "company=Winterfell")
        try testbed.settle()
        #expect(try run(testbed, phone) == ["Ned  at Winterfell"])
        #expect(try testbed.run { try await tablet.query(Company.self).count() } == 2)
        _ = try testbed.run { try await phone.query(Contact.self).all().first?.company?.delete() }
        try testbed.settle()
        #expect(try run(testbed, tablet) == ["Ned"])
        try testbed.finish()
    }

    @Test func `wrong input is refused with what was expected`() async throws {
        #expect(throws: BookError.self) { try Command(["frobnicate"]) }
        #expect(
            throws: BookError(
                "'fone=1' is not a valid detail; expected name=, phone=, email=, company=, notes=, and a name that is not empty"
            )
        ) {
            try Command(["add", "Ned", "fone=1"])
        }
        #expect(throws: BookError.self) { try Command(["retry", "one"]) }
        let testbed = try SyncTestbed(models: ContactBook.models)
        let phone = try testbed.device("phone")
        #expect(throws: BookError("there is no 'Ned'")) { try run(testbed, phone, "edit", "Ned", "phone=1") }
        let failure = #expect(throws: ModelError.self) { try run(testbed, phone, "add", "Ned", "email=nowhere") }
        #expect(failure?.message.contains("has to be an address") == true)
        try testbed.finish()
    }
}
