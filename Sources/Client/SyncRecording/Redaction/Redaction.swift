import Crypto
import SyncCore
import SyncModel

/// Removes from events, actions, and states everything that must not leave a device, and keeps what the session's
/// decisions depend on.
///
/// Records, mutations, uids, conflicts, payload hashes, client ids, and failure messages are removed. Names chosen by a
/// server (cursors, epochs) and names of spaces and accounts are replaced by pseudonyms; equal names get equal
/// pseudonyms. The session's actions for a redacted event are the redacted actions for the event, so that a replay can
/// compare them.
package struct Redaction: Sendable {
    /// The key of the pseudonyms; nil keeps names, because they are pseudonyms already.
    private let key: SymmetricKey?

    /// Creates a redaction.
    ///
    /// - Parameter salt: Random bits, so that names cannot be guessed or matched with those of another recording.
    package init(salt: (UInt64, UInt64)) {
        key = SymmetricKey(data: withUnsafeBytes(of: salt) { Array($0) })
    }

    private init() {
        key = nil
    }

    /// A redaction for states that came out of a replay: it keeps names and removes messages.
    package static let messagesOnly = Redaction()

    // MARK: Names

    private func pseudonym(_ kind: String, _ name: String) -> String? {
        guard let key else { return nil }
        var code = HMAC<SHA256>(key: key)
        code.update(data: Array(kind.utf8))
        code.update(data: Array(name.utf8))
        return kind + Hexadecimal.text(of: Array(code.finalize().prefix(8)))
    }

    func space(_ space: SpaceID) -> SpaceID {
        // The name of the default space is the only one that this library chooses, so it reveals nothing.
        if space == .default { return space }
        return pseudonym("s_", space.rawValue).flatMap(SpaceID.init(rawValue:)) ?? space
    }

    func cursor(_ cursor: Cursor?) -> Cursor? {
        guard let cursor else { return nil }
        return pseudonym("c_", cursor.rawValue).map(Cursor.init(rawValue:)) ?? cursor
    }

    func epoch(_ epoch: Epoch) -> Epoch {
        pseudonym("e_", epoch.rawValue).map(Epoch.init(rawValue:)) ?? epoch
    }

    func account(_ account: AccountID) -> AccountID {
        pseudonym("a_", account.rawValue).map(AccountID.init(rawValue:)) ?? account
    }

    // MARK: Failures and links, without messages

    func failure(_ failure: TransportError) -> TransportError {
        failure.worded("")
    }

    func failure(_ failure: StoreError) -> StoreError {
        StoreError(failure.code, "")
    }

    func link(_ link: LinkState) -> LinkState {
        switch link {
        case .up: .up
        case .down: .down("")
        }
    }

    // MARK: Values from the store

    func identity(_ identity: ClientIdentity) -> ClientIdentity {
        ClientIdentity(client: Self.redactedClient, incarnation: identity.incarnation)
    }

    static let redactedClient = ClientID(bits: Identifier128(high: 0, low: 0))

    func stored(_ stored: StoredSpace) -> StoredSpace {
        StoredSpace(
            space: space(stored.space), cursor: cursor(stored.cursor), version: stored.version,
            isComplete: stored.isComplete, hasAccess: stored.hasAccess, receipt: receipt(stored.receipt),
            notices: stored.notices.map { Self.notices(after: $0.after) })
    }

    /// Returns a request of which only the number of the last known notice is known.
    static func notices(after number: Int64) -> NoticeRequest { NoticeRequest(clients: [], after: number) }

    func receipt(_ receipt: CommitReceipt?) -> CommitReceipt? {
        receipt.map {
            CommitReceipt(space: space($0.space), version: $0.version, cursor: cursor($0.cursor) ?? $0.cursor)
        }
    }

    func session(_ session: StoredSession) -> StoredSession {
        var redacted = StoredSession(
            identity: identity(session.identity), epoch: session.epoch.map(epoch),
            account: session.account.map(account), spaces: session.spaces.map(stored), outbox: session.outbox)
        redacted.pause = session.pause
        return redacted
    }

    func batch(_ batch: PushBatch) -> PushBatch {
        PushBatch(
            identity: identity(batch.identity), epoch: batch.epoch.map(epoch), acknowledged: batch.acknowledged,
            transactions: batch.transactions.map(transaction), outbox: batch.outbox,
            isEmptied: batch.isEmptied, cursors: batch.cursors.map { cursor($0) ?? $0 }, loneBytes: batch.loneBytes)
    }

    func transaction(_ transaction: NumberedTransaction) -> NumberedTransaction {
        Self.transaction(transaction.number, in: space(transaction.transaction.space))
    }

    /// Returns a transaction of which only the number and the space are known.
    static func transaction(_ number: TransactionNumber, in space: SpaceID = .default) -> NumberedTransaction {
        NumberedTransaction(
            number: number, hash: PayloadHash(rawValue: ""), transaction: Transaction(space: space, mutations: []))
    }

    func vacated(_ result: VacateResult) -> VacateResult {
        switch result {
        case .vacated(let vacated):
            .vacated(
                VacatedSpace(
                    stored: stored(vacated.stored), outbox: vacated.outbox, removedRecords: vacated.removedRecords))
        case .braked: result
        }
    }

    func applied(_ result: ApplyResult) -> ApplyResult {
        switch result {
        case .applied(let space, let outbox, let count): .applied(stored(space), outbox: outbox, changedRecords: count)
        case .braked: result
        }
    }

    // MARK: Values from the server

    func hello(_ hello: ServerHello) -> ServerHello {
        ServerHello(
            protocolVersions: hello.protocolVersions, epoch: epoch(hello.epoch), account: account(hello.account),
            serverTime: hello.serverTime, limits: hello.limits)
    }

    func result(_ result: TransactionResult) -> TransactionResult {
        let outcome: Outcome =
            switch result.outcome {
            case .applied(let version, _, _): .applied(version: version, uids: [], conflicts: [])
            case .rejected(let rejection): Self.rejected(rejection.code.rawValue)
            }
        return TransactionResult(number: result.number, outcome: outcome, receipt: receipt(result.receipt))
    }

    /// Returns a rejection with this code. A code that this build does not know could contain anything and becomes
    /// `other`.
    static func rejected(_ code: String) -> Outcome { .rejected(rejection(code)) }

    static func rejection(_ code: String) -> Rejection {
        let known = codes.first { $0.rawValue == code }
        return Rejection(code: known ?? RejectionCode(rawValue: "other"), message: "", mutation: nil)
    }

    private static let codes: [RejectionCode] = [
        .malformed, .unknownCollection, .unknownField, .invalidValue, .tooLarge, .duplicateRecord, .missingRecord,
        .recordDeleted, .danglingReference, .stillReferenced, .forbidden, .dependsOnRejected,
    ]

    func response(_ response: PushResponse) -> PushResponse {
        switch response {
        case .answered(let results, let name, let time):
            .answered(results.map(result), epoch: epoch(name), serverTime: time)
        case .refused(.epochChanged(let name)): .refused(.epochChanged(epoch(name)))
        case .refused(.gap), .refused(.identityConflict): response
        }
    }

    func response(_ response: PullResponse) -> PullResponse {
        switch response {
        case .page(let page): .page(self.page(page))
        case .mustReset: response
        case .noAccess(let name): .noAccess(epoch(name))
        }
    }

    func page(_ page: PullPage) -> PullPage {
        let content: PullPage.Content =
            switch page.content {
            case .snapshot(_, let isFirst, let isLast): .snapshot([], isFirst: isFirst, isLast: isLast)
            case .commits: .commits([])
            }
        return PullPage(
            space: space(page.space), epoch: epoch(page.epoch), serverTime: page.serverTime, content: content,
            cursor: cursor(page.cursor) ?? page.cursor, version: page.version, head: page.head, hasMore: page.hasMore,
            hasMoreNotices: page.hasMoreNotices)
    }
}
