import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// The bounds on the sizes of messages (I19).
public struct MessageBounds: Hashable, Sendable {
    /// The maximum number of rows or changes in one page, even if the request asks for more. A single commit may exceed
    /// it.
    public var pageRows: Int
    /// The number of stored bytes at which a page is full: no further row or commit may be added.
    public var pageBytes: Int
    /// The maximum number of transactions in one push.
    public var pushTransactions: Int
    /// The maximum length of the body of a push with several transactions, in bytes.
    public var pushBytes: Int

    public init(pageRows: Int, pageBytes: Int, pushTransactions: Int, pushBytes: Int) {
        self.pageRows = pageRows
        self.pageBytes = pageBytes
        self.pushTransactions = pushTransactions
        self.pushBytes = pushBytes
    }
}

/// A check of the sizes of pages and pushes (I19).
///
/// The row or commit that reaches the bound on bytes ends the page. Only a page with a single commit may exceed the
/// bound on changes. A push of several transactions must be within the limits of both its sender and the server. The
/// check computes sizes itself and never overestimates them: it counts only names and values, without the overhead of
/// the encoding.
final class MessageOracle: ServerObserver {
    private let bounds: MessageBounds?
    private let batch: BatchLimit
    private let fieldNames: [CollectionName: [FieldName]]
    private let violations: ViolationLog

    /// - Parameters:
    ///   - bounds: the bounds of the server; nil when the parts of the world state none.
    ///   - batch: the limits of a device's push.
    init(bounds: MessageBounds?, batch: BatchLimit, catalog: SchemaCatalog, violations: ViolationLog) {
        self.violations = violations
        self.bounds = bounds
        self.batch = batch
        fieldNames = Dictionary(uniqueKeysWithValues: catalog.models.map { ($0.collection, $0.fields.map(\.name)) })
    }

    private func report(_ text: String) {
        violations.report(Violation(.I19, text))
    }

    // MARK: Pushes

    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        let count = request.transactions.count
        let most = min(batch.transactions, bounds?.pushTransactions ?? .max)
        if count > max(most, 1) { report("\(device) pushes \(count) transactions at once, \(most) at most") }
        // A transaction cannot be split, so a single one may exceed every bound.
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

    func pullAnswered(_ request: PullRequest, _ response: PullResponse, to device: String, as principal: Principal) {
        guard let bounds, case .page(let page) = response else { return }
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

    /// Checks the size of a page. Its last item may exceed the bound, because items are not split.
    private func check(_ weights: [Int], of what: String, shownTo device: String, _ bounds: MessageBounds) {
        let weight = weights.dropLast().reduce(0, +)
        guard weight >= bounds.pageBytes else { return }
        report(
            "\(device) is shown a page of \(weights.count) \(what): without its last item it has \(weight) bytes of values; the limit is \(bounds.pageBytes)"
        )
    }

    private func weight(of record: Record, in collection: CollectionName) -> Int {
        zip(fieldNames[collection] ?? [], record.values).reduce(0) { sum, field in
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

    /// Returns the length of a value in its shortest possible encoding, in bytes.
    private static func weight(of value: FieldValue) -> Int {
        switch value {
        case .null, .boolean, .integer, .real: 1
        case .text(let text), .json(let text): text.utf8.count
        case .reference: 16
        }
    }
}
