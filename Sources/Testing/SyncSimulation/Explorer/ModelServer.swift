import SyncModel

/// A simple model of the server as a value, with one space and a feed of commits.
///
/// It applies each transaction once, by number and payload. It is independent of the authority's implementation.
struct ModelServer: Hashable, Sendable {
    let epoch = Epoch(rawValue: "epoch")
    private(set) var feed: [Commit] = []
    /// The payloads of all applied transactions, oldest first, for the explorer's checks. Some of them changed nothing.
    private(set) var applied: [PayloadHash] = []
    private var alive: [RecordID: Record] = [:]
    private var stamps: [RecordID: Stamp] = [:]
    private var deleted: Set<RecordID> = []
    /// The clients that currently have no access to the space.
    private(set) var shutOut: Set<ClientID> = []
    private var ledger: [ClientIdentity: [Entry]] = [:]

    private struct Entry: Hashable, Sendable {
        let hash: PayloadHash
        let outcome: Outcome
    }

    var head: Version { Version(Int64(feed.count)) }

    /// Returns the records after the commits up to `version`, computed from the feed alone.
    func records(upTo version: Version) -> [RecordID: Record] {
        feed.prefix(Int(version.rawValue)).reduce(into: [:]) { records, commit in
            for change in commit.changes { records.apply(change, at: commit.version) }
        }
    }

    // MARK: Requests

    /// All devices of the explorer belong to one account.
    private static let account = AccountID(rawValue: "someone")

    func hello() -> ServerHello {
        ServerHello(
            protocolVersions: ProtocolVersion.current...ProtocolVersion.current, epoch: epoch, account: Self.account,
            serverTime: .zero, limits: ServerLimits(pushBytes: 1_000_000, pushTransactions: 2, pageRows: 2))
    }

    mutating func push(_ request: PushRequest) -> PushResponse {
        if let known = request.epoch, known != epoch { return .refused(.epochChanged(epoch)) }
        var results: [TransactionResult] = []
        for pushed in request.transactions {
            let answers = ledger[request.identity, default: []]
            let index = Int(pushed.number.rawValue)
            if index < answers.count {
                guard answers[index].hash == pushed.hash else {
                    return .refused(.identityConflict(number: pushed.number))
                }
                results.append(TransactionResult(number: pushed.number, outcome: answers[index].outcome))
            } else if index == answers.count {
                let outcome = commit(pushed, by: request.identity.client)
                ledger[request.identity, default: []].append(Entry(hash: pushed.hash, outcome: outcome))
                results.append(TransactionResult(number: pushed.number, outcome: outcome))
            } else {
                return .refused(.gap(expected: TransactionNumber(Int64(answers.count))))
            }
        }
        return .answered(results, epoch: epoch, serverTime: .zero)
    }

    /// Removes a client's access, or gives it back.
    mutating func changeAccess(of client: ClientID) {
        if shutOut.remove(client) == nil { shutOut.insert(client) }
    }

    func pull(_ request: PullRequest, by client: ClientID) -> PullResponse {
        guard !shutOut.contains(client) else { return .noAccess(epoch) }
        guard let cursor = request.cursor, let from = Int(cursor.rawValue) else {
            let rows = SnapshotRows(
                collection: ExplorerWorld.schema.collection, records: alive.values.sorted { $0.id < $1.id })
            return .page(page(.snapshot([rows], isFirst: true, isLast: true), at: head))
        }
        let commits = Array(feed.dropFirst(from).prefix(request.limit))
        return .page(page(.commits(commits), at: Version(Int64(from + commits.count))))
    }

    private func page(_ content: PullPage.Content, at version: Version) -> PullPage {
        PullPage(
            space: .default, epoch: epoch, serverTime: .zero, content: content, cursor: Cursor(rawValue: "\(version)"),
            version: version, head: head, hasMore: version < head)
    }

    // MARK: Commits

    /// Applies a transaction of one mutation.
    ///
    /// An edit wins when its author has seen the stored value, or when it has the later stamp. A delete wins over an
    /// edit.
    private mutating func commit(_ pushed: NumberedTransaction, by client: ClientID) -> Outcome {
        guard !shutOut.contains(client) else {
            return .rejected(Rejection(code: .forbidden, message: "shut out", mutation: nil))
        }
        let version = head.next
        let mutation = pushed.transaction.mutations[0]
        let id = mutation.record
        let stamp = Stamp(time: mutation.time, client: client)
        var uids: [AssignedUID] = []
        let change: RecordChange.Effect
        switch mutation.intent {
        case .create(let patch):
            let uid = UID(Int64(alive.count + deleted.count))
            alive[id] = Record(id: id, uid: uid, version: version, creating: patch, schema: ExplorerWorld.schema)
            stamps[id] = stamp
            uids = [AssignedUID(collection: mutation.collection, record: id, uid: uid)]
            change = .created(uid: uid, patch)
        case .update(let edits):
            guard let record = alive[id], let stored = stamps[id] else {
                return .rejected(
                    Rejection(
                        code: deleted.contains(id) ? .recordDeleted : .missingRecord, message: "gone", mutation: 0))
            }
            let hasSeen = stored.client == client || record.version <= edits[0].seen
            guard hasSeen || stamp > stored else {
                applied.append(pushed.hash)
                return .applied(version: head, uids: [], conflicts: [])
            }
            alive[id] = record.updated(by: mutation.patch, at: version, schema: ExplorerWorld.schema)
            stamps[id] = stamp
            change = .updated(mutation.patch)
        case .delete:
            guard alive.removeValue(forKey: id) != nil else {
                applied.append(pushed.hash)
                return .applied(version: head, uids: [], conflicts: [])
            }
            deleted.insert(id)
            change = .deleted
        }
        applied.append(pushed.hash)
        feed.append(
            Commit(version: version, changes: [RecordChange(collection: mutation.collection, id: id, effect: change)]))
        return .applied(version: version, uids: uids, conflicts: [])
    }
}
