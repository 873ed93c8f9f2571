public import SyncAuthority
import SyncConcurrency
import SyncModel

/// A store that fails at one chosen call of its port, for tests that a failed operation has no partial effect.
///
/// Calls are counted from the last `arm`.
public final class FaultyAuthorityStore: AuthorityStore {
    private struct Plan: Sendable {
        /// The number of calls that pass before one fails; nil when all pass.
        var passing: Int?
        var losesResponse = false
        var calls = 0
        var hasFailed = false
    }

    private let base: any AuthorityStore
    private let plan = Guarded(Plan())

    /// Wraps a store. All calls pass until `arm` or `loseNextResponse` is called.
    public init(_ base: any AuthorityStore) {
        self.base = base
    }

    /// Lets `calls` calls pass and fails the next one. The commit of a write counts as a call.
    public func arm(after calls: Int) {
        plan.withLock { $0 = Plan(passing: calls) }
    }

    /// Commits the next write and then fails, as if the response was lost after the commit.
    public func loseNextResponse() {
        plan.withLock { $0 = Plan(losesResponse: true) }
    }

    /// Lets all calls pass from now on, and sets `hasFailed` to false.
    public func disarm() {
        plan.withLock { $0 = Plan() }
    }

    /// Whether the armed failure has happened.
    public var hasFailed: Bool { plan.withLock(\.hasFailed) }

    public func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result {
        try base.read { view in
            try body(FaultyView(base: view, store: self))
        }
    }

    public func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result {
        let result = try base.write { transaction in
            let result = try body(FaultyTransaction(base: transaction, store: self))
            try self.step("commit")
            return result
        }
        let isLost = plan.withLock { plan in
            guard plan.losesResponse else { return false }
            plan.losesResponse = false
            plan.hasFailed = true
            return true
        }
        if isLost { throw AuthorityStoreError(.inputOutput, "the response to a commit was lost, as planned") }
        return result
    }

    fileprivate func step(_ call: String) throws(AuthorityStoreError) {
        let number = plan.withLock { plan -> Int? in
            plan.calls += 1
            guard let passing = plan.passing, plan.calls == passing + 1 else { return nil }
            plan.hasFailed = true
            return plan.calls
        }
        if let number { throw AuthorityStoreError(.inputOutput, "call \(number), \(call), fails as planned") }
    }
}

private struct FaultyView: AuthorityView {
    let base: any AuthorityView
    let store: FaultyAuthorityStore
}

private struct FaultyTransaction: AuthorityTransaction {
    let base: any AuthorityTransaction
    let store: FaultyAuthorityStore
}

/// The reads that the view and the transaction share. Each read is counted and then forwarded.
private protocol Counted {
    associatedtype Base
    var base: Base { get }
    var store: FaultyAuthorityStore { get }
    var view: any AuthorityView { get }
}

extension FaultyView: Counted {
    var view: any AuthorityView { base }
}

extension FaultyTransaction: Counted {
    var view: any AuthorityView { base }
}

extension Counted {
    func state() throws(AuthorityStoreError) -> AuthorityState {
        try store.step("state")
        return try view.state()
    }

    func catalog() throws(AuthorityStoreError) -> SchemaCatalog? {
        try store.step("catalog")
        return try view.catalog()
    }

    func members() throws(AuthorityStoreError) -> [SpaceMember] {
        try store.step("members")
        return try view.members()
    }

    func extent(of space: SpaceID) throws(AuthorityStoreError) -> SpaceExtent {
        try store.step("extent")
        return try view.extent(of: space)
    }

    func extents() throws(AuthorityStoreError) -> [SpaceID: SpaceExtent] {
        try store.step("extents")
        return try view.extents()
    }

    func fingerprint(at version: Version, in space: SpaceID) throws(AuthorityStoreError) -> HistoryFingerprint? {
        try store.step("fingerprint")
        return try view.fingerprint(at: version, in: space)
    }

    func spaces(exceeding bound: FeedBound) throws(AuthorityStoreError) -> [SpaceID] {
        try store.step("spaces")
        return try view.spaces(exceeding: bound)
    }

