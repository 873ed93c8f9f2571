import SyncJSON
package import SyncModel

/// Codec for the request and response of a pull.
package enum PullCodec {
    // MARK: Request

    package static func encode(_ request: PullRequest) -> [UInt8] {
        var writer = JSONWriter(reserving: 128)
        writer.beginObject()
        writer.member("space", request.space.rawValue)
        writer.member("cursor", ifAny: request.cursor?.rawValue)
        writer.member("receipt", ifAny: request.receipt?.rawValue)
        writer.member("limit", request.limit)
        writer.member("account", ifAny: request.account?.rawValue)
        if let notices = request.notices {
            writer.key("notices")
            NoticeCoding.write(notices, to: &writer)
        }
        writer.endObject()
        return writer.bytes
    }

    package static func decodeRequest(_ bytes: [UInt8]) throws(WireError) -> PullRequest {
        try Message.read(bytes, "pull") { (reader) throws(JSONError) in
            var space: SpaceID?
            var cursor: Cursor?
            var receipt: Cursor?
            var limit: Int?
            var account: AccountID?
            var notices: NoticeRequest?
            var members = try reader.beginObject()
            while let key = try reader.nextKey(&members) {
                switch key {
                case "space": space = try reader.name()
                case "cursor": if try !reader.null() { cursor = try reader.cursor() }
                case "receipt": if try !reader.null() { receipt = try reader.cursor() }
                case "limit": limit = try reader.positive("the limit")
                case "account": if try !reader.null() { account = try reader.account() }
                case "notices": if try !reader.null() { notices = try NoticeCoding.readRequest(&reader) }
                default: try reader.unknown(key, .refusingUnknownKeys)
                }
            }
            return PullRequest(
                space: try reader.require(space, "space"), cursor: cursor, receipt: receipt,
                limit: try reader.require(limit, "limit"), account: account, notices: notices)
        }
    }

    // MARK: Response

    /// Encodes a response.
    ///
    /// - Parameter catalog: the source of the column names of snapshots.
    package static func encode(_ response: PullResponse, catalog: SchemaCatalog) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: 4_096)
        writer.beginObject()
        switch response {
        case .mustReset(let reason):
            writer.member("mustReset", reason.rawValue)
        case .noAccess(let epoch):
            writer.key("noAccess")
            writer.beginObject()
            writer.member("epoch", epoch.rawValue)
            writer.endObject()
        case .page(let page):
            writer.key("page")
            writer.beginObject()
            writer.member("space", page.space.rawValue)
            writer.member("epoch", page.epoch.rawValue)
            writer.key("serverTime")
            writer.hybridTime(page.serverTime)
            writer.member("cursor", page.cursor.rawValue)
            writer.member("version", page.version.rawValue)
            writer.member("head", page.head.rawValue)
            writer.member("hasMore", page.hasMore)
            if !page.notices.isEmpty {
                writer.key("notices")
                writer.beginArray()
                for notice in page.notices { try NoticeCoding.write(notice, to: &writer) }
                writer.endArray()
            }
            if page.hasMoreNotices { writer.member("hasMoreNotices", true) }
            if let number = page.noticesRemovedUpTo { writer.member("noticesRemovedUpTo", number) }
            switch page.content {
            case .snapshot: writer.key("snapshot")
            case .commits: writer.key("commits")
            }
            if let form = page.sharedForm {
                writer.verbatim(
                    try form.bytes { () throws(WireError) in
                        var writer = JSONWriter(reserving: 4_096)
                        try write(page.content, catalog: catalog, to: &writer)
                        return writer.bytes
                    })
            } else {
                try write(page.content, catalog: catalog, to: &writer)
            }
            writer.endObject()
        }
        writer.endObject()
        return writer.bytes
    }

    private static func write(
        _ content: PullPage.Content, catalog: SchemaCatalog, to writer: inout JSONWriter
    ) throws(WireError) {
        switch content {
        case .snapshot(let groups, let isFirst, let isLast):
            writer.beginObject()
            writer.member("isFirst", isFirst)
            writer.member("isLast", isLast)
            writer.key("collections")
            writer.beginArray()
            for group in groups { try SnapshotRowsCoding.write(group, catalog: catalog, to: &writer) }
            writer.endArray()
            writer.endObject()
        case .commits(let commits):
            writer.beginArray()
            for commit in commits { try CommitCoding.write(commit, to: &writer) }
            writer.endArray()
        }
    }

    /// Decodes a response, and checks the rules for every page: versions increase, uids are valid, and values have the
    /// types that the catalog declares.
    ///
    /// Fields that the catalog does not know, including all fields of an unknown collection, are kept in
    /// `Record.unknown`. A column that the server does not send is null.
    package static func decodeResponse(_ bytes: [UInt8], catalog: SchemaCatalog) throws(WireError) -> PullResponse {
        try Message.read(bytes, "response to pull") { (reader) throws(JSONError) in
            var response: PullResponse?
            var members = try reader.beginObject()
            while let key = try reader.nextKey(&members) {
                switch key {
                case "page", "mustReset", "noAccess":
                    guard response == nil else {
                        throw reader.content("expected one of \(responses)", at: key.offset)
                    }
                    if case "page" = key {
                        response = .page(try readPage(&reader, catalog: catalog))
                    } else if case "mustReset" = key {
                        // An unknown reason still means to start again. The default is not `epoch`, because the client
                        // acts on that reason only when the hello reports a different epoch.
                        let reason = try reader.text(bytes: WireLimits.opaqueBytes, "the reason")
                        response = .mustReset(ResetReason(rawValue: reason) ?? .horizon)
                    } else {
                        response = .noAccess(try readEpoch(&reader))
                    }
                default: try reader.unknown(key, .ignoringUnknownKeys)
                }
            }
            guard let response else { throw reader.content("one of \(responses) is missing") }
            return response
        }
    }

    private static let responses = "page, mustReset and noAccess"

    private static func readEpoch(_ reader: inout JSONReader) throws(JSONError) -> Epoch {
        var epoch: Epoch?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "epoch": epoch = try reader.epoch()
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return try reader.require(epoch, "epoch")
    }

    private static func readPage(_ reader: inout JSONReader, catalog: SchemaCatalog) throws(JSONError) -> PullPage {
        var space: SpaceID?
        var epoch: Epoch?
        var serverTime: HybridTime?
        var cursor: Cursor?
        var version: Version?
        var head: Version?
        var hasMore: Bool?
        var notices: [ConflictNotice] = []
        var hasMoreNotices = false
        var noticesRemovedUpTo: Int64?
        var content: PullPage.Content?
        var newest = (version: Version.zero, offset: 0)
        var members = try reader.beginObject()
        let start = reader.position
        while let key = try reader.nextKey(&members) {
            switch key {
            case "space": space = try reader.name()
            case "epoch": epoch = try reader.epoch()
            case "serverTime": serverTime = try reader.hybridTime()
            case "cursor": cursor = try reader.cursor()
            case "version": version = try reader.version()
            case "head": head = try reader.version()
            case "hasMore": hasMore = try reader.boolean()
            case "notices": notices = try NoticeCoding.readAll(&reader)
            case "hasMoreNotices": hasMoreNotices = try reader.boolean()
            case "noticesRemovedUpTo": noticesRemovedUpTo = try reader.natural("the number of the removed notice")
            case "snapshot", "commits":
                guard content == nil else {
                    throw reader.content("expected one of snapshot and commits", at: key.offset)
                }
                if case "snapshot" = key {
                    content = try readSnapshot(&reader, catalog: catalog, newest: &newest)
                } else {
                    content = .commits(try CommitCoding.readAll(&reader, catalog: catalog, newest: &newest))
                }
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        guard let content else { throw reader.content("one of snapshot and commits is missing") }
        let page = PullPage(
            space: try reader.require(space, "space"), epoch: try reader.require(epoch, "epoch"),
            serverTime: try reader.require(serverTime, "serverTime"), content: content,
            cursor: try reader.require(cursor, "cursor"), version: try reader.require(version, "version"),
            head: try reader.require(head, "head"), hasMore: try reader.require(hasMore, "hasMore"), notices: notices,
            hasMoreNotices: hasMoreNotices, noticesRemovedUpTo: noticesRemovedUpTo)
        guard page.version <= page.head else {
            throw reader.content("version \(page.version) is beyond the head \(page.head)", at: start)
        }
        if case .snapshot(let groups, _, isLast: false) = content, groups.allSatisfy(\.records.isEmpty) {
            throw reader.content("the page of the snapshot has no rows, but is not the last page", at: start)
        }
        let (bound, name) = if case .commits = content { (page.version, "version") } else { (page.head, "head") }
        guard newest.version <= bound else {
            throw reader.content(
                "version \(newest.version) is greater than \(bound), the \(name) of its page", at: newest.offset)
        }
        return page
    }

    private static func readSnapshot(
        _ reader: inout JSONReader, catalog: SchemaCatalog, newest: inout (version: Version, offset: Int)
    ) throws(JSONError) -> PullPage.Content {
        var isFirst: Bool?
        var isLast: Bool?
        var groups: [SnapshotRows]?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "isFirst": isFirst = try reader.boolean()
            case "isLast": isLast = try reader.boolean()
            case "collections":
                var result: [SnapshotRows] = []
                var elements = try reader.beginArray()
                while try reader.nextElement(&elements) {
                    result.append(try SnapshotRowsCoding.read(&reader, catalog: catalog, newest: &newest))
                }
                groups = result
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return .snapshot(
            try reader.require(groups, "collections"), isFirst: try reader.require(isFirst, "isFirst"),
            isLast: try reader.require(isLast, "isLast"))
    }
}
