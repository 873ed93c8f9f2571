public import SyncAuthority
import SyncConcurrency
public import SyncModel

/// An authority's store that keeps values in memory, for tests and as a second implementation of the port.
///
/// The code is as simple as possible. A write that begins while another is running fails with `busy`.
public final class InMemoryAuthorityStore: AuthorityStore {
    private struct Contents: Sendable {
        var tables: AuthorityTables
        var isWriting = false
    }

    private let contents: Guarded<Contents>

    /// Creates an empty store at the beginning of this history.
    public init(history: HistoryIdentity) {
        contents = Guarded(Contents(tables: AuthorityTables(history: history)))
    }

    /// Creates an empty store whose history has a fixed key, so that its cursors are the same in every run.
    public convenience init(epoch: Epoch) {
        self.init(history: .fixed(epoch))
    }

    /// Returns a copy of the store's contents, as a backup would keep them.
    public func copy() -> InMemoryAuthorityStore {
        InMemoryAuthorityStore(tables: contents.withLock(\.tables))
    }

    private init(tables: AuthorityTables) {
        contents = Guarded(Contents(tables: tables))
    }

    public func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result {
        try body(InMemoryTransaction(contents.withLock { $0.tables }))
    }

    public func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result {
        let begun = contents.withLock { contents -> AuthorityTables? in
            guard !contents.isWriting else { return nil }
            contents.isWriting = true
            return contents.tables
        }
        guard let begun else { throw AuthorityStoreError(.busy, "another write is running") }
        let transaction = InMemoryTransaction(begun)
        do {
            let result = try body(transaction)
            let tables = transaction.tables
            contents.withLock { contents in
                contents.tables = tables
                contents.isWriting = false
            }
            return result
        } catch {
            contents.withLock { $0.isWriting = false }
            throw error
        }
    }
}

/// The contents of an authority's store.
struct AuthorityTables: Sendable {
    struct Reference: Hashable {
        let referrer: Referrer
        let target: RecordAddress
    }

    struct Logged {
        let commit: Commit
        let author: CommitAuthor
        let fingerprint: HistoryFingerprint

        /// The size of the changes, as this store counts them.
        var bytes: Int { commit.changes.count * 64 }
    }

    var state: AuthorityState
    var catalog: SchemaCatalog?
    var members: [SpaceID: [String: SpaceRole]] = [:]
    var extents: [SpaceID: SpaceExtent] = [:]
    var horizonFingerprints: [SpaceID: HistoryFingerprint] = [:]
    var records: [RecordAddress: StoredRecord] = [:]
    var uids: [CollectionName: Int64] = [:]
    var references: Set<Reference> = []
    var log: [SpaceID: [Logged]] = [:]
    var ledgers: [LedgerKey: Ledger] = [:]
    var outcomes: [LedgerKey: [TransactionNumber: StoredOutcome]] = [:]
    var conflicts: [RecordedConflict] = []
    /// The number of the newest conflict. That conflict may have been trimmed.
    var lastConflict: Int64 = 0
    /// The newest conflicts that were trimmed, by the client whose value lost.
    var removedNotices: [SpaceID: [ClientID: Int64]] = [:]
    var owners: [ClientID: ClientOwner] = [:]

    init(history: HistoryIdentity) {
        state = AuthorityState(history: history, clock: HybridClock())
    }
}

/// A copy of the tables, which replaces the store's tables when the write succeeds.
final class InMemoryTransaction: AuthorityTransaction {
    private(set) var tables: AuthorityTables

    init(_ tables: AuthorityTables) {
        self.tables = tables
    }

    // MARK: Reading

    func state() -> AuthorityState { tables.state }

    func catalog() -> SchemaCatalog? { tables.catalog }

    func members() -> [SpaceMember] {
        tables.members.sorted { $0.key < $1.key }.flatMap { space, roles in
            roles.sorted { $0.key < $1.key }.map {
                SpaceMember(space: space, principal: Principal(name: $0.key), role: $0.value)
            }
        }
    }

    func extent(of space: SpaceID) -> SpaceExtent { tables.extents[space] ?? .empty }

    func extents() -> [SpaceID: SpaceExtent] { tables.extents }

    func fingerprint(at version: Version, in space: SpaceID) -> HistoryFingerprint? {
        if version == extent(of: space).horizon { return tables.horizonFingerprints[space] ?? .start }
        return tables.log[space]?.first { $0.commit.version == version }?.fingerprint
    }

