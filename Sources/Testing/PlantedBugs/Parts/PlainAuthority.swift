import SyncAuthority
import SyncConcurrency
import SyncModel

/// A small authority with one space and no database, in which bugs are planted to check the oracles.
///
/// It has its own ledger, change feed, and commits. It shares `FieldMerge`, `StampPolicy`, and the checks of
/// `SchemaCatalog` with the real authority, so it cannot serve as an oracle for these.
final class PlainAuthority: AuthorityService {
    /// A bug that can be switched on.
    enum Bug: String, Hashable, Sendable, CaseIterable {
        /// Applies a repeated transaction again under a new version.
        case appliesRepeatsAgain
        /// Responds to a repeat with a different outcome.
        case changesOutcomesOfRepeats
        /// Omits the last change of commits with more than one change.
        case dropsLastChange
        /// Omits the second commit of a page of the feed with more than two commits.
        case skipsCommits
        /// Lets an update bring a deleted record back.
        case resurrects
        /// Takes the pushed value regardless of the merge rule.
        case lastPushWins
        /// Reports an update as applied but omits its last field.
        case losesFields
        /// Sometimes assigns a uid twice.
        case repeatsUIDs
        /// Sometimes reports a transaction as applied without applying it.
        case acknowledgesWithoutApplying
        /// Sometimes rejects a transaction that should be applied.
        case refusesAtRandom
        /// Never returns a commit from the feed.
        case hidesFeed
        /// Swaps the first two results of a push.
        case reordersResponses
        /// Uses only the client data that this process has in memory.
        case ignoresStoredLedger
        /// Lets an older edit replace a value that another device has changed and set back, as if it had seen that.
        case forgetsRepeats
    }

    /// The simulated disk, which holds the whole state after each call and survives the process.
    final class Disk: Sendable {
        fileprivate let state: Guarded<State>

        init(catalog: SchemaCatalog) {
            state = Guarded(State(catalog: catalog))
        }
    }

    fileprivate struct Cell: Sendable {
        var value: FieldValue
        var stamp: Stamp
        /// The client that wrote the value.
        var identity: ClientIdentity
        var version: Version
        /// Whether the latest transaction that set the value found it there already.
        var isRepeat = false
    }

    /// The client that pushes, and the rule for its stamps.
    fileprivate struct Author {
        let identity: ClientIdentity
        let formerClients: [ClientID]
        let stamps: StampPolicy
    }

    fileprivate struct Row: Sendable {
        var uid: UID
        let created: Version
        var version: Version
        var cells: [Cell]
    }

    fileprivate struct Client: Sendable {
        var next = TransactionNumber.first
        var outcomes: [TransactionNumber: (hash: PayloadHash, outcome: Outcome)] = [:]
    }

    fileprivate struct State: Sendable {
        let catalog: SchemaCatalog
        var rows: [CollectionName: [RecordID: Row]] = [:]
        var dead: Set<RecordID> = []
        /// The creator of each record, and the creation time that it claims.
        var origins: [RecordID: Stamp] = [:]
        var clients: [ClientIdentity: Client] = [:]
        var commits: [Commit] = []
        var nextUID: [CollectionName: Int64] = [:]
        var pushes = 0

        var head: Version { Version(Int64(commits.count)) }

        init(catalog: SchemaCatalog) {
            self.catalog = catalog
        }
    }

    let commits = Broadcast<SpaceHeads>()
    private let disk: Disk
    private let bug: Bug?
    /// The client data in the memory of this process, used by the bug `ignoresStoredLedger`.
    private let remembered: Guarded<[ClientIdentity: Client]>
    private static let epoch = Epoch(rawValue: "first")
    private static let limits = ServerLimits(pushBytes: 1_000_000, pushTransactions: 1_000, pageRows: 200)

    init(disk: Disk, bug: Bug? = nil) {
        self.disk = disk
        self.bug = bug
        remembered = Guarded(disk.state.withLock { $0.clients })
    }

    func hello(for principal: Principal, now: WallTime) throws(AuthorityError) -> ServerHello {
        ServerHello(
            protocolVersions: 1...1, epoch: Self.epoch, account: principal.account, serverTime: HybridTime(wall: now),
            limits: Self.limits)
    }