    func surplus(
        of space: SpaceID, over bound: FeedBound, limit: Int
    ) throws(AuthorityStoreError) -> Version? {
        try store.step("surplus")
        return try view.surplus(of: space, over: bound, limit: limit)
    }

    func record(_ address: RecordAddress) throws(AuthorityStoreError) -> StoredRecord? {
        try store.step("record")
        return try view.record(address)
    }

    func record(_ collection: CollectionName, _ uid: UID) throws(AuthorityStoreError) -> StoredRecord? {
        try store.step("record by uid")
        return try view.record(collection, uid)
    }

    func referrers(
        of target: RecordAddress, through fields: [ReferenceField], limit: Int
    ) throws(AuthorityStoreError) -> [Referrer] {
        try store.step("referrers")
        return try view.referrers(of: target, through: fields, limit: limit)
    }

    func rows(
        in space: SpaceID, of collection: CollectionName, after id: RecordID?, budget: PageBudget
    ) throws(AuthorityStoreError) -> RowSlice {
        try store.step("rows")
        return try view.rows(in: space, of: collection, after: id, budget: budget)
    }

    func records(
        in space: SpaceID, of schema: ModelSchema, after id: RecordID?, budget: PageBudget
    ) throws(AuthorityStoreError) -> SnapshotSlice {
        try store.step("records")
        return try view.records(in: space, of: schema, after: id, budget: budget)
    }

    func recordCounts(in space: SpaceID) throws(AuthorityStoreError) -> [CollectionName: Int] {
        try store.step("record counts")
        return try view.recordCounts(in: space)
    }

    func recentCommits(
        in space: SpaceID, before version: Version?, budget: PageBudget
    ) throws(AuthorityStoreError) -> [RecordedCommit] {
        try store.step("recent commits")
        return try view.recentCommits(in: space, before: version, budget: budget)
    }

    func commits(
        in space: SpaceID, after version: Version, budget: PageBudget
    ) throws(AuthorityStoreError) -> [Commit] {
        try store.step("commits")
        return try view.commits(in: space, after: version, budget: budget)
    }

    func author(of version: Version, in space: SpaceID) throws(AuthorityStoreError) -> CommitAuthor? {
        try store.step("author")
        return try view.author(of: version, in: space)
    }

    func ledger(of key: LedgerKey) throws(AuthorityStoreError) -> Ledger {
        try store.step("ledger")
        return try view.ledger(of: key)
    }

    func clients(after client: ClientID?, limit: Int) throws(AuthorityStoreError) -> [StoredClient] {
        try store.step("clients")
        return try view.clients(after: client, limit: limit)
    }

    func clientCount() throws(AuthorityStoreError) -> Int {
        try store.step("client count")
        return try view.clientCount()
    }

    func deviceCount(of principal: Principal) throws(AuthorityStoreError) -> Int {
        try store.step("device count")
        return try view.deviceCount(of: principal)
    }

    func usage() throws(AuthorityStoreError) -> [Principal: StoredUsage] {
        try store.step("usage")
        return try view.usage()
    }

    func commitTime(
        of number: TransactionNumber, from identity: ClientIdentity, at version: Version
    ) throws(AuthorityStoreError) -> WallTime? {
        try store.step("commit time")
        return try view.commitTime(of: number, from: identity, at: version)
    }

    func outcome(of key: LedgerKey, _ number: TransactionNumber) throws(AuthorityStoreError) -> StoredOutcome? {
        try store.step("outcome")
        return try view.outcome(of: key, number)
    }

    func conflicts(
        in space: SpaceID, after number: Int64, budget: PageBudget
    ) throws(AuthorityStoreError) -> [RecordedConflict] {
        try store.step("conflicts")
        return try view.conflicts(in: space, after: number, budget: budget)
    }

    func conflictAmount() throws(AuthorityStoreError) -> ConflictAmount {
        try store.step("conflict amount")
        return try view.conflictAmount()
    }

    func conflictCount(in space: SpaceID) throws(AuthorityStoreError) -> Int {
        try store.step("conflict count of a space")
        return try view.conflictCount(in: space)
    }