    func spaces(exceeding bound: FeedBound) -> [SpaceID] {
        tables.extents.keys.filter { surplus(of: $0, over: bound, limit: 1) != nil }.sorted()
    }

    func surplus(of space: SpaceID, over bound: FeedBound, limit: Int) -> Version? {
        let extent = extent(of: space)
        var left = (
            commits: extent.head.rawValue - extent.horizon.rawValue,
            bytes: (tables.log[space] ?? []).reduce(0) { $0 + $1.bytes }
        )
        var last = extent.horizon
        while last < extent.head, left.commits > bound.commits || left.bytes > bound.bytes,
            last.rawValue - extent.horizon.rawValue < limit
        {
            last = last.next
            left.commits -= 1
            left.bytes -= tables.log[space]?.first { $0.commit.version == last }?.bytes ?? 0
        }
        return last > extent.horizon ? last : nil
    }

    func record(_ address: RecordAddress) -> StoredRecord? { tables.records[address] }

    func record(_ collection: CollectionName, _ uid: UID) -> StoredRecord? {
        tables.records.values.first { $0.address.collection == collection && $0.uid == uid }
    }

    func referrers(of target: RecordAddress, through fields: [ReferenceField], limit: Int) -> [Referrer] {
        fields.flatMap { field in
            tables.references.filter { reference in
                reference.target == target
                    && field == ReferenceField(reference.referrer.address.collection, reference.referrer.field)
            }
            .map(\.referrer).sorted { $0.address < $1.address }
        }
        .prefix(limit).map(\.self)
    }

    func rows(
        in space: SpaceID, of collection: CollectionName, after id: RecordID?, budget: PageBudget
    ) -> RowSlice {
        let all = tables.records.values
            .filter { record in
                record.space == space && record.address.collection == collection && record.isAlive
                    && id.map { record.address.id > $0 } ?? true
            }
            .sorted { $0.address < $1.address }
        var bytes = 0
        var records: [StoredRecord] = []
        for record in all {
            if !records.isEmpty, records.count >= budget.rows || bytes >= budget.bytes { break }
            records.append(record)
            bytes += record.fields.reduce(64) { $0 + $1.value.byteCount }
        }
        return RowSlice(records: records, bytes: bytes, isComplete: records.count == all.count)
    }

    func records(
        in space: SpaceID, of schema: ModelSchema, after id: RecordID?, budget: PageBudget
    ) -> SnapshotSlice {
        SnapshotSlice(rows(in: space, of: schema.collection, after: id, budget: budget), schema: schema)
    }

    func recordCounts(in space: SpaceID) -> [CollectionName: Int] {
        let alive = tables.records.values.filter { $0.space == space && $0.isAlive }
        return Dictionary(alive.map { ($0.address.collection, 1) }, uniquingKeysWith: +)
    }

    func recentCommits(in space: SpaceID, before version: Version?, budget: PageBudget) -> [RecordedCommit] {
        var commits: [RecordedCommit] = []
        var left = budget
        for logged in (tables.log[space] ?? []).reversed() where version.map({ logged.commit.version < $0 }) ?? true {
            let changes = logged.commit.changes
            if !commits.isEmpty, changes.count > left.rows || left.bytes <= 0 { break }
            left.rows -= changes.count
            left.bytes -= changes.count * 64
            commits.append(RecordedCommit(commit: logged.commit, author: logged.author))
        }
        return commits
    }

    func commits(in space: SpaceID, after version: Version, budget: PageBudget) -> [Commit] {
        var commits: [Commit] = []
        var left = budget
        for logged in tables.log[space] ?? [] where logged.commit.version > version {
            let changes = logged.commit.changes
            if !commits.isEmpty, changes.count > left.rows || left.bytes <= 0 { break }
            left.rows -= changes.count
            left.bytes -= changes.count * 64
            commits.append(logged.commit)
        }
        return commits
    }

    func author(of version: Version, in space: SpaceID) -> CommitAuthor? {
        tables.log[space]?.first { $0.commit.version == version }?.author
    }

    func ledger(of key: LedgerKey) -> Ledger { tables.ledgers[key] ?? .empty }

    func clients(after client: ClientID?, limit: Int) -> [StoredClient] {
        let page = tables.owners.filter { owned in client.map { owned.key > $0 } ?? true }.sorted { $0.key < $1.key }
        return page.prefix(limit).map { client, owner in
            let principal = owner.principal
            let newest = tables.ledgers.filter { $0.key.principal == principal && $0.key.identity.client == client }
                .max { $0.key.identity.incarnation < $1.key.identity.incarnation }
            return StoredClient(
                identity: newest?.key.identity ?? ClientIdentity(client: client, incarnation: 0), principal: principal,
                isReplaced: owner.replacement != nil, ledger: newest?.value ?? .empty)
        }
    }

