import AuthorityStoreSQLite
import SimulationRecipes
import SyncAuthority
import SyncModel
import SyncTestKit
import TestRings
import Testing

/// Tests that SQLite's work per record does not depend on the number of other records, or on how many of them refer to
/// the same record.
@Suite(.ring(.test)) struct WorkTests {
    /// An operation on all records. The work that prepares the database for it is not measured.
    enum Stage: CaseIterable {
        case created, createdAgain, edited, deleted, shown, followed, fetched
    }

    @Test(arguments: Stage.allCases)
    func `the work per record does not grow with the number of records`(stage: Stage) throws {
        let growth = try SQLiteWork.Growth(from: 200, times: 4) { try Self.steps(in: stage, of: $0) }
        #expect(growth.factor <= 1.25, "\(growth)")
    }

    private static func steps(in stage: Stage, of count: Int) throws -> [String: Int] {
        let folder = try Folder()
        let work = SQLiteWork(file: folder.file)
        let store = try folder.open()
        let server = try Server(store: store, count: count)
        if stage != .created { try server.run(.created) }
        _ = work.take()
        try server.run(stage)
        try store.close()
        return work.take()
    }
}

/// A server with a client that writes `count` pictures, all of which refer to one model.
private struct Server {
    let authority: Authority
    let count: Int
    /// A cursor from before the first commit.
    private let beginning: Cursor
    private let principal = Principal(name: "anna")
    private let now = WallTime(milliseconds: 1_800_000_000_000)
    private let model = RecordID(bits: Identifier128(high: 2, low: 0))

    init(store: SQLiteAuthorityStore, count: Int) throws {
        let catalog = SchemaCatalog([
            ModelSchema(collection: "model", fields: [.text("name")]),
            ModelSchema(
                collection: "picture", fields: [.text("title"), .reference("of", to: "model", required: true)]),
        ])
        authority = Authority(store: store, catalog: catalog)
        self.count = count
        guard
            case .page(let page) = try authority.pull(
                PullRequest(space: .default, cursor: nil, limit: 50), by: principal, now: now)
        else { throw Unanswered() }
        beginning = page.cursor
    }

    private struct Unanswered: Error {}

    func run(_ stage: WorkTests.Stage) throws {
        switch stage {
        case .created, .createdAgain:
            try push(0, mutation("model", model, .create(["name": .text("Saskia")])))
            for number in 1...count {
                let picture: Patch = ["title": .text("picture \(number)"), "of": .reference(model)]
                try push(number, mutation("picture", id(number), .create(picture)))
            }
        case .edited:
            for number in 1...count {
                let edit = FieldEdit(field: "title", value: .text("new"), before: .null, seen: Version(Int64(number)))
                try push(count + number, mutation("picture", id(number), .update([edit])))
            }
        case .deleted:
            for number in 1...count {
                try push(count + number, mutation("picture", id(number), .delete(seen: Version(Int64(number)))))
            }
        case .shown: try pull(after: nil)
        case .followed: try pull(after: beginning)
        case .fetched:
            for number in 1...count {
                for key in [RecordKey.id(id(number)), .uid(UID(Int64(number - 1)))] {
                    let request = FetchRequest(space: .default, collection: "picture", key: key)
                    guard try authority.fetch(request, by: principal, now: now) != nil else { throw Unanswered() }
                }
            }
        }
    }

    private func id(_ number: Int) -> RecordID { RecordID(bits: Identifier128(high: 1, low: UInt64(number))) }

    private func mutation(_ collection: CollectionName, _ id: RecordID, _ intent: Mutation.Intent) -> Mutation {
        Mutation(collection: collection, record: id, time: HybridTime(wall: now), intent: intent)
    }

    private func push(_ number: Int, _ mutation: Mutation) throws {
        let numbered = NumberedTransaction(
            number: TransactionNumber(Int64(number)), hash: PayloadHash(rawValue: "hash \(number)"),
            transaction: Transaction(space: .default, mutations: [mutation]))
        let request = PushRequest(
            identity: ClientIdentity(client: ClientID(bits: Identifier128(high: 0, low: 1)), incarnation: 0),
            epoch: nil,
            acknowledged: .first, transactions: [numbered])
        guard case .answered(let results, _, _) = try authority.push(request, by: principal, now: now),
            case .applied = results.first?.outcome
        else { throw Unanswered() }
    }

    private func pull(after cursor: Cursor?) throws {
        var cursor = cursor
        while true {
            let request = PullRequest(space: .default, cursor: cursor, limit: 50)
            guard case .page(let page) = try authority.pull(request, by: principal, now: now) else {
                throw Unanswered()
            }
            cursor = page.cursor
            if !page.hasMore { return }
        }
    }
}
