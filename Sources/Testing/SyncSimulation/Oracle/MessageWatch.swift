import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// How large messages may be (I19).
public struct MessageBounds: Hashable, Sendable {
    /// The rows or changes of one page, whatever was asked for.
    public var pageRows: Int
    /// Stored bytes after which no further row or commit may be added to a page.
    public var pageBytes: Int
    public var pushTransactions: Int
    /// The whole body of a push.
    public var pushBytes: Int

    public init(pageRows: Int, pageBytes: Int, pushTransactions: Int, pushBytes: Int) {
        self.pageRows = pageRows
        self.pageBytes = pageBytes
        self.pushTransactions = pushTransactions
        self.pushBytes = pushBytes
    }
}

/// Watches how large pages and pushes are (I19): a page is full with the row or the commit that reaches a bound, and a push
/// of several transactions is within the bounds of its sender and of the server.
///
/// It weighs by itself, and less than every store does: names and values, without what holds them together.
final class MessageWatch: ServerWitness {
    private let bounds: MessageBounds?
    private let batch: BatchLimit
    private let names: [CollectionName: [FieldName]]
    private let violations: ViolationLog

    /// - Parameters:
    ///   - bounds: nil when the parts know none.
    ///   - batch: what a device puts into one push at most.
    init(bounds: MessageBounds?, batch: BatchLimit, catalog: SchemaCatalog, violations: ViolationLog) {
        self.violations = violations
        self.bounds = bounds
        self.batch = batch
        names = Dictionary(uniqueKeysWithValues: catalog.models.map { ($0.collection, $0.fields.map(\.name)) })
    }

    private func report(_ text: String) {
        violations.report(Violation(.I19, text))
    }

    // MARK: Pushes

    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        let count = request.transactions.count
        let most = min(batch.transactions, bounds?.pushTransactions ?? .max)
        if count > max(most, 1) { report("\(device) pushes \(count) transactions at once, \(most) at most") }
        // One that is too large by itself cannot be made smaller.
        guard count > 1 else { return }
        let weight = request.transactions.reduce(0) { $0 + Self.weight(of: $1.transaction) }
        if weight > batch.bytes { report("\(device) pushes \(weight) bytes of values at once, \(batch.bytes) at most") }
        if let bounds, bytes > bounds.pushBytes {
            report("\(device) sends a push of \(bytes) bytes, the server takes \(bounds.pushBytes)")
        }
    }

    private static func weight(of transaction: Transaction) -> Int {
        transaction.mutations.reduce(0) { sum, mutation in
            switch mutation.intent {
            case .create(let patch): sum + weight(of: patch)
            case .update(let edits):
                edits.reduce(sum) { $0 + $1.field.rawValue.utf8.count + weight(of: $1.value) + weight(of: $1.before) }
            case .delete: sum
            }
        }
    }

    // MARK: Pages

    func pullAnswered(_ request: PullRequest, _ reply: PullReply, to device: String, as principal: Principal) {
        guard let bounds, case .page(let page) = reply else { return }
        let rows = min(max(request.limit, 1), bounds.pageRows)
        switch page.content {
        case .snapshot(let groups, _, _):
            let weights = groups.flatMap { group in group.records.map { weight(of: $0, in: group.collection) } }
            if weights.count > rows {
                report("\(device) is shown \(weights.count) rows in one page, \(rows) at most")
            }
            check(weights, of: "rows", shownTo: device, bounds)
        case .commits(let commits):
            let changes = commits.reduce(0) { $0 + $1.changes.count }
            if changes > rows, commits.count > 1 {
                report("\(device) is shown \(changes) changes in one page, \(rows) at most")
            }
            check(commits.map(Self.weight), of: "commits", shownTo: device, bounds)
        }
    }

    /// The last one may go over the bound: it is whole.
    private func check(_ weights: [Int], of what: String, shownTo device: String, _ bounds: MessageBounds) {
        let weight = weights.dropLast().reduce(0, +)
        guard weight >= bounds.pageBytes else { return }
        report(
            "\(device) is shown a page of \(weights.count) \(what): without the last it has \(weight) bytes of values, and was full with \(bounds.pageBytes)"
        )
    }

    private func weight(of record: Record, in collection: CollectionName) -> Int {
        zip(names[collection] ?? [], record.values).reduce(0) { sum, field in
            field.1 == .null ? sum : sum + field.0.rawValue.utf8.count + Self.weight(of: field.1)
        }
    }

    private static func weight(of commit: Commit) -> Int {
        commit.changes.reduce(0) { sum, change in
            switch change.effect {
            case .created(_, let patch), .updated(let patch): sum + weight(of: patch)
            case .deleted: sum
            }
        }
    }

    private static func weight(of patch: Patch) -> Int {
        patch.reduce(0) { $0 + $1.field.rawValue.utf8.count + weight(of: $1.value) }
    }

    /// Of a value in the shortest of all ways to write it down.
    private static func weight(of value: FieldValue) -> Int {
        switch value {
        case .null, .boolean, .integer, .real: 1
        case .text(let text), .json(let text): text.utf8.count
        case .reference: 16
        }
    }

    func pushAnswered(_ request: PushRequest, _ reply: PushReply, now: WallTime) {}
    func pushFailed(_ request: PushRequest, _ failure: AuthorityFailure) {}
    func served(_ caller: Caller, on device: String) {}
}
