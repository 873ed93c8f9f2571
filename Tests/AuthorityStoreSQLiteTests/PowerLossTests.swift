import AuthorityStoreSQLite
import SyncAuthority
import SyncModel
import SyncSimulation
import SyncTestKit
import TestRings
import Testing

/// Runs the real SQLite on a simulated disk that loses power. A push that was answered must be stored exactly once. Any
/// other push can be sent again.
@Suite struct PowerLossTests {
    @Test(.ring(.test), arguments: TestRing.sample(0..<8, 0..<24) as Range<UInt64>)
    func `an answered push survives a power loss, and an unanswered one is stored completely or not at all`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, stream: "power")
        let disk = SimulatedDisk(seed: seed)
        var process = disk.makeProcess()
        var answered = 0
        var losses = 0
        while answered < 12 {
            // The first process creates the database. Later processes may fail to open it and try again.
            if losses > 0 || random.below(2) == 0 {
                disk.plan(
                    DiskFault(
                        .changes, skip: random.below(60), times: 1,
                        effect: random.below(3) == 0 ? .fail(.inputOutput) : .losePower))
            }
            if let store = try? SQLiteAuthorityStore(
                singleConnectionTo: process.uri(for: "/authority.db"), newHistory: .fixed(Epoch(rawValue: "e")))
            {
                let authority = Authority(store: store, catalog: SQLiteAuthorityStoreTests.catalog)
                let head = try? store.read { view in try view.extent(of: .default).head
                }
                if let head {
                    let lost = "seed \(seed): \(head) after \(answered) answers"
                    #expect(head >= Version(Int64(answered)), "\(lost)")
                    #expect(head <= Version(Int64(answered) + 1), "\(lost)")
                }
                while answered < 12 {
                    let request = try SQLiteAuthorityStoreTests.request(answered)
                    guard
                        let response = try? authority.push(
                            request, by: Principal(name: "anna"), now: SQLiteAuthorityStoreTests.now)
                    else { break }
                    guard case .answered(let results, _, _) = response,
                        case .applied(let version, let uids, _) = results.first?.outcome
                    else {
                        Issue.record("seed \(seed): \(response)")
                        return
                    }
                    #expect(version == Version(Int64(answered) + 1))
                    #expect(uids.map(\.uid) == [UID(Int64(answered))])
                    answered += 1
                }
                try? store.close()
            }
            disk.clearPlans()
            if !process.isDead { disk.losePower(seed: random.next()) }
            process = disk.makeProcess()
            losses += 1
            try #require(losses < 200, "seed \(seed): no progress")
        }
        let store = try SQLiteAuthorityStore(
            singleConnectionTo: process.uri(for: "/authority.db"), newHistory: .fixed(Epoch(rawValue: "other")))
        let (state, commits) = try store.read { view in
            (
                try view.state(),
                try view.commits(in: .default, after: .zero, budget: PageBudget(rows: 100, bytes: 1 << 30))
            )
        }
        #expect(state.epoch == Epoch(rawValue: "e"))
        #expect(commits.map(\.version.rawValue) == Array(1...12))
        try store.close()
    }

    /// After a failed flush, Linux marks the pages as clean: they can still be read, but no later flush writes them.
    @Test(arguments: TestRing.sample(0..<8, 0..<32) as Range<UInt64>)
    func `data that a server serves is durable, even if an earlier process failed to flush it`(seed: UInt64) throws {
        let disk = SimulatedDisk(seed: seed)
        func open(_ process: DiskProcess) throws -> Authority {
            Authority(
                store: try SQLiteAuthorityStore(
                    singleConnectionTo: process.uri(for: "/authority.db"), newHistory: .fixed(Epoch(rawValue: "e"))),
                catalog: SQLiteAuthorityStoreTests.catalog)
        }
        func push(_ index: Int, to authority: Authority) throws {
            _ = try authority.push(
                SQLiteAuthorityStoreTests.request(index), by: Principal(name: "anna"),
                now: SQLiteAuthorityStoreTests.now)
        }
        func head(of process: DiskProcess) throws -> Version {
            let store = try SQLiteAuthorityStore(
                singleConnectionTo: process.uri(for: "/authority.db"), newHistory: .fixed(Epoch(rawValue: "other")))
            defer { try? store.close() }
            return try store.read { view in try view.extent(of: .default).head }
        }
        let first = disk.makeProcess()
        let failing = try open(first)
        try push(0, to: failing)
        disk.plan(DiskFault(.sync, of: .wal, times: 1, effect: .fail(.inputOutput)))
        #expect(throws: (any Error).self) { try push(1, to: failing) }
        try #require(disk.faultCount == 1)
        first.kill()

        let second = disk.makeProcess()
        let server = try open(second)
        // This push is either a repeat or is applied now.
        try push(1, to: server)
        try push(2, to: server)
        disk.losePower(seed: seed)
        #expect(try head(of: disk.makeProcess()) == Version(3))
    }

    @Test func `a disk that fails while the WAL is chosen is named, and tried again`() throws {
        let disk = SimulatedDisk(seed: 1)
        let process = disk.makeProcess()
        disk.plan(DiskFault(.sync, of: .database, times: 1, effect: .fail(.inputOutput)))
        let failure = #expect(throws: AuthorityStoreError.self) {
            try SQLiteAuthorityStore(
                singleConnectionTo: process.uri(for: "/authority.db"), newHistory: .fixed(Epoch(rawValue: "e")))
        }
        #expect(disk.faultCount == 1)
        #expect(failure?.code == .inputOutput, "\(failure?.message ?? "")")
        try SQLiteAuthorityStore(
            singleConnectionTo: process.uri(for: "/authority.db"), newHistory: .fixed(Epoch(rawValue: "e"))
        )
        .close()
    }
}
