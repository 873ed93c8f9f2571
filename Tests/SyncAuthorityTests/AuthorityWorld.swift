import SyncAuthority
import SyncModel
import SyncTestKit
import SyncWire
import Testing

/// An authority over an in-memory store, with helpers for the tests.
struct AuthorityWorld {
    static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "user",
            fields: [
                .text("username", required: true, bytes: 1...64), .text("bio"),
                .integer("rank", merge: .serverWins), .text("nickname", merge: .clientWins),
                .reference("avatar", to: "avatar"),
            ]),
        ModelSchema(
            collection: "avatar",
            fields: [.text("url", required: true), .reference("author", to: "user", required: true)]),
    ])

    static let epoch = Epoch(rawValue: "epoch-1")
    static let now = WallTime(milliseconds: 1_800_000_000_000)

    let store: FaultyAuthorityStore
    let histories = CountedHistories()
    var authority: Authority

    init(policy: AuthorityPolicy = AuthorityPolicy(), over store: (any AuthorityStore)? = nil) {
        self.store = FaultyAuthorityStore(store ?? InMemoryAuthorityStore(epoch: Self.epoch))
        authority = Authority(store: self.store, catalog: Self.catalog, policy: policy, histories: histories)
    }

    /// Returns the cursor that the authority gives to a client that has seen the feed up to a version. Below the
    /// horizon, the cursor has an arbitrary fingerprint, because the authority does not compare it.
    func cursor(_ version: Int64, in space: SpaceID = .default) throws -> Cursor {
        try store.read { view in
            let history = try view.state().history
            let fingerprint = try view.fingerprint(at: Version(version), in: space) ?? .start
            return FeedCursor(
                epoch: history.epoch, space: space, position: .commits(Version(version)), fingerprint: fingerprint
            )
            .authenticated(with: history.key)
        }
    }
}

/// A device that creates transactions and numbers them.
struct Device {
    let principal: Principal
    var identity: ClientIdentity
    var next = TransactionNumber.first
    var acknowledged = TransactionNumber.first

    init(_ number: UInt64, principal: String = "anna", incarnation: Int = 0) {
        self.principal = Principal(name: principal)
        identity = ClientIdentity(
            client: ClientID(bits: Identifier128(high: 0, low: number)), incarnation: incarnation)
    }

    mutating func number(_ mutations: [Mutation], in space: SpaceID = .default) throws -> NumberedTransaction {
        let transaction = Transaction(space: space, mutations: mutations)
        defer { next = next.next }
        return NumberedTransaction(number: next, hash: try PayloadHash(of: transaction), transaction: transaction)
    }

    func request(_ transactions: [NumberedTransaction], epoch: Epoch? = AuthorityWorld.epoch) -> PushRequest {
        PushRequest(identity: identity, epoch: epoch, acknowledged: acknowledged, transactions: transactions)
    }
}

func id(_ number: UInt64) -> RecordID { RecordID(bits: Identifier128(high: 7, low: number)) }

func time(_ offset: Int64, _ counter: UInt16 = 0) -> HybridTime {
    HybridTime(wall: WallTime(milliseconds: AuthorityWorld.now.milliseconds + offset), counter: counter)
}

func create(_ collection: CollectionName, _ number: UInt64, at offset: Int64 = 0, _ patch: Patch) -> Mutation {
    Mutation(collection: collection, record: id(number), time: time(offset), intent: .create(patch))
}

func update(
    _ collection: CollectionName, _ number: UInt64, at offset: Int64 = 0, _ field: FieldName, _ value: FieldValue,
    before: FieldValue = .null, seen: Version = .zero
) -> Mutation {
    Mutation(
        collection: collection, record: id(number), time: time(offset),
        intent: .update([FieldEdit(field: field, value: value, before: before, seen: seen)]))
}

func delete(_ collection: CollectionName, _ number: UInt64, at offset: Int64 = 0) -> Mutation {
    Mutation(collection: collection, record: id(number), time: time(offset), intent: .delete(seen: .zero))
}

extension AuthorityWorld {
    func response(
        _ request: PushRequest, by principal: Principal, now: WallTime = AuthorityWorld.now
    ) throws -> PushResponse {
        try authority.push(request, by: principal, now: now)
    }

    /// Pushes one transaction and returns its outcome.
    @discardableResult
    func push(
        _ device: inout Device, _ mutations: Mutation..., in space: SpaceID = .default, now: WallTime = Self.now,
        at location: SourceLocation = #_sourceLocation
    ) throws -> Outcome {
        let numbered = try device.number(mutations, in: space)
        let response = try response(device.request([numbered]), by: device.principal, now: now)
        guard case .answered(let results, _, _) = response, let result = results.first else {
            Issue.record("\(response)", sourceLocation: location)
            throw Unexpected()
        }
        #expect(result.number == numbered.number, sourceLocation: location)
        return result.outcome
    }

    struct Unexpected: Error {}

    func page(
        _ cursor: Cursor?, limit: Int = 1_000, in space: SpaceID = .default, by principal: String = "anna",
        now: WallTime = Self.now
    ) throws -> PullResponse {
        try authority.pull(
            PullRequest(space: space, cursor: cursor, limit: limit), by: Principal(name: principal), now: now)
    }

    func fetch(_ collection: CollectionName, _ key: RecordKey, in space: SpaceID = .default) throws -> Record? {
        try authority.fetch(
            FetchRequest(space: space, collection: collection, key: key), by: Principal(name: "anna"), now: Self.now)
    }

    func value(_ collection: CollectionName, _ number: UInt64, _ field: FieldName) throws -> FieldValue? {
        guard let record = try fetch(collection, .id(id(number))),
            let position = Self.catalog[collection]?.position(of: field)
        else { return nil }
        return record.values[position]
    }

    func head(of space: SpaceID = .default) throws -> Version {
        try store.read { view in try view.extent(of: space).head }
    }
}

extension Outcome {
    var version: Version? { if case .applied(let version, _, _) = self { version } else { nil } }
    var uids: [AssignedUID] { if case .applied(_, let uids, _) = self { uids } else { [] } }
    var conflicts: [FieldConflict] { if case .applied(_, _, let conflicts) = self { conflicts } else { [] } }
    var rejection: RejectionCode? { if case .rejected(let rejection) = self { rejection.code } else { nil } }
    var culprit: Int? { if case .rejected(let rejection) = self { rejection.mutation } else { nil } }
}
