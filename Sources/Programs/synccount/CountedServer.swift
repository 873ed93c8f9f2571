import BenchmarkUsers
import Foundation
import SyncAuthority
import SyncModel
import SyncWire

/// A server whose hot paths are counted, from the bytes of a request to those of its response, without HTTP.
struct CountedServer {
    private let authority: Authority
    private let users: Int64
    private let principal = Principal(name: "device")
    private let client = ClientIdentity(client: ClientID(bits: Identifier128(high: 9, low: 1)), incarnation: 0)
    private static let now = WallTime(milliseconds: 1_800_000_000_000)

    /// - Parameter users: the number of users, a multiple of 1,000.
    init(in folder: URL, users: Int64) throws {
        self.users = users
        authority = try SimulatedWriter.authority(at: folder.appending(path: "server.db").path, durability: .normal)
        try SimulatedWriter(authority: authority, now: { Self.now }).create(users)
    }

    /// Pushes the rename of a user that no other push has renamed.
    func push(_ index: Int64) throws {
        let mutation = SimulatedWriter.rename(
            index % users, to: "Renamed \(index)", at: index, seen: SimulatedWriter.version(of: index % users))
        let transaction = Transaction(space: .default, mutations: [mutation])
        let number = TransactionNumber(index)
        let request = ServerRequest.push(
            PushRequest(
                identity: client, epoch: nil, acknowledged: number,
                transactions: [
                    NumberedTransaction(
                        number: number, hash: try PayloadHash(of: transaction), transaction: transaction)
                ]))
        guard case .push(.answered(let results, _, _)) = try response(to: try request.encode(), of: .push),
            case .applied? = results.first?.outcome
        else { throw BenchmarkError("the server did not take push \(index)") }
    }

    /// Merges concurrent edits of ten devices, in pushes of 100, without their bytes.
    func merges(of edits: Int64) throws {
        let work = ConcurrentEdits(devices: 10, edits: edits / 10, edited: 500)
        for push in work.pushes(round: 0, batch: 100) {
            let response = try authority.push(push, by: principal, now: Self.now)
            guard case .answered(let results, _, _) = response, results.count == push.transactions.count else {
                throw BenchmarkError("the server did not take a push: \(response)")
            }
        }
    }

    /// Pulls the first rows of a snapshot, in pages of 200.
    func pages(of rows: Int64) throws {
        var cursor: Cursor?
        var left = rows
        while left > 0 {
            let request = ServerRequest.pull(PullRequest(space: .default, cursor: cursor, limit: 200))
            guard case .pull(.page(let page)) = try response(to: try request.encode(), of: .pull),
                case .snapshot(let groups, _, _) = page.content
            else { throw BenchmarkError("the server did not return a page with \(left) rows left") }
            left -= groups.reduce(0) { $0 + Int64($1.count) }
            cursor = page.cursor
        }
        guard left == 0 else { throw BenchmarkError("the server sent \(-left) rows too many") }
    }

    private func response(to body: [UInt8], of call: ServerCall) throws -> ServerResponse {
        let request = try ServerRequest.decode(body, of: call)
        let response = try authority.respond(to: request, by: principal, now: Self.now)
        guard try response.encode(to: request, catalog: SimulatedUsers.catalog) != nil else {
            throw BenchmarkError("the server found nothing")
        }
        return response
    }
}
