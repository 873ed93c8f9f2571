import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@testable import SyncProgram
@testable import TomboloServer

/// Tests the output of the commands that show the state of a server.
@Suite struct ServerStatusTests {
    private static let program = ServerOptions.program.name
    private static let team = SpaceOverview(
        SpaceSummary(space: "team_7", members: 2, extent: SpaceExtent(head: Version(9), horizon: Version(4))),
        records: ["user": 11, "avatar": 1], conflicts: 3)
    private static let unused = SpaceOverview(
        SpaceSummary(space: "unused", members: 1, extent: .empty), records: [:], conflicts: 0)
    private static let home = SpaceOverview(
        SpaceSummary(space: .default, members: 0, extent: SpaceExtent(head: Version(1), horizon: .zero)),
        records: ["user": 1], conflicts: 1)
    private static let left = SpaceOverview(
        SpaceSummary(space: "left", members: 0, extent: SpaceExtent(head: Version(1), horizon: Version(1))),
        records: [:], conflicts: 0)

    private static func overview(_ spaces: [SpaceOverview], clients: Int = 2) -> AuthorityOverview {
        AuthorityOverview(
            epoch: Epoch(rawValue: "e-1"), catalogRevision: 77, collections: ["user", "avatar"], spaces: spaces,
            clients: clients)
    }

    private static func status(
        _ overview: AuthorityOverview, _ database: ServerDatabase = .postgres(schema: "tombolo"),
        hasOwnRule: Bool = false
    ) -> ServerStatus {
        ServerStatus(overview: overview, database: database, hasOwnRule: hasOwnRule, environment: .test)
    }

    private static func text(_ status: ServerStatus) -> String { status.lines.map(\.rendered).joined() }

    @Test func `a status says what is stored, who has access, and whether a server runs`() {
        let file = ServerDatabase.sqlite(
            file: "/srv/authority.sqlite", bytes: 1_234_567, walBytes: 4_152, isServed: true)
        #expect(
            Self.text(Self.status(Self.overview([Self.home, Self.left, Self.team, Self.unused]), file)) == """
                server       a server runs
                history      e-1
                models       2 collections (avatar, user), revision 77
                space        default at version 1, horizon 0; 1 record (user 1); open to every account; 1 conflict
                space        left at version 1, horizon 1; no records; closed, without members; no conflicts
                space        team_7 at version 9, horizon 4; 12 records (avatar 1, user 11); 2 members; 3 conflicts
                space        unused has no commits; no records; 1 member; no conflicts
                clients      2 have pushed (\(Self.program) clients)
                database     /srv/authority.sqlite: 1.2 MB, and 4.1 kB in its WAL
                environment  test

                """)
        #expect(
            Self.status(Self.overview([Self.home, Self.team]), file).line.text == #"""
                {"server_runs":true,"epoch":"e-1","collections":["user","avatar"],"models_revision":77,"spaces":[\#
                {"space":"default","version":1,"horizon":0,"records":1,"records_by_collection":{"user":1},\#
                "access":"open","members":0,"conflicts":1},\#
                {"space":"team_7","version":9,"horizon":4,"records":12,"records_by_collection":{"avatar":1,"user":11},\#
                "access":"members","members":2,"conflicts":3}],\#
                "clients":2,"database":"/srv/authority.sqlite","database_bytes":1234567,"wal_bytes":4152,\#
                "environment":"test"}
                """#)
    }

    @Test func `a status of a server in PostgreSQL does not guess whether a server runs`() {
        let empty = AuthorityOverview(
            epoch: Epoch(rawValue: "e-1"), catalogRevision: 0, collections: [], spaces: [], clients: 0)
        #expect(
            Self.text(Self.status(empty)) == """
                history      e-1
                models       none are stored before a server has started
                space        none has members or commits
                clients      none has pushed
                database     PostgreSQL, schema tombolo
                environment  test

