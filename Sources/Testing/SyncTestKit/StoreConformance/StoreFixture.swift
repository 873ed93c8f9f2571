import SyncCore
import SyncModel
import SyncSimulation

/// One store under test, with the helpers that the rules use.
final class StoreFixture<Store: LocalStore & EngineStore> {
    let store: Store
    let rule: String
    let space = SpaceID.default
    let epoch = Epoch(rawValue: "epoch-1")
    let account = AccountID(rawValue: "ada")
    private var random: SeededRandom
    private var clock = WallTime(milliseconds: 1_700_000_000_000)

    /// Two collections that refer to each other. An avatar requires its author.
    static var catalog: SchemaCatalog {
        SchemaCatalog([
            ModelSchema(
                collection: "users",
                fields: [
                    .text("username", required: true, bytes: 1...64), .integer("age"), .boolean("active"),
                    .reference("avatar", to: "avatars"),
                ]),
            ModelSchema(
                collection: "avatars",
                fields: [
                    .text("title"), .reference("author", to: "users", required: true), .real("scale"), .json("kind"),
                ]),
        ])
    }

    init(store: Store, rule: String, seed: UInt64 = 1) {
        self.store = store
        self.rule = rule
        random = SeededRandom(seed: seed)
    }

    func now() -> WallTime {
        clock = WallTime(milliseconds: clock.milliseconds + 7)
        return clock
    }

    /// Returns the id of a record that replaces a deleted one. It is always the same, so that a rule can look it up.
    let newID: @Sendable () -> RecordID = {
        RecordID(bits: Identifier128(high: 0x018B_CFE5_6800_7000, low: 0x8000_0000_0000_0000))
    }

    func id() -> RecordID {
        .make(at: now(), random: &random)
    }

    // MARK: Expectations

    func expect(_ condition: Bool, _ detail: @autoclosure () -> String) throws {
        if !condition { throw ConformanceViolation(rule: rule, detail: detail()) }
    }

    func expect<Value: Equatable>(_ found: Value, is expected: Value, _ what: String) throws {
        try expect(found == expected, "\(what) is \(found), expected \(expected)")
    }

    func expect(_ code: StoreError.Code, from body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StoreError {
            try expect(error.code == code, "threw \(error.code) (\(error.message)), expected \(code)")
            try expect(!error.message.isEmpty, "a failure without a message")
            return
        }
        throw ConformanceViolation(rule: rule, detail: "did not throw, expected \(code)")
    }

    // MARK: The application's side

    @discardableResult
    func commit(_ edits: RecordEdit...) throws -> OutboxSequence? {
        try store.commit(edits, in: space, now: now())
    }

    /// Commits edits that must change something, and returns their outbox entry.
    func written(_ edits: RecordEdit..., in other: SpaceID? = nil) throws -> OutboxSequence {
        guard let sequence = try store.commit(edits, in: other ?? space, now: now()) else {
            throw ConformanceViolation(rule: rule, detail: "a commit that changes something wrote nothing")
        }
        return sequence
    }

    func createUser(_ name: String = "ada") throws -> (RecordID, OutboxSequence) {
        let id = id()
        return (id, try written(.create("users", id, ["username": .text(name)])))
    }

    /// Returns the mutations that the journal offers from a lost history.
    func offers() throws -> [Mutation] {
        try store.journal(state: .active, limit: 9).flatMap { entry in
            if case .lost(let transaction) = entry.event { transaction.mutations } else { [] as [Mutation] }
        }
    }

    func user(_ id: RecordID) throws -> Record? {
        try store.record("users", .id(id))
    }

    func name(_ id: RecordID) throws -> FieldValue? {
        try user(id)?.values[0]
    }

    // MARK: The server's side

    /// A client id for a renewed identity.
    let anotherClient = ClientID(bits: Identifier128(high: 0x7000, low: 0x8000_0000_0000_00AA))

    /// Returns the notice request for a space that the store has not pulled yet.
    func wantsNotices() throws -> NoticeRequest {
        NoticeRequest(clients: [try store.session().identity.client], after: 0)
    }

    func sendHello() throws {
        _ = try store.adopt(epoch, as: account)
    }

