import Models
import SyncCore
import SyncModel
import SyncTestKit
import Testing

/// A model that an application adds from outside, as the guide "add a model" shows it: with public names alone.
@Suite struct BadgeTests {
    @Test(arguments: [true, false])
    func `a model that an application adds lives beside the community's`(isMock: Bool) async throws {
        let catalog = SchemaCatalog(CommunityCatalog.catalog.models + [BadgeSchema.schema])
        let folder = try ScratchFolder()
        let runtime = EngineRuntime.mock()
        let source: any ModelSource =
            isMock
            ? MockSource(catalog: catalog)
            : StoredSource(store: try folder.open(runtime, catalog: catalog), server: .none)
        let objects = LiveObjects(source: source, runtime: runtime)
        let (users, badges) = (LiveUsers(objects), Badges(objects))

        let user = users.make(username: "Ned Stark")
        let badge = badges.make(owner: user, title: "Hand of the King")
        try await badge.create()
        #expect(user.presence == .here, "the draft that it refers to is created along with it")
        #expect(badge.owner === user)
        #expect(try await badges.badges(of: user).first === badge)

        let bad = badges.make(owner: user, title: "hand of the king")
        let failure = await #expect(throws: ModelFailure.self) { try await bad.create() }
        #expect(failure?.message == "badge.title has to begin with a capital")
    }
}

protocol Badge: Presentable {
    var owner: (any User)? { get }
    var title: String { get set }
}

enum BadgeSchema {
    static let schema = ModelSchema(
        collection: "badge",
        fields: [
            .reference("owner", to: "user", required: true),
            .text("title", required: true, bytes: 1...80, rule: capital),
        ])

    static let owner = schema.handle("owner")
    static let title = schema.handle("title")

    private static let capital = FieldRule(name: "capital") { text in
        text.first?.isUppercase == true ? nil : "has to begin with a capital"
    }

    static let kind = ModelKind(schema)
}

final class LiveBadge: LiveModel, Badge {
    static let kind = BadgeSchema.kind
    let record: LiveRecord

    init(record: LiveRecord) {
        self.record = record
    }

    var owner: (any User)? { record.object(BadgeSchema.owner, as: LiveUser.self) }

    var title: String {
        get { record.text(BadgeSchema.title) ?? "" }
        set { record.set(BadgeSchema.title, toText: newValue) }
    }

    var description: String { title }
}

struct Badges: Sendable {
    let objects: LiveObjects

    init(_ objects: LiveObjects) {
        self.objects = objects
    }

    func make(owner: any User, title: String) -> any Badge {
        objects.make(LiveBadge.self) { record in
            record.set(BadgeSchema.owner, to: owner)
            record.set(BadgeSchema.title, toText: title)
        }
    }

    func badges(of owner: any User) async throws(ModelFailure) -> [any Badge] {
        guard let id = owner.id else { return [] }
        let condition = RecordFilter(BadgeSchema.owner.name, equals: .reference(id))
        return try await objects.objects(
            LiveBadge.self, matching: RecordQuery(BadgeSchema.schema.collection, where: [condition]))
    }
}
