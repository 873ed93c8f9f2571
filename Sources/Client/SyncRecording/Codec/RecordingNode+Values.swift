import SyncCore
import SyncJSON
import SyncModel

// These values occur in both events and states. Each function of the writer writes the members of an object, and a
// function of the node reads them.

extension JSONWriter {
    mutating func failure(_ failure: TransportError) {
        member("code", failure.code.rawValue)
        if let pause = failure.retryAfter { member("retry_after", pause) }
        if failure.isDefinite { member("definite", true) }
    }

    mutating func stored(_ stored: StoredSpace) {
        member("space", stored.space.rawValue)
        member("cursor", ifAny: stored.cursor?.rawValue)
        member("version", stored.version.rawValue)
        member("complete", stored.isComplete)
        if !stored.hasAccess { member("access", false) }
        if let receipt = stored.receipt {
            member("receipt", receipt.cursor.rawValue)
            member("receipt_version", receipt.version.rawValue)
        }
        if let notices = stored.notices { member("notices_after", notices.after) }
    }

    mutating func outbox(_ outbox: OutboxSummary) {
        member("waiting", outbox.waiting)
        if outbox.held > 0 { member("held", outbox.held) }
        member("sent", outbox.sent)
        member("answered", outbox.answered)
        member("bytes", outbox.bytes)
        member("active_journal_entries", outbox.activeJournalEntries)
    }

    mutating func session(_ session: StoredSession) {
        member("incarnation", session.identity.incarnation)
        member("epoch", ifAny: session.epoch?.rawValue)
        member("account", ifAny: session.account?.rawValue)
        member("spaces", session.spaces) { writer, stored in writer.object { $0.stored(stored) } }
        member("outbox") { $0.outbox(session.outbox) }
        if let pause = session.pause { member("pause", pause) }
    }

    mutating func hello(_ hello: ServerHello) {
        member("versions", [hello.protocolVersions.lowerBound, hello.protocolVersions.upperBound]) { $0.integer($1) }
        member("epoch", hello.epoch.rawValue)
        member("account", hello.account.rawValue)
        member("server_time", hello.serverTime.description)
        member("push_bytes", hello.limits.pushBytes)
        member("push_transactions", hello.limits.pushTransactions)
        member("page_rows", hello.limits.pageRows)
    }

    mutating func page(_ page: PullPage) {
        member("space", page.space.rawValue)
        member("epoch", page.epoch.rawValue)
        member("server_time", page.serverTime.description)
        switch page.content {
        case .commits: member("content", "commits")
        case .snapshot(_, let isFirst, let isLast):
            member("content", "snapshot")
            member("first", isFirst)
            member("last", isLast)
        }
        member("cursor", page.cursor.rawValue)
        member("version", page.version.rawValue)
        member("head", page.head.rawValue)
        member("more", page.hasMore)
        if page.hasMoreNotices { member("more_notices", true) }
    }

    mutating func link(_ link: LinkState) {
        switch link {
        case .up: member("link", "up")
        case .down: member("link", "down")
        }
    }

    mutating func limit(_ limit: BatchLimit) {
        member("transactions", limit.transactions)
        member("bytes", limit.bytes)
    }
}

extension RecordingNode {
    func failure() throws(RecordingError) -> TransportError {
        let pause = try optional("retry_after")?.duration()
        let isDefinite = try optional("definite")?.boolean() ?? false
        return TransportError(try member("code").choice(), "", retryAfter: pause, isDefinite: isDefinite)
    }

    func storeFailure() throws(RecordingError) -> StoreError {
        StoreError(try member("code").choice(), "")
    }

    func stored() throws(RecordingError) -> StoredSpace {
        let space = try member("space").space()
        let receipt = try optional("receipt").map { node throws(RecordingError) in
            CommitReceipt(space: space, version: try member("receipt_version").version(), cursor: try node.cursor())
        }
        return StoredSpace(
            space: space,
            cursor: try optional("cursor")?.cursor(),
            version: try member("version").version(), isComplete: try member("complete").boolean(),
            hasAccess: try optional("access")?.boolean() ?? true,
            receipt: receipt,
            notices: try optional("notices_after").map { node throws(RecordingError) in
                Redaction.notices(after: Int64(try node.count()))
            })
    }

    func outbox() throws(RecordingError) -> OutboxSummary {
        OutboxSummary(
            waiting: try member("waiting").count(),
            held: try optional("held")?.count() ?? 0,
            sent: try member("sent").count(),
            answered: try member("answered").count(), bytes: try member("bytes").count(),
            activeJournalEntries: try member("active_journal_entries").count())
    }

    func optionalEpoch() throws(RecordingError) -> Epoch? {
        try optional("epoch")?.epoch()
    }

    func optionalAccount() throws(RecordingError) -> AccountID? {
        try optional("account")?.account()
    }

    func identity() throws(RecordingError) -> ClientIdentity {
        ClientIdentity(client: Redaction.redactedClient, incarnation: try member("incarnation").count())
    }

    func session() throws(RecordingError) -> StoredSession {
        var session = StoredSession(
            identity: try identity(), epoch: try optionalEpoch(), account: try optionalAccount(),
            spaces: try member("spaces").list(of: Self.stored),
            outbox: try member("outbox").outbox())
        session.pause = try optional("pause")?.duration()
        return session
    }

    func hello() throws(RecordingError) -> ServerHello {
        let range = try member("versions").list(of: Self.count, upTo: 2)
        guard range.count == 2, range[0] <= range[1] else {
            throw try member("versions").wrong("the lowest and the highest version")
        }
        return ServerHello(
            protocolVersions: range[0]...range[1], epoch: try member("epoch").epoch(),
            account: try member("account").account(), serverTime: try member("server_time").hybridTime(),
            limits: ServerLimits(
                pushBytes: try member("push_bytes").count(),
                pushTransactions: try member("push_transactions").count(),
                pageRows: try member("page_rows").count()))
    }

    func page() throws(RecordingError) -> PullPage {
        let content: PullPage.Content
        switch try member("content").text() {
        case "commits": content = .commits([])
        case "snapshot":
            content = .snapshot(
                [], isFirst: try member("first").boolean(), isLast: try member("last").boolean())
        default: throw try member("content").wrong("commits or snapshot")
        }
        return PullPage(
            space: try member("space").space(), epoch: try member("epoch").epoch(),
            serverTime: try member("server_time").hybridTime(), content: content,
            cursor: try member("cursor").cursor(), version: try member("version").version(),
            head: try member("head").version(), hasMore: try member("more").boolean(),
            hasMoreNotices: try optional("more_notices")?.boolean() ?? false)
    }

    func link() throws(RecordingError) -> LinkState {
        switch try member("link").text() {
        case "up": return .up
        case "down": return .down("")
        default: throw try member("link").wrong("up or down")
        }
    }

    func limit() throws(RecordingError) -> BatchLimit {
        BatchLimit(transactions: try member("transactions").count(), bytes: try member("bytes").count())
    }
}
