import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests that an application can add a model to those of the community with public API only.
@Suite struct BadgeTests {
    @Test(arguments: [true, false])
    func `an application can add a model that refers to the community's models`(isMock: Bool) async throws {
        let models = try ModelCatalog(CommunityCatalog.models + [Badge.self])
        let folder = try ScratchFolder()
        let runtime = EngineRuntime.mock()
        let source: any ModelSource =
            isMock
            ? MockSource(catalog: models.schemas)
            : StoredSource(store: try folder.open(runtime, catalog: models.schemas), server: .none)
        let objects = LiveObjects(source: source, models: models, runtime: runtime)
        let community = try Community(objects)

        let user = community.users.make(username: "Ned Stark")
        let badge = try objects.draft(Badge.self) { badge in
            badge.refer(badge.fields.owner, to: user)
            badge.title = "Hand of the King"
        }
        try await badge.create()
        #expect(user.presence == .here, "the draft that it refers to is created along with it")
        #expect(badge.owner === user)
        #expect(try await objects.query(Badge.self).where { $0.owner == user.id }.first() === badge)

        let bad = try objects.draft(Badge.self) { $0.title = "hand of the king" }
        bad.owner = badge.owner
        let failure = await #expect(throws: ModelError.self) { try await bad.create() }
        #expect(failure?.message == "badge.title must begin with a capital letter")
    }
}

private struct Badge: Model {
    static let collection = "badge"

    let owner = Reference<UserModel>("owner", .required)
    let title = Field<String>("title", .required, .length(1...80), .rule(capital))

    private static let capital = FieldRule(name: "capital") { text in
        text.first?.isUppercase == true ? nil : "must begin with a capital letter"
    }
}
