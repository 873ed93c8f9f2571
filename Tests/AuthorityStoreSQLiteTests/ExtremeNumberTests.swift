import Foundation
import SQLiteDatabase
import SyncAuthority
import SyncModel
import SyncTestKit
import SyncWire
import TestRings
import Testing

@testable import AuthorityStoreSQLite

/// Tests that a damaged number in the database is an error of the requests that read it, and ends no server.
@Suite(.ring(.check)) struct ExtremeNumberTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "note", fields: [.text("title"), .text("body")])
    ])
    private static let now = WallTime(milliseconds: 1_800_000_000_000)
    private static let anna = Principal(name: "anna")

    private static func client(_ number: UInt64) -> ClientIdentity {
        ClientIdentity(client: ClientID(bits: Identifier128(high: 9, low: number)), incarnation: 0)
    }

    private static func id(_ number: UInt64) -> RecordID { RecordID(bits: Identifier128(high: 7, low: number)) }

    private static func authority(_ folder: Folder) throws -> Authority {
        Authority(
            store: try folder.open(), catalog: catalog,
            policy: AuthorityPolicy(accounts: AccountLimits(bytes: 1 << 40, clients: 1 << 40)))
    }

    /// Pushes edits of two notes, of which the second client has not seen the first one's.
    private static func push(_ client: UInt64, _ number: Int64, to authority: Authority) throws {
        let time = HybridTime(wall: WallTime(milliseconds: now.milliseconds + number))
        let edits = [FieldEdit(field: "title", value: .text("by \(client)"), before: .null, seen: .zero)]
        let mutations = [
            Mutation(
                collection: "note", record: id(1), time: time,
                intent: client == 1 && number == 0 ? .create(["title": .text("first")]) : .update(edits)),
            Mutation(
                collection: "note", record: id(100 * client + UInt64(number)), time: time,
                intent: .create(["body": .text("x")])),
        ]
        let transaction = Transaction(space: .default, mutations: mutations)
        let numbered = NumberedTransaction(
            number: TransactionNumber(number), hash: try PayloadHash(of: transaction), transaction: transaction)
        _ = try authority.push(
            PushRequest(
                identity: Self.client(client), epoch: nil, acknowledged: TransactionNumber(number),
                transactions: [numbered]), by: anna, now: now)
    }

    /// Calls what a server calls, and ignores errors.
    private static func use(_ folder: Folder, _ cursor: Cursor?) throws {
        let authority = try authority(folder)
        for client in UInt64(1)...3 { try? push(client, client == 3 ? 0 : 2, to: authority) }
        for cursor in [nil, cursor] {
            let notices = NoticeRequest(clients: [client(1).client], after: 0, fingerprint: nil)
            _ = try? authority.pull(
                PullRequest(space: .default, cursor: cursor, limit: 3, notices: notices), by: anna, now: now)
        }
        _ = try? authority.hello(for: anna, now: now)
        _ = try? authority.overview()
        _ = try? authority.clients(limit: 9)
        _ = try? authority.recentCommits(in: .default, budget: PageBudget(rows: 9, bytes: 1_000))
        _ = try? authority.conflicts(in: .default, after: 0, limit: 9)
        try? authority.measureUsage()
        _ = try? authority.trimFeeds(to: FeedBound(commits: 1), slice: 1)
        _ = try? authority.trimConflicts(keeping: ConflictAmount(conflicts: 0), slice: 1)
        _ = try? authority.admit(anna, to: "team", as: .writer)
        _ = try? authority.startNewEpoch()
    }

    @Test(arguments: [Int64.max, .min])
    func `no number in the database ends a server`(number: Int64) throws {
        let original = try Folder()
        let store = try original.open()
        let authority = Authority(store: store, catalog: Self.catalog)
        for (client, number) in [(1, 0), (2, 0), (1, 1), (2, 1)] as [(UInt64, Int64)] {
            try Self.push(client, number, to: authority)
        }
        guard
            case .page(let page) = try authority.pull(
                PullRequest(space: .default, cursor: nil, limit: 2), by: Self.anna, now: Self.now)
        else {
            Issue.record("no page")
            return
        }
        #expect(try authority.conflicts(in: .default, after: 0, limit: 9).isEmpty == false)
        try store.close()
        let bytes = try Data(contentsOf: URL(filePath: original.file))
        let columns = try Self.columns(original)
        #expect(columns.count > 20, "\(columns)")
        for (table, column) in columns {
            let folder = try Folder()
            try folder.open().close()
            try bytes.write(to: URL(filePath: folder.file))
            // A constraint may forbid the number.
            guard (try? folder.execute("UPDATE OR IGNORE \(table) SET \(column) = \(number)")) != nil else { continue }
            try? Self.use(folder, page.cursor)
        }
    }

    private static func columns(_ folder: Folder) throws -> [(table: String, column: String)] {
        let connection = try Connection(opening: folder.file, busyTimeout: .zero)
        let statement = try connection.prepare(
            """
            SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
            WHERE tables.type = 'table' AND columns.type = 'INTEGER' ORDER BY 1, 2
            """)
        var columns: [(String, String)] = []
        while try statement.step() { columns.append((statement.text(0), statement.text(1))) }
        return columns
    }
}