    func clientCount() -> Int { tables.owners.count }

    func deviceCount(of principal: Principal) -> Int {
        tables.owners.values.count { $0.principal == principal && $0.replacement == nil }
    }

    func usage() -> [Principal: StoredUsage] {
        var usage: [Principal: StoredUsage] = [:]
        for record in tables.records.values {
            guard let owner = tables.owners[record.creation.origin.stamp.client]?.principal else { continue }
            usage[owner, default: StoredUsage()].records += 1
            usage[owner, default: StoredUsage()].bytes +=
                AuthorityLimits.recordBytes + record.fields.reduce(0) { $0 + $1.value.byteCount }
        }
        return usage
    }

    func commitTime(
        of number: TransactionNumber, from identity: ClientIdentity, at version: Version
    ) -> WallTime? {
        tables.log.values.joined().first { logged in
            logged.commit.version == version && logged.author.identity == identity && logged.author.number == number
        }?.author.committedAt
    }

    func outcome(of key: LedgerKey, _ number: TransactionNumber) -> StoredOutcome? { tables.outcomes[key]?[number] }

    func conflicts(in space: SpaceID, after number: Int64, budget: PageBudget) -> [RecordedConflict] {
        var found: [RecordedConflict] = []
        var left = budget.bytes
        for recorded in tables.conflicts where recorded.space == space && recorded.number > number {
            if found.count >= budget.rows || !found.isEmpty && left <= 0 { break }
            left -= recorded.conflict.byteCount
            found.append(attributed(recorded))
        }
        return found
    }

    func conflictAmount() -> ConflictAmount {
        ConflictAmount(
            conflicts: tables.conflicts.count, bytes: tables.conflicts.reduce(0) { $0 + $1.conflict.byteCount })
    }

    func conflictCount(in space: SpaceID) -> Int { tables.conflicts.count { $0.space == space } }

    func notices(for clients: [ClientID], in space: SpaceID, after number: Int64, limit: Int) -> [RecordedConflict] {
        let found = tables.conflicts.lazy.filter { recorded in
            recorded.space == space && recorded.number > number
                && clients.contains(recorded.conflict.loser.stamp.client)
        }
        return found.prefix(limit).map(attributed)
    }

    func newestRemovedNotice(for clients: [ClientID], in space: SpaceID) -> Int64 {
        clients.compactMap { tables.removedNotices[space]?[$0] }.max() ?? 0
    }

    /// Returns the conflict with the accounts of both sides, as far as their clients have pushed.
    private func attributed(_ recorded: RecordedConflict) -> RecordedConflict {
        let conflict = recorded.conflict
        let sides = [conflict.winner, conflict.loser].map {
            Contender(value: $0.value, stamp: $0.stamp, account: tables.owners[$0.stamp.client]?.principal.account)
        }
        return RecordedConflict(
            number: recorded.number, space: recorded.space, version: recorded.version, author: recorded.author,
            conflict: FieldConflict(
                collection: conflict.collection, record: conflict.record, field: conflict.field, base: conflict.base,
                winner: sides[0], loser: sides[1], rule: conflict.rule))
    }

    func owner(of client: ClientID) -> ClientOwner? { tables.owners[client] }

    // MARK: Writing

    func bind(_ client: ClientID, to principal: Principal) {
        tables.owners[client] = ClientOwner(principal: principal)
    }

    func mark(_ client: ClientID, replacedBy replacement: ClientID?) {
        guard let owner = tables.owners[client] else { return }
        tables.owners[client] = ClientOwner(principal: owner.principal, replacement: replacement)
    }

    func trimConflicts(keeping kept: ConflictAmount, limit: Int) -> Int {
        var left = conflictAmount()
        func owner(_ recorded: RecordedConflict) -> String {
            tables.owners[recorded.conflict.loser.stamp.client]?.principal.name ?? ""
        }
        let byBytes = left.bytes > kept.bytes
        let weights = Dictionary(
            tables.conflicts.map { (owner($0), byBytes ? $0.conflict.byteCount : 1) }, uniquingKeysWith: +)
        guard let heaviest = weights.min(by: { ($1.value, $0.key) < ($0.value, $1.key) })?.key else { return 0 }
        var gone: Set<Int64> = []
        for recorded in tables.conflicts.filter({ owner($0) == heaviest }).prefix(limit) where left.exceeds(kept) {
            gone.insert(recorded.number)
            tables.removedNotices[recorded.space, default: [:]][recorded.conflict.loser.stamp.client] = recorded.number
            left.conflicts -= 1
            left.bytes -= recorded.conflict.byteCount
        }
        tables.conflicts.removeAll { gone.contains($0.number) }
        return gone.count
    }

