import BenchmarkUsers
import CRawSQLite
import Foundation
import SyncAuthority
import SyncModel
import SyncRuntimeLive

/// Edits of one field by ten devices that have not seen each other's, merged by the server with their conflicts
/// recorded.
///
/// The C program keeps a clock for each field, and a table of the values that lost. It leaves out rights, the ledger of
/// outcomes, the change feed, and the responses. Both commit 100 edits together.
struct MergeBenchmark {
    let settings: BenchmarkSettings
    private static let devices: Int64 = 10
    private static let edits: Int64 = 1_000

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() throws -> [Figure] {
        let path = try settings.subfolder("server-merge").appending(path: "server.db").path
        let authority = try SimulatedWriter.authority(at: path, durability: .normal)
        try SimulatedWriter(authority: authority).create(settings.rows)
        let raw = try DeviceDatabases(settings: settings).raw("raw-merge")
        defer { raw_close(raw) }
        let batch = Int64(authority.policy.transactionsPerWrite)
        // Few enough that edits meet, whatever exists beside them.
        let work = ConcurrentEdits(devices: Self.devices, edits: Self.edits, edited: min(2_000, settings.rows))
        var round: Int64 = 0
        return [
            try Comparison(
                row: .merge, name: "merge of 10 devices with 1,000 edits each, conflicts recorded",
                size: settings.users,
                units: Int(Self.devices * Self.edits), unit: "edits",
                basis: {
                    round += 1
                    let first = round * 1_000_000
                    return try Cost.of {
                        try check(raw_merge(raw, work.devices, work.edits, work.edited, batch, first))
                    }
                },
                ours: {
                    let pushes = work.pushes(round: round, batch: batch)
                    return try Cost.of { for push in pushes { try apply(push, to: authority) } }
                }
            ).run(rounds: settings.rounds)
        ]
    }

    private func apply(_ push: PushRequest, to authority: Authority) throws {
        let response = try authority.push(push, by: Principal(name: "writer"), now: .live())
        guard case .answered(let results, _, _) = response, results.count == push.transactions.count,
            results.allSatisfy({ if case .applied = $0.outcome { true } else { false } })
        else { throw BenchmarkError("the server did not take a push: \(response)") }
    }
}
