import BenchmarkUsers
import CRawSQLite
import Foundation
import SyncModel
import SyncWire

/// Requests of a server over loopback HTTP, from a load generator in C.
struct LoadBenchmark {
    let settings: BenchmarkSettings

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    // MARK: Pushes

    /// Measures pushes of one edit each.
    ///
    /// The C program is the limit of the store: threads hand a change to one writer, which commits the waiting ones
    /// together. It leaves out HTTP, JSON, tokens, rights, the merge, and the ledger, which make a push safe to repeat.
    func pushes() throws -> [Figure] {
        var figures: [Figure] = []
        for durability in [Durability.full, .normal] {
            let folder = try settings.subfolder("server-push-\(durability.rawValue)")
            let server = try BenchmarkServer(folder: folder, rows: settings.rows, durability: durability)
            defer { server.stop() }
            let raw = try DeviceDatabases(settings: settings).raw(
                "raw-push-\(durability.rawValue)", durability: durability)
            defer { raw_close(raw) }
            let each = min(100, settings.rows / 16)
            figures += try pushes(over: 16, each: each, firstEdit: 0, durability, server, raw)
            figures += try pushes(
                over: 1, each: 4 * each, firstEdit: Int64(settings.rounds) * 16 * each, durability, server, raw)
        }
        return figures
    }

    private func pushes(
        over connections: Int64, each: Int64, firstEdit: Int64, _ durability: Durability, _ server: BenchmarkServer,
        _ raw: OpaquePointer
    ) throws -> [Figure] {
        let name = "pushes of one edit over \(connections == 1 ? "one connection" : "\(connections) connections")"
        var round: Int64 = 0
        var comparison = Comparison(
            row: .push, name: "\(name), \(durability.rawValue.uppercased()), beside group commit without a protocol",
            size: settings.users, units: Int(connections * each), unit: "pushes", measure: .wall,
            basis: {
                round += 1
                let seed = UInt64(round) * 1_000_003
                return try Cost.of { try check(raw_group_commit(raw, connections, each, settings.rows, seed)) }
            },
            ours: {
                let first = firstEdit + (round - 1) * connections * each
                let load = try Load(
                    (0..<connections).flatMap { device in
                        let edits = first + device * each..<first + (device + 1) * each
                        return try Self.pushes(of: edits, users: settings.rows).map { ($0, "\(device)") }
                    })
                let head = try server.head()
                let before = try server.use()
                var cost = try load.send(to: server, connections: connections, each: each)
                cost.cpuSeconds = try (server.use() - before).cpuSeconds
                guard try server.head() == head + connections * each else {
                    throw BenchmarkError("not every push was applied")
                }
                return cost
            }
        )
        let costs = try comparison.costs(rounds: settings.rounds)
        let speed = comparison.figure(of: costs)
        comparison.measure = .cpu
        return [speed, comparison.figure(of: costs)]
    }

    /// Returns the requests of a new device, which pushes its transactions one by one.
    ///
    /// - Parameter edits: the numbers of the edits, which no other device has. Each changes another user, as long as
    ///   there are users.
    private static func pushes(of edits: Range<Int64>, users: Int64) throws -> [ServerRequest] {
        let client = ClientID(bits: Identifier128(high: 8, low: UInt64(edits.lowerBound) + 1))
        return try edits.map { edit in
            // A prime, so that neighbors are far apart in the database.
            let uid = edit * 7_919 % users
            let mutation = SimulatedWriter.rename(
                uid, to: "Renamed \(edit)", at: edit, seen: SimulatedWriter.version(of: uid))
            let transaction = Transaction(space: .default, mutations: [mutation])
            let number = TransactionNumber(edit - edits.lowerBound)
            let numbered = NumberedTransaction(
                number: number, hash: try PayloadHash(of: transaction), transaction: transaction)
            return .push(
                PushRequest(
                    identity: ClientIdentity(client: client, incarnation: 0), epoch: nil, acknowledged: number,
                    transactions: [numbered]))
        }
    }

    // MARK: Pulls

    /// Measures pulls of 200 rows: the server's CPU time, beside reading and encoding as many rows in C.
    ///
    /// First, the pages differ, so that the server reads nearly all of them from its store. Then all are the same, as
    /// for many devices that begin at once. The C program leaves out HTTP, tokens, rights, ids, and versions.
    func pulls() throws -> [Figure] {
        let server = try BenchmarkServer(folder: try settings.subfolder("server-pull"), rows: settings.rows)
        defer { server.stop() }
        let raw = try DeviceDatabases(settings: settings).raw("raw-pull")
        defer { raw_close(raw) }
        let rows = min(200, settings.rows)
        let cursors = try server.cursors(of: 50, pagesOf: Int(rows))
        let different = try pulls(named: "pulls of 200 rows", of: rows, server, raw) { index in
            // More pages than the server keeps, even if the database has few rows.
            PullRequest(
                space: .default, cursor: cursors[index % cursors.count],
                limit: Int(rows) - index / cursors.count % 8)
        }
        let same = try pulls(named: "pulls of the same 200 rows", of: rows, server, raw) { _ in
            PullRequest(space: .default, cursor: nil, limit: Int(rows))
        }
        return different + same
    }

    /// - Parameter request: returns the request with a number, which counts from 0 for each connection, with an offset.
    private func pulls(
        named name: String, of rows: Int64, _ server: BenchmarkServer, _ raw: OpaquePointer,
        request: (Int) -> PullRequest
    ) throws -> [Figure] {
        let connections = 16
        let each = 50
        let load = try Load(
            (0..<connections).flatMap { device in
                (0..<each).map { (ServerRequest.pull(request(device * 7 + $0)), "\(device)") }
            })
        let pulls = connections * each
        var rates: [Double] = []
        let cost = try Comparison(
            row: .pull, name: "\(name), beside reading and encoding without a protocol", size: settings.users,
            units: pulls, unit: "pulls",
            basis: {
                try Cost.of {
                    guard raw_encode_users(raw, Int64(pulls), rows) > 0 else {
                        throw BenchmarkError("the raw SQLite program failed")
                    }
                }
            },
            ours: {
                let before = try server.use()
                var cost = try load.send(to: server, connections: Int64(connections), each: Int64(each))
                cost.cpuSeconds = try (server.use() - before).cpuSeconds
                rates.append(Double(pulls) / cost.wallSeconds)
                return cost
            }
        ).run(rounds: settings.rounds)
        return [
            cost,
            Figure(
                row: .pull, name: "\(name) over 16 connections", size: settings.users, unit: "pulls/s",
                ours: rates.median),
        ]
    }
}

/// Requests for the load generator, behind each other.
private struct Load {
    private var bytes: [UInt8] = []
    private var ends: [Int64] = []

    /// Encodes requests as HTTP/1.1.
    ///
    /// - Parameter principals: the end of each principal's name, and of its token.
    init(_ requests: [(ServerRequest, principal: String)]) throws {
        for (request, principal) in requests {
            let body = try request.encode()
            let head = """
                POST \(request.call.path) HTTP/1.1\r
                Host: 127.0.0.1\r
                Authorization: Bearer \(ServerCommand.token)\(principal)\r
                Content-Type: application/json\r
                Content-Length: \(body.count)\r
                \r

                """
            bytes += Array(head.utf8) + body
            ends.append(Int64(bytes.count))
        }
    }

    func send(to server: BenchmarkServer, connections: Int64, each: Int64) throws -> Cost {
        try Cost.of {
            guard raw_http_load(Int32(server.port), connections, each, bytes, ends) > 0 else {
                throw BenchmarkError("the server refused a request of the load generator")
            }
        }
    }
}