    func set(_ state: AuthorityState) {
        (tables.state.history, tables.state.clock) = (state.history, state.clock)
    }

    func set(_ catalog: SchemaCatalog) {
        guard tables.catalog != catalog else { return }
        tables.catalog = catalog
        let models = catalog.models.map { "\($0.collection): \($0.fields.map(\.name))" }.joined(separator: "\n")
        tables.state.catalogRevision = Revision.next(after: tables.state.catalogRevision, models)
    }

    func set(_ role: SpaceRole?, of principal: Principal, in space: SpaceID) {
        tables.members[space, default: [:]][principal.name] = role
        tables.state.memberRevision = Revision.next(
            after: tables.state.memberRevision, SpaceMember.change(to: role, of: principal, in: space))
    }

    func takeVersion(in space: SpaceID) -> Version {
        let old = extent(of: space)
        tables.extents[space] = SpaceExtent(head: old.head.next, horizon: old.horizon)
        return old.head.next
    }

    func takeUIDs(_ count: Int, in collection: CollectionName) -> UID {
        let first = tables.uids[collection, default: 0]
        tables.uids[collection] = first + Int64(count)
        return UID(first)
    }

    func put(_ record: StoredRecord) { tables.records[record.address] = record }

    func link(_ referrer: Referrer, to target: RecordAddress) {
        tables.references.insert(AuthorityTables.Reference(referrer: referrer, target: target))
    }

    func unlink(_ referrer: Referrer, from target: RecordAddress) {
        tables.references.remove(AuthorityTables.Reference(referrer: referrer, target: target))
    }

    func append(_ commit: Commit, to space: SpaceID, by author: CommitAuthor, fingerprint: HistoryFingerprint) {
        tables.log[space, default: []].append(
            AuthorityTables.Logged(commit: commit, author: author, fingerprint: fingerprint))
    }

    func set(_ ledger: Ledger, of key: LedgerKey) { tables.ledgers[key] = ledger }

    func keep(_ outcome: StoredOutcome, of key: LedgerKey, _ number: TransactionNumber) {
        tables.outcomes[key, default: [:]][number] = outcome
    }

    func forgetOutcomes(of key: LedgerKey, below number: TransactionNumber, keeping bytes: Int) {
        var first = number
        var kept = 0
        while bytes > 0, first > .first, let outcome = tables.outcomes[key]?[TransactionNumber(first.rawValue - 1)] {
            kept += outcome.bytes
            guard kept <= bytes else { break }
            first = TransactionNumber(first.rawValue - 1)
        }
        tables.outcomes[key] = tables.outcomes[key]?.filter { $0.key >= first }
    }

    func forgetOutcomes(ofFormerIncarnationsOf key: LedgerKey, keeping count: Int) {
        func isOfClient(_ other: LedgerKey) -> Bool {
            other.principal == key.principal && other.identity.client == key.identity.client
        }
        let kept = tables.ledgers.keys.filter(isOfClient).map(\.identity.incarnation).sorted().suffix(count)
        guard let oldest = kept.first else { return }
        tables.outcomes = tables.outcomes.filter { !isOfClient($0.key) || $0.key.identity.incarnation >= oldest }
    }

    func note(_ conflict: FieldConflict, in space: SpaceID, at version: Version, by author: CommitAuthor) {
        tables.lastConflict += 1
        tables.conflicts.append(
            RecordedConflict(
                number: tables.lastConflict, space: space, version: version, author: author,
                conflict: conflict))
    }

    func trim(_ space: SpaceID, through version: Version) {
        let extent = extent(of: space)
        let through = min(version, extent.head)
        guard through > extent.horizon else { return }
        tables.horizonFingerprints[space] = fingerprint(at: through, in: space)
        tables.log[space]?.removeAll { $0.commit.version <= through }
        tables.extents[space] = SpaceExtent(head: extent.head, horizon: through)
    }
}

extension StoredOutcome {
    /// The size of the outcome, as this store counts it.
    fileprivate var bytes: Int {
        guard case .applied(_, _, let conflicts) = outcome else { return 64 }
        return conflicts.reduce(64) { $0 + $1.byteCount }
    }
}
