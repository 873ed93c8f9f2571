import SyncCore
import SyncModel
import SyncWire

/// The helpers of a transport's rules: one server, and the clients that the rules make.
struct TransportFixture: Sendable {
    let subject: TransportConformance.Subject
    let rule: String
    let hello: ServerHello

    /// The number of pages after which a check concludes that the server's feed does not end.
    static let pages = 100_000

    var transport: any RemoteTransport { subject.transport }

    func expect(_ condition: Bool, _ detail: @autoclosure () -> String) throws {
        if !condition { throw ConformanceViolation(rule: rule, detail: detail()) }
    }

    func violation(_ detail: String) -> ConformanceViolation {
        ConformanceViolation(rule: rule, detail: detail)
    }

    // MARK: Clients and their writes

    func makeClient() -> ClientIdentity {
        ClientIdentity(client: ClientID(bits: identifier()), incarnation: 0)
    }

    func makeRecord() -> RecordID {
        RecordID(bits: identifier())
    }

    private func identifier() -> Identifier128 {
        Identifier128(
            high: UInt64(hello.serverTime.wall.milliseconds) << 16 | 0x7000 | subject.random() & 0x0FFF,
            low: 0x8000_0000_0000_0000 | subject.random() & 0x3FFF_FFFF_FFFF_FFFF)
    }

    func create(_ record: RecordID, _ number: Int = 0) -> Transaction {
        transaction(record, .create(subject.values(number)))
    }

    func update(_ record: RecordID, to text: String, seen: Version) -> Transaction {
        transaction(
            record, .update([FieldEdit(field: subject.textField, value: .text(text), before: .null, seen: seen)]))
    }

    func delete(_ record: RecordID, seen: Version) -> Transaction {
        transaction(record, .delete(seen: seen))
    }

    func transaction(_ record: RecordID, _ intent: Mutation.Intent) -> Transaction {
        Transaction(
            space: subject.space,
            mutations: [
                Mutation(
                    collection: subject.collection, record: record, time: hello.serverTime.next, intent: intent)
            ])
    }

    func numbered(_ transactions: [Transaction], from first: Int64 = 0) throws -> [NumberedTransaction] {
        try transactions.enumerated().map { index, transaction in
            NumberedTransaction(
                number: TransactionNumber(first + Int64(index)), hash: try PayloadHash(of: transaction),
                transaction: transaction)
        }
    }

    func request(
        _ client: ClientIdentity, _ transactions: [Transaction], from first: Int64 = 0, acknowledged: Int64 = 0,
        epoch: Epoch? = nil
    ) throws -> PushRequest {
        PushRequest(
            identity: client, epoch: epoch ?? hello.epoch, acknowledged: TransactionNumber(acknowledged),
            transactions: try numbered(transactions, from: first))
    }

    /// Pushes and returns one outcome per transaction.
    func push(_ request: PushRequest) async throws -> [Outcome] {
        guard case .answered(let results, _, _) = try await transport.push(request) else {
            throw violation("the push was refused as a whole; expected outcomes")
        }
        try expect(
            results.map(\.number) == request.transactions.prefix(results.count).map(\.number),
            "outcomes for \(results.map(\.number)); expected for the request's numbers")
        try expect(
            results.count == request.transactions.count,
            "\(results.count) outcomes for \(request.transactions.count) transactions")
        return results.map(\.outcome)
    }

    /// Pushes transactions that must be applied, and returns their versions.
    func apply(
        _ client: ClientIdentity, _ transactions: [Transaction], from first: Int64 = 0
    ) async throws -> [Version] {
        try await push(request(client, transactions, from: first)).map(version)
    }

    func version(of outcome: Outcome) throws -> Version {
        guard case .applied(let version, _, _) = outcome else { throw violation("\(outcome); expected applied") }
        return version
    }

    func refusal(_ request: PushRequest) async throws -> PushRefusal {
        guard case .refused(let refusal) = try await transport.push(request) else {
            throw violation("the push was answered; expected a refusal")
        }
        return refusal
    }

    // MARK: Reading

    func pull(after cursor: Cursor?, limit: Int = 1_000) async throws -> PullPage {
        let request = PullRequest(space: subject.space, cursor: cursor, limit: limit)
        guard case .page(let page) = try await transport.pull(request) else {
            throw violation("the cursor just given is refused; expected a page")
        }
        try expect(page.space == subject.space, "a page of space \(page.space); expected one of \(subject.space)")
        try expect(page.epoch == hello.epoch, "epoch \(page.epoch); expected \(hello.epoch) as in hello")
        return page
    }

    /// Returns all pages from a cursor to the last one.
    func walk(from cursor: Cursor?, limit: Int) async throws -> [PullPage] {
        var pages: [PullPage] = []
        var cursor = cursor
        repeat {
            let page = try await pull(after: cursor, limit: limit)
            pages.append(page)
            cursor = page.cursor
            try expect(pages.count < Self.pages, "\(pages.count) pages, and still more")
        } while pages.last?.hasMore == true
        return pages
    }

    /// Returns the cursor after everything that exists.
    func end() async throws -> Cursor {
        guard let last = try await walk(from: nil, limit: hello.limits.pageRows).last else {
            throw violation("no page at all")
        }
        return last.cursor
    }

    /// Returns the commits after a cursor that touch one of `records`.
    func commits(after cursor: Cursor, of records: Set<RecordID>, limit: Int = 1_000) async throws -> [Commit] {
        try await walk(from: cursor, limit: limit).flatMap { page in
            guard case .commits(let commits) = page.content else {
                throw violation("expected commits, found a snapshot")
            }
            return commits
        }.filter { $0.changes.contains { records.contains($0.id) } }
    }

    func fetch(_ record: RecordID) async throws -> Record? {
        try await transport.fetch(
            FetchRequest(space: subject.space, collection: subject.collection, key: .id(record)))
    }

    /// Makes a call that must fail, and returns its failure.
    func failure<Value>(
        _ what: String, _ call: () async throws(TransportError) -> Value
    ) async throws -> TransportError {
        do throws(TransportError) {
            _ = try await call()
        } catch {
            return error
        }
        throw violation("\(what) was answered; expected a failure")
    }
}
