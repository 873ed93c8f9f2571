import AuthorityStoreSQLite
package import SyncAuthority
package import SyncModel
import SyncRuntimeLive

/// A client that writes the benchmark's records to the server, without a protocol.
package final class SimulatedWriter: Sendable {
    private let authority: Authority
    private let now: @Sendable () -> WallTime
    private let principal = Principal(name: "writer")
    private let identity: ClientIdentity

    /// - Parameters:
    ///   - number: distinguishes the clients of one server.
    ///   - now: the clock of the server.
    package init(
        authority: Authority, number: UInt64 = 7, now: @escaping @Sendable () -> WallTime = { .live() }
    ) {
        self.authority = authority
        self.now = now
        identity = ClientIdentity(client: ClientID(bits: Identifier128(high: 7, low: number)), incarnation: 0)
    }

    /// Opens a new database of a server at `path`.
    package static func authority(at path: String, durability: Durability) throws -> Authority {
        let store = try SQLiteAuthorityStore(
            at: path, newHistory: BenchmarkHistories().nextHistory(),
            configuration: SQLiteAuthorityConfiguration(durability: durability))
        return Authority(store: store, catalog: SimulatedUsers.catalog, histories: BenchmarkHistories())
    }

    /// The number of commits that `create` makes.
    package static func commits(creating rows: Int64) -> Int64 { (rows + 999) / 1_000 }

    /// The version at which `create` creates a user.
    package static func version(of uid: Int64) -> Version { Version(uid / 1_000 + 1) }

    /// Creates the users with the uids 0 to `rows` - 1.
    package func create(_ rows: Int64) throws {
        var from: Int64 = 0
        while from < rows {
            let to = min(rows, from + 1_000)
            try push(
                (from..<to).map {
                    Mutation(
                        collection: "user", record: SimulatedUsers.id($0), time: HybridTime(rawValue: UInt64($0)),
                        intent: .create(SimulatedUsers.patch($0)))
                }, number: from / 1_000)
            from = to
        }
    }

    /// Renames `count` users whose uids are `stride` apart, in transactions of up to 1,000.
    ///
    /// - Parameters:
    ///   - first: the number of the first transaction.
    ///   - version: the version that the writer has seen.
    /// - Returns: the number of transactions.
    @discardableResult
    package func change(_ count: Int64, stride: Int64, first: Int64, seen version: Int64) throws -> Int64 {
        var number = first
        for from in Swift.stride(from: 0, to: count, by: 1_000) {
            try push(
                (from..<min(count, from + 1_000)).map { index in
                    Self.rename(index * stride, to: "Renamed \(number) \(index)", at: number, seen: Version(version))
                }, number: number)
            number += 1
        }
        return number - first
    }

    /// Returns the edit of a user's name.
    package static func rename(_ uid: Int64, to name: String, at time: Int64, seen version: Version) -> Mutation {
        let edit = FieldEdit(field: "display_name", value: .text(name), before: .null, seen: version)
        return Mutation(
            collection: "user", record: SimulatedUsers.id(uid), time: HybridTime(rawValue: UInt64(1_000_000 + time)),
            intent: .update([edit]))
    }

    private func push(_ mutations: [Mutation], number: Int64) throws {
        let transaction = NumberedTransaction(
            number: TransactionNumber(number), hash: PayloadHash(rawValue: "\(number)"),
            transaction: Transaction(space: .default, mutations: mutations))
        let response = try authority.push(
            PushRequest(
                identity: identity, epoch: nil, acknowledged: TransactionNumber(number), transactions: [transaction]),
            by: principal, now: now())
        guard case .answered(let results, _, _) = response, case .applied? = results.first?.outcome else {
            throw BenchmarkError("the server did not take transaction \(number): \(response)")
        }
    }
}

/// A history keeper for a server that is never restored. All servers have the same history, because no device of a
/// benchmark meets two of them.
private struct BenchmarkHistories: HistoryKeeper {
    func nextHistory() -> HistoryIdentity {
        var numbers = MixedNumbers()
        return .drawn(from: &numbers)
    }

    func historyWasLost(_ lost: LostHistory, next: Epoch) {
        preconditionFailure("a benchmark restores no server: \(lost)")
    }
}

/// A generator of the same numbers in each run.
private struct MixedNumbers: RandomNumberGenerator {
    private var last: UInt64 = 0

    mutating func next() -> UInt64 {
        last += 1
        return SimulatedUsers.mix(last)
    }
}