                """)
        #expect(
            Self.status(empty).line.text
                == #"{"server_runs":null,"epoch":"e-1","collections":[],"models_revision":0,"spaces":[],"clients":0,"postgres_schema":"tombolo","environment":"test"}"#
        )
    }

    @Test func `a program with its own rule for access shows the rule instead of members`() {
        let status = Self.status(Self.overview([Self.home], clients: 1), hasOwnRule: true)
        #expect(Self.text(status).contains("1 record (user 1); access by the rule of the program; 1 conflict\n"))
        #expect(Self.text(status).contains("clients      1 has pushed (\(Self.program) clients)\n"))
        #expect(status.line.text.contains(#""access":"rule""#))
    }

    @Test func `the text of a server with many spaces stays on one screen, and the line for scripts has all`() {
        let spaces = (10..<50).map { number in
            SpaceOverview(
                SpaceSummary(space: SpaceID(unchecked: "s\(number)"), members: 1, extent: .empty), records: [:],
                conflicts: 0)
        }
        let status = Self.status(Self.overview(spaces))
        let rows = status.lines.map(\.rendered).filter { $0.hasPrefix("space") }
        #expect(rows.count == ServerStatus.shownSpaces + 1)
        #expect(rows.last == "space        and 20 more (\(Self.program) status --json)\n")
        #expect(status.line.text.contains(#""space":"s49""#))
    }

    @Test(
        arguments: [
            (0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (999_999, "999.9 kB"), (1_000_000, "1.0 MB"),
            (1_234_567_890, "1.2 GB"), (9_999_999_999_999_999, "9999.9 TB"),
        ] as [(Int64, String)])
    func `a size has one digit after the point`(bytes: Int64, text: String) {
        #expect(SizeText.text(bytes) == text)
    }

    private static let identity = ClientIdentity(
        client: ClientID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7000, low: 0x8000_0000_0000_0001)), incarnation: 2)

    private static func client(_ next: Int64, _ outcome: Outcome?, at time: WallTime?) -> ClientSummary {
        ClientSummary(
            StoredClient(
                identity: identity, principal: Principal(name: "ned"),
                ledger: Ledger(next: TransactionNumber(next), acknowledged: TransactionNumber(next / 2))),
            lastOutcome: outcome, lastCommit: time)
    }

    @Test func `a client has its account, its progress, and the time of its last commit`() {
        let applied = Self.client(
            5, .applied(version: Version(3), uids: [], conflicts: []), at: WallTime(milliseconds: 1_800_000_000_999))
        #expect(
            ClientText.line(applied).rendered
                == "01935a1b-2c3d-7000-8000-000000000001\tned\t2\t4\tapplied\t2027-01-15T08:00:00Z")
        #expect(
            ClientText.json(applied).text
                == #"{"client":"01935a1b-2c3d-7000-8000-000000000001","account":"ned","incarnation":2,"replaced":false,"last_answered":4,"acknowledged_below":2,"outcome":"applied","committed_at":"2027-01-15T08:00:00Z"}"#
        )
        let rejected = Self.client(1, .rejected(Rejection(code: .forbidden, message: "", mutation: nil)), at: nil)
        #expect(
            ClientText.line(rejected).rendered
                == "01935a1b-2c3d-7000-8000-000000000001\tned\t2\t0\trejected\t-")
        let bound = Self.client(0, nil, at: nil)
        #expect(
            ClientText.line(bound).rendered == "01935a1b-2c3d-7000-8000-000000000001\tned\t2\t-\t-\t-")
        #expect(
            ClientText.json(bound).text.hasSuffix(
                #""last_answered":null,"acknowledged_below":0,"outcome":null,"committed_at":null}"#))
    }

    @Test func `an account with unsafe characters does not reach a terminal`() {
        let summary = ClientSummary(
            StoredClient(identity: Self.identity, principal: Principal(name: "\u{1B}[2J"), ledger: .empty),
            lastOutcome: nil, lastCommit: nil)
        #expect(ClientText.line(summary).rendered.contains("\t\\u{1B}[2J\t"))
    }
}