    func push(_ limit: BatchLimit = BatchLimit(transactions: 1_000, bytes: 1_000_000)) throws -> PushBatch {
        guard let batch = try store.takeBatch(limit, now: now()) else {
            throw ConformanceViolation(rule: rule, detail: "nothing to push")
        }
        return batch
    }

    @discardableResult
    func response(_ number: TransactionNumber, _ outcome: Outcome) throws -> OutboxSummary {
        try store.record(
            [TransactionResult(number: number, outcome: outcome)], of: try store.session().identity, now: now())
    }

    func applied(_ version: Int64, uids: [AssignedUID] = [], conflicts: [FieldConflict] = []) -> Outcome {
        .applied(version: Version(version), uids: uids, conflicts: conflicts)
    }

    func rejected(_ code: RejectionCode = .forbidden) -> Outcome {
        .rejected(Rejection(code: code, message: "no", mutation: 0))
    }

    func feed(
        _ commits: [Commit], to version: Int64, head: Int64? = nil, of epoch: Epoch? = nil, in other: SpaceID? = nil,
        notices: [ConflictNotice] = [], noticesRemovedUpTo: Int64? = nil
    ) -> PullPage {
        PullPage(
            space: other ?? space, epoch: epoch ?? self.epoch, serverTime: .zero, content: .commits(commits),
            cursor: Cursor(rawValue: "feed-\(version)"), version: Version(version), head: Version(head ?? version),
            hasMore: false, notices: notices, noticesRemovedUpTo: noticesRemovedUpTo)
    }

    func snapshot(
        _ groups: [SnapshotRows], at version: Int64, head: Int64? = nil, first: Bool = true, last: Bool = true,
        of epoch: Epoch? = nil, in other: SpaceID? = nil, notices: [ConflictNotice] = []
    ) -> PullPage {
        PullPage(
            space: other ?? space, epoch: epoch ?? self.epoch, serverTime: .zero,
            content: .snapshot(groups, isFirst: first, isLast: last), cursor: Cursor(rawValue: "snapshot-\(version)"),
            version: Version(version), head: Version(head ?? version), hasMore: !last, notices: notices)
    }

    /// Applies a page, and follows its space first if necessary.
    @discardableResult
    func pull(_ page: PullPage, brake: DeleteBrake? = nil) throws -> ApplyResult {
        try store.follow(page.space)
        let stored = try store.session().spaces.first { $0.space == page.space }
        return try store.apply(page, after: stored?.cursor, brake: brake, now: now())
    }

    func vacate(_ other: SpaceID? = nil, of epoch: Epoch? = nil) throws -> VacatedSpace {
        guard
            case .vacated(let vacated) = try store.vacate(
                other ?? space, of: epoch ?? self.epoch, brake: nil, now: now())
        else { throw ConformanceViolation(rule: rule, detail: "a brake where there is none") }
        return vacated
    }

    func shownUser(_ id: RecordID, uid: Int64, version: Int64, _ name: String) -> Record {
        Record(
            id: id, uid: UID(uid), version: Version(version), values: [.text(name), .null, .null, .null])
    }

    func created(_ id: RecordID, uid: Int64, _ name: String) -> RecordChange {
        RecordChange(collection: "users", id: id, effect: .created(uid: UID(uid), ["username": .text(name)]))
    }

    func renamed(_ id: RecordID, _ name: String) -> RecordChange {
        RecordChange(collection: "users", id: id, effect: .updated(["username": .text(name)]))
    }

    func deleted(_ id: RecordID) -> RecordChange {
        RecordChange(collection: "users", id: id, effect: .deleted)
    }

    func at(_ version: Int64, _ changes: RecordChange...) -> Commit {
        Commit(version: Version(version), changes: changes)
    }

    func stored() throws -> StoredSpace? {
        try store.session().spaces.first { $0.space == space }
    }

    /// Pulls a new user that the server shows at version 1 with uid 7, and returns its id.
    func syncedUser(_ name: String = "ada") throws -> RecordID {
        let id = id()
        try sendHello()
        try pull(feed([at(1, created(id, uid: 7, name))], to: 1))
        return id
    }
}