    func notices(
        for clients: [ClientID], in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityStoreError) -> [RecordedConflict] {
        try store.step("notices")
        return try view.notices(for: clients, in: space, after: number, limit: limit)
    }

    func newestRemovedNotice(
        for clients: [ClientID], in space: SpaceID
    ) throws(AuthorityStoreError) -> Int64 {
        try store.step("removed notice")
        return try view.newestRemovedNotice(for: clients, in: space)
    }

    func owner(of client: ClientID) throws(AuthorityStoreError) -> ClientOwner? {
        try store.step("owner")
        return try view.owner(of: client)
    }
}

extension FaultyTransaction {
    func set(_ state: AuthorityState) throws(AuthorityStoreError) {
        try store.step("set state")
        try base.set(state)
    }

    func set(_ catalog: SchemaCatalog) throws(AuthorityStoreError) {
        try store.step("set catalog")
        try base.set(catalog)
    }

    func set(_ role: SpaceRole?, of principal: Principal, in space: SpaceID) throws(AuthorityStoreError) {
        try store.step("set member")
        try base.set(role, of: principal, in: space)
    }

    func takeVersion(in space: SpaceID) throws(AuthorityStoreError) -> Version {
        try store.step("take version")
        return try base.takeVersion(in: space)
    }

    func takeUIDs(_ count: Int, in collection: CollectionName) throws(AuthorityStoreError) -> UID {
        try store.step("take uids")
        return try base.takeUIDs(count, in: collection)
    }

    func put(_ record: StoredRecord) throws(AuthorityStoreError) {
        try store.step("put")
        try base.put(record)
    }

    func link(_ referrer: Referrer, to target: RecordAddress) throws(AuthorityStoreError) {
        try store.step("link")
        try base.link(referrer, to: target)
    }

    func unlink(_ referrer: Referrer, from target: RecordAddress) throws(AuthorityStoreError) {
        try store.step("unlink")
        try base.unlink(referrer, from: target)
    }

    func append(
        _ commit: Commit, to space: SpaceID, by author: CommitAuthor, fingerprint: HistoryFingerprint
    ) throws(AuthorityStoreError) {
        try store.step("append")
        try base.append(commit, to: space, by: author, fingerprint: fingerprint)
    }

    func set(_ ledger: Ledger, of key: LedgerKey) throws(AuthorityStoreError) {
        try store.step("set ledger")
        try base.set(ledger, of: key)
    }

    func keep(
        _ outcome: StoredOutcome, of key: LedgerKey, _ number: TransactionNumber
    ) throws(AuthorityStoreError) {
        try store.step("keep")
        try base.keep(outcome, of: key, number)
    }

    func forgetOutcomes(
        of key: LedgerKey, below number: TransactionNumber, keeping bytes: Int
    ) throws(AuthorityStoreError) {
        try store.step("forget outcomes")
        try base.forgetOutcomes(of: key, below: number, keeping: bytes)
    }

    func forgetOutcomes(
        ofFormerIncarnationsOf key: LedgerKey, keeping count: Int
    ) throws(AuthorityStoreError) {
        try store.step("forget outcomes of former incarnations")
        try base.forgetOutcomes(ofFormerIncarnationsOf: key, keeping: count)
    }

    func note(
        _ conflict: FieldConflict, in space: SpaceID, at version: Version, by author: CommitAuthor
    ) throws(AuthorityStoreError) {
        try store.step("note")
        try base.note(conflict, in: space, at: version, by: author)
    }

    func bind(_ client: ClientID, to principal: Principal) throws(AuthorityStoreError) {
        try store.step("bind")
        try base.bind(client, to: principal)
    }

    func mark(_ client: ClientID, replacedBy replacement: ClientID?) throws(AuthorityStoreError) {
        try store.step("mark")
        try base.mark(client, replacedBy: replacement)
    }

    func trimConflicts(keeping kept: ConflictAmount, limit: Int) throws(AuthorityStoreError) -> Int {
        try store.step("trim conflicts")
        return try base.trimConflicts(keeping: kept, limit: limit)
    }

    func trim(_ space: SpaceID, through version: Version) throws(AuthorityStoreError) {
        try store.step("trim")
        try base.trim(space, through: version)
    }
}
