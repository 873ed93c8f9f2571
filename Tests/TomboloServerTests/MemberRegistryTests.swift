import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@testable import SyncProgram
@testable import TomboloServer

/// Tests the words of the commands about the members of spaces.
@Suite struct MemberRegistryTests {
    private let authority = Authority(
        store: InMemoryAuthorityStore(epoch: Epoch(rawValue: "e")), catalog: SchemaCatalog([]),
        policy: AuthorityPolicy(access: .members), histories: CountedHistories())

    private var registry: MemberRegistry { MemberRegistry(authority, haveEffect: true) }

    private func set(_ space: SpaceID, _ name: String, _ role: SpaceRole, closing: Bool = false) throws -> String {
        try registry.set(Principal(name: name), in: space, to: role, closingDefault: closing).rendered
    }

    private func remove(_ space: SpaceID, _ name: String, opening: Bool = false) throws -> String {
        try registry.remove(Principal(name: name), from: space, openingDefault: opening).rendered
    }

    @Test func `a command says what has changed, and what was before`() throws {
        #expect(try set("team_7", "ned", .writer) == "ned is now a writer of team_7, and its only member\n")
        #expect(try set("team_7", "arya", .reader) == "arya is now a reader of team_7\n")
        #expect(try set("team_7", "arya", .writer) == "arya is now a writer of team_7, and was a reader before\n")
        #expect(try set("team_7", "arya", .writer) == "arya is a writer of team_7 already\n")
        #expect(try registry.lines(of: "team_7").map(\.rendered) == ["arya\twriter\n", "ned\twriter\n"])
        #expect(try registry.spaces().map(\.rendered) == ["team_7\t2\t0\n"])
        #expect(try remove("team_7", "ned") == "ned is no longer a member of team_7, and was a writer\n")
        #expect(
            try remove("team_7", "arya")
                == "arya is no longer a member of team_7, and was a writer; team_7 has no members, so nobody may read or write in it\n"
        )
    }

    @Test func `removing an account that is no member is an error that says who is one`() throws {
        let none = #expect(throws: ConfigurationError.self) { try remove("team_7", "ned") }
        #expect(none?.message == "ned is not a member of team_7; it has no members")
        #expect(none?.advice?.hasSuffix(" space list shows the spaces with members") == true)
        #expect(none?.mayPass == false)
        for number in 10...22 { _ = try set("team_7", "a\(number)", .reader) }
        let many = #expect(throws: ConfigurationError.self) { try remove("team_7", "ned") }
        let names = (10...19).map { "a\($0) (reader)" }.joined(separator: ", ")
        #expect(many?.message == "ned is not a member of team_7; it has \(names), and 3 more")
    }

    @Test func `default is closed, and opened again, only with consent`() throws {
        let closing = #expect(throws: ConfigurationError.self) { try set(.default, "ned", .writer) }
        #expect(closing?.message.hasPrefix("nothing was changed: every account may use the space default") == true)
        #expect(closing?.advice?.contains("--close-default") == true)
        #expect(
            try set(.default, "ned", .writer, closing: true)
                == "ned is now a writer of default, and its only member\n")
        let opening = #expect(throws: ConfigurationError.self) { try remove(.default, "ned") }
        #expect(opening?.message.hasPrefix("nothing was changed: ned is the last member of default") == true)
        #expect(opening?.advice?.contains("--open-default") == true)
        #expect(
            try remove(.default, "ned", opening: true)
                == "ned is no longer a member of default, and was a writer; default has no members, so every account may read and write in it\n"
        )
    }

    @Test func `a bound on members is named`() throws {
        let store = InMemoryAuthorityStore(epoch: Epoch(rawValue: "e"))
        try store.write { transaction in
            for number in 0..<AuthorityLimits.membersPerSpace {
                try transaction.set(.reader, of: Principal(name: "a\(number)"), in: "team_7")
            }
        }
        let full = MemberRegistry(
            Authority(store: store, catalog: SchemaCatalog([]), histories: CountedHistories()), haveEffect: true)
        let error = #expect(throws: ConfigurationError.self) {
            try full.set(Principal(name: "ned"), in: "team_7", to: .reader, closingDefault: false)
        }
        #expect(error?.message == "nothing was changed: team_7 has 10000 members; expected no more")
    }

    @Test func `a program with its own rule takes no members`() throws {
        let own = MemberRegistry(authority, haveEffect: false)
        let error = #expect(throws: ConfigurationError.self) {
            try own.set(Principal(name: "ned"), in: "team_7", to: .reader, closingDefault: false)
        }
        #expect(error?.message.contains("by its own rule") == true)
        #expect(try authority.members(of: "team_7").isEmpty)
    }
}