    func readable(among spaces: [SpaceID], by principal: Principal) -> [SpaceID] { spaces }

    func push(
        _ request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PushResponse {
        try principal.check(isMeantBy: request.account)
        let (response, head) = disk.state.withLock { state in
            if bug == .ignoresStoredLedger { state.clients = remembered.withLock { $0 } }
            let response = state.push(request, now: now, bug: bug, epoch: Self.epoch)
            remembered.withLock { $0 = state.clients }
            return (response, state.head)
        }
        commits.publish(SpaceHeads(heads: [.default: head]))
        return response
    }

    func pull(
        _ request: PullRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PullResponse {
        try principal.check(isMeantBy: request.account)
        return try disk.state.withLock { state throws(AuthorityError) in
            try state.pull(request, now: now, bug: bug, epoch: Self.epoch)
        }
    }

    func fetch(
        _ request: FetchRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> Record? {
        disk.state.withLock { state in
            guard case .id(let id) = request.key else { return nil }
            return state.rows[request.collection]?[id].map { $0.record(id) }
        }
    }
}

extension PlainAuthority.Row {
    fileprivate func record(_ id: RecordID) -> Record {
        Record(
            id: id, uid: uid, version: version, values: cells.map(\.value), fieldVersions: cells.map(\.version))
    }
}

extension PlainAuthority.State {
    // MARK: Push

    fileprivate mutating func push(
        _ request: PushRequest, now: WallTime, bug: PlainAuthority.Bug?, epoch: Epoch
    ) -> PushResponse {
        pushes += 1
        if let known = request.epoch, known != epoch { return .refused(.epochChanged(epoch)) }
        var results: [TransactionResult] = []
        for numbered in request.transactions {
            let client = clients[request.identity] ?? PlainAuthority.Client()
            if let seen = client.outcomes[numbered.number], bug != .appliesRepeatsAgain {
                guard seen.hash == numbered.hash else {
                    return .refused(.identityConflict(number: numbered.number))
                }
                var outcome = seen.outcome
                if bug == .changesOutcomesOfRepeats, case .applied(_, let uids, _) = outcome {
                    outcome = .applied(version: head, uids: uids, conflicts: [])
                }
                results.append(TransactionResult(number: numbered.number, outcome: outcome))
                continue
            }
            guard numbered.number <= client.next else {
                return results.isEmpty
                    ? .refused(.gap(expected: client.next))
                    : .answered(results, epoch: epoch, serverTime: HybridTime(wall: now))
            }
            let repeated = numbered.formerNumbers.compactMap { [clients] former in
                clients[former.identity]?.outcomes[former.number].flatMap { $0.hash == former.hash ? $0.outcome : nil }
            }.first
            let author = PlainAuthority.Author(
                identity: request.identity, formerClients: numbered.formerNumbers.map(\.identity.client),
                stamps: StampPolicy(now: now, age: numbered.age, permittedSkew: SchemaLimits.permittedSkew))
            let outcome = repeated ?? outcome(of: numbered.transaction, by: author, bug: bug)
            clients[request.identity, default: PlainAuthority.Client()].next = max(client.next, numbered.number.next)
            clients[request.identity, default: PlainAuthority.Client()].outcomes[numbered.number] =
                (numbered.hash, outcome)
            results.append(TransactionResult(number: numbered.number, outcome: outcome))
        }
        if bug == .reordersResponses, results.count > 1 { results.swapAt(0, 1) }
        return .answered(results, epoch: epoch, serverTime: HybridTime(wall: now))
    }

    private mutating func outcome(
        of transaction: Transaction, by author: PlainAuthority.Author, bug: PlainAuthority.Bug?
    ) -> Outcome {
        if bug == .refusesAtRandom, pushes % 13 == 0 {
            return .rejected(Rejection(code: .forbidden, message: "because", mutation: nil))
        }
        if let rejection = catalog.rejection(of: transaction) { return .rejected(rejection) }
        if bug == .acknowledgesWithoutApplying, pushes % 7 == 0 {
            commits.append(Commit(version: head.next, changes: []))
            return .applied(version: head, uids: [], conflicts: [])
        }
        let before = (rows, dead, origins, nextUID)
        var changes: [RecordChange] = []
        var uids: [AssignedUID] = []
        var conflicts: [FieldConflict] = []
        for (position, mutation) in transaction.mutations.enumerated() {
            if let code = apply(
                mutation, in: transaction, by: author, bug, &changes, &uids, &conflicts)
            {
                (rows, dead, origins, nextUID) = before
                return .rejected(Rejection(code: code, message: "refused: \(code)", mutation: position))
            }
        }
        if let code = danglingReference(in: transaction) ?? strandedReference(after: transaction) {
            (rows, dead, origins, nextUID) = before
            return .rejected(Rejection(code: code, message: "refused: \(code)", mutation: nil))
        }
        if bug != .forgetsRepeats { noteRepeats(in: transaction, since: before.0) }
        if bug == .dropsLastChange, changes.count > 1 { changes.removeLast() }
        commits.append(Commit(version: head.next, changes: changes))
        return .applied(version: head, uids: uids, conflicts: conflicts)
    }

    /// Notes the values that a transaction has set to what they were.
    private mutating func noteRepeats(
        in transaction: Transaction, since before: [CollectionName: [RecordID: PlainAuthority.Row]]
    ) {
        for mutation in transaction.mutations {
            guard let old = before[mutation.collection]?[mutation.record]?.cells,
                let new = rows[mutation.collection]?[mutation.record]?.cells
            else { continue }
            for (place, cell) in new.enumerated()
            where (cell.stamp, cell.identity) != (old[place].stamp, old[place].identity) {
                rows[mutation.collection]?[mutation.record]?.cells[place].isRepeat =
                    cell.value == old[place].value
            }
        }
    }

    /// Merges edits into a record that exists.
    private mutating func merge(
        _ edits: [FieldEdit], into id: RecordID, _ schema: ModelSchema, _ stamp: Stamp,
        by author: PlainAuthority.Author, _ bug: PlainAuthority.Bug?, _ changes: inout [RecordChange],
        _ conflicts: inout [FieldConflict]
    ) -> RejectionCode? {
        let (collection, version) = (schema.collection, head.next)
        var taken = Patch()
        for edit in bug == .losesFields ? edits.dropLast() : edits[...] {
            guard let place = schema.position(of: edit.field), let cell = rows[collection]?[id]?.cells[place]
            else { return .unknownField }
            let isUnset = cell.value == .null && cell.version == rows[collection]?[id]?.created
            let hasSeen =
                cell.identity == author.identity || isUnset
                || edit.seen <= head && cell.version <= edit.seen && (!cell.isRepeat || stamp > cell.stamp)
            let decision = FieldMerge.decide(
                edit, pushed: Contender(value: edit.value, stamp: stamp),
                stored: Contender(value: cell.value, stamp: cell.stamp), hasSeen: hasSeen,
                rule: bug == .lastPushWins ? .clientWins : schema.fields[place].mergeRule,
                collection: collection, record: id)
            switch decision {
            case .take(let winner, let conflict):
                rows[collection]?[id]?.cells[place] = PlainAuthority.Cell(
                    value: winner.value, stamp: winner.stamp, identity: author.identity,
                    version: winner.value == cell.value ? cell.version : version, isRepeat: cell.isRepeat)
                taken.set(edit.field, to: winner.value)
                if let conflict { conflicts.append(conflict) }
            case .keep(let conflict):
                if let conflict { conflicts.append(conflict) }
            }
        }
        rows[collection]?[id]?.version = version
        if !taken.isEmpty { changes.append(RecordChange(collection: collection, id: id, effect: .updated(taken))) }
        return nil
    }

    /// Returns whether the fields that nobody has changed since the creation have the values of a patch.
    private static func hasInitialValues(_ row: PlainAuthority.Row, _ patch: Patch, _ schema: ModelSchema) -> Bool {
        zip(schema.fields, row.cells).allSatisfy { field, cell in
            cell.version != row.created || cell.value == patch[field.name] ?? .null
        }
    }

    private mutating func apply(
        _ mutation: Mutation, in transaction: Transaction, by author: PlainAuthority.Author,
        _ bug: PlainAuthority.Bug?, _ changes: inout [RecordChange], _ uids: inout [AssignedUID],
        _ conflicts: inout [FieldConflict]
    ) -> RejectionCode? {
        guard let schema = catalog[mutation.collection] else { return .unknownCollection }
        let version = head.next
        let client = author.identity.client
        let stamp = Stamp(time: author.stamps.time(claimed: mutation.time), client: client)
        let id = mutation.record
        switch mutation.intent {
        case .create(let patch):
            if let origin = origins[id], origin.time == mutation.time,
                origin.client == client || author.formerClients.contains(origin.client),
                rows[mutation.collection]?[id].map({ Self.hasInitialValues($0, patch, schema) }) ?? true
            {
                // The client repeats the create under another identity. The create has already taken effect.
                if let row = rows[mutation.collection]?[id] {
                    uids.append(AssignedUID(collection: mutation.collection, record: id, uid: row.uid))
                }
                return nil
            }
            if let row = rows[mutation.collection]?[id] {
                // The devices derived the id from one source. The author has no copy of the record, not even of its own
                // values.
                for (place, cell) in row.cells.enumerated()
                where cell.identity == author.identity {
                    rows[mutation.collection]?[id]?.cells[place].identity =
                        ClientIdentity(client: client, incarnation: -1)
                }
                let edits = patch.filter { $0.value != .null }.map {
                    FieldEdit(field: $0.field, value: $0.value, before: .null, seen: .zero)
                }
                uids.append(AssignedUID(collection: mutation.collection, record: id, uid: row.uid))
                return merge(edits, into: id, schema, stamp, by: author, bug, &changes, &conflicts)
            }
            guard !dead.contains(id) else { return .recordDeleted }
            origins[id] = Stamp(time: mutation.time, client: client)
            let uid = nextUID[mutation.collection, default: 0]
            if bug != .repeatsUIDs || uid % 5 != 0 { nextUID[mutation.collection, default: 0] += 1 }
            if bug == .repeatsUIDs, uid % 5 == 0 { nextUID[mutation.collection, default: 0] += Int64(pushes % 2) }
            rows[mutation.collection, default: [:]][id] = PlainAuthority.Row(
                uid: UID(uid), created: version, version: version,
                cells: schema.fields.map {
                    PlainAuthority.Cell(
                        value: patch[$0.name] ?? .null, stamp: stamp, identity: author.identity, version: version)
                })
            changes.append(
                RecordChange(collection: mutation.collection, id: id, effect: .created(uid: UID(uid), patch)))
            uids.append(AssignedUID(collection: mutation.collection, record: id, uid: UID(uid)))
        case .update(let edits):
            if rows[mutation.collection]?[id] == nil, bug == .resurrects, dead.contains(id) {
                rows[mutation.collection, default: [:]][id] = PlainAuthority.Row(
                    uid: UID(0), created: version, version: version,
                    cells: schema.fields.map { _ in
                        PlainAuthority.Cell(value: .null, stamp: stamp, identity: author.identity, version: version)
                    })
            }
            guard rows[mutation.collection]?[id] != nil else {
                return dead.contains(id) ? .recordDeleted : .missingRecord
            }
            return merge(edits, into: id, schema, stamp, by: author, bug, &changes, &conflicts)
        case .delete(let seen, let unshown):
            if let row = rows[mutation.collection]?[id] {
                let unseen = zip(schema.fields, row.cells).filter { field, cell in
                    cell.identity != author.identity && (!cell.value.isNull || cell.version != row.created)
                        && (unshown.contains(field.name) || seen > head || cell.version > seen
                            || cell.isRepeat && cell.stamp > stamp)
                }.sorted { $0.0.name < $1.0.name }
                if schema.deleteRule == .editWins, !unseen.isEmpty { return .unseenEdits }
                conflicts += unseen.filter { !$0.1.value.isNull }.map { field, cell in
                    FieldConflict(
                        collection: mutation.collection, record: id, field: field.name, base: .null,
                        winner: Contender(value: .null, stamp: stamp),
                        loser: Contender(value: cell.value, stamp: cell.stamp), rule: .deleteWins)
                }
            }
            guard rows[mutation.collection]?.removeValue(forKey: id) != nil else {
                return dead.contains(id) ? nil : .missingRecord
            }
            dead.insert(id)
            changes.append(RecordChange(collection: mutation.collection, id: id, effect: .deleted))
        }
        return nil
    }

    private func danglingReference(in transaction: Transaction) -> RejectionCode? {
        for mutation in transaction.mutations {
            guard let schema = catalog[mutation.collection] else { continue }
            for (name, value) in mutation.patch {
                guard case .reference(let id) = value, let target = schema.field(named: name)?.target else { continue }
                if rows[target]?[id] == nil, !dead.contains(id) || schema.field(named: name)?.isRequired == true {
                    return .danglingReference
                }
            }
        }
        return nil
    }

    private func strandedReference(after transaction: Transaction) -> RejectionCode? {
        let gone = Set(
            transaction.mutations.filter { if case .delete = $0.intent { true } else { false } }.map(\.record))
        guard !gone.isEmpty else { return nil }
        for schema in catalog.models {
            for (position, field) in schema.fields.enumerated() where field.isRequired && field.target != nil {
                for row in (rows[schema.collection] ?? [:]).values {
                    if case .reference(let id) = row.cells[position].value, gone.contains(id) {
                        return .stillReferenced
                    }
                }
            }
        }
        return nil
    }

    // MARK: Pull

    /// Cursors are "s VERSION COLLECTION ID" in a snapshot, and "f VERSION" in the feed.
    fileprivate func pull(
        _ request: PullRequest, now: WallTime, bug: PlainAuthority.Bug?, epoch: Epoch
    ) throws(AuthorityError) -> PullResponse {
        let words = request.cursor?.rawValue.split(separator: " ").map(String.init) ?? []
        func page(_ content: PullPage.Content, _ cursor: String, _ version: Version, _ hasMore: Bool) -> PullResponse {
            .page(
                PullPage(
                    space: request.space, epoch: epoch, serverTime: HybridTime(wall: now), content: content,
                    cursor: Cursor(rawValue: cursor), version: version, head: head, hasMore: hasMore))
        }
        if words.first == "f" {
            guard let from = Int(words[1]), from <= commits.count else {
                throw AuthorityError(.malformed, "the cursor was not issued by this server")
            }
            let end = bug == .hidesFeed ? min(from, 3) : min(from + max(request.limit, 1), commits.count)
            var shown = Array(commits[from..<max(from, end)])
            if bug == .skipsCommits, shown.count > 2 { shown.remove(at: 1) }
            let to = max(from, end)
            return page(.commits(shown), "f \(to)", Version(Int64(to)), to < commits.count && bug != .hidesFeed)
        }
        let all = catalog.models.flatMap { schema in
            (rows[schema.collection] ?? [:]).sorted { $0.key < $1.key }.map {
                (schema.collection, $0.value.record($0.key))
            }
        }
        let version = words.count > 1 ? Version(Int64(words[1]) ?? 0) : head
        let rest = all.drop { entry in
            guard words.count == 4 else { return false }
            let order = catalog.models.map(\.collection.rawValue)
            let place = (order.firstIndex(of: entry.0.rawValue) ?? 0, entry.1.id.description)
            return place <= (order.firstIndex(of: words[2]) ?? 0, words[3])
        }
        let shown = rest.prefix(max(request.limit, 1))
        let groups = catalog.models.compactMap { schema -> SnapshotRows? in
            let records = shown.filter { $0.0 == schema.collection }.map(\.1)
            return records.isEmpty ? nil : SnapshotRows(collection: schema.collection, records: records)
        }
        let isLast = shown.count == rest.count
        let cursor =
            isLast
            ? "f \(version)" : "s \(version) \(shown.last.map { "\($0.0) \($0.1.id)" } ?? "")"
        return page(
            .snapshot(groups, isFirst: words.isEmpty, isLast: isLast), cursor, version, !isLast || version < head)
    }
}
