import LoopbackPage
import SyncAuthority
import SyncModel
import SyncProgram

extension ServerInspector {
    // MARK: Spaces

    /// Returns a page of the spaces that have members or commits, ordered by name.
    func spaces(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "after", "search", "limit")
        let limit = try arguments.limit(upTo: InspectLimits.rows)
        let after = try arguments.space("after")
        let search = try arguments.search()
        return try read { snapshot in
            let extents = try snapshot.view.extents()
            let members = try membersBySpace(in: snapshot)
            let names = Set(extents.keys).union(members.keys).filter { $0.rawValue.contains(search) }
            let found = names.filter { name in after.map { name > $0 } ?? true }.sorted().prefix(limit + 1)
            var line = JSONLine()
            line.set("total", names.count)
            line.set(
                "records",
                try found.prefix(limit).map { space in
                    try spaceLine(
                        space, extents[space] ?? .empty, members[space] ?? [], isCounted: false, in: snapshot)
                })
            if found.count > limit { line.set("next", found[limit - 1].rawValue) }
            return line
        }
    }

    /// Returns one space as JSON.
    ///
    /// - Parameter isCounted: whether to add the number of records of each collection, which costs an index scan.
    func spaceLine(
        _ space: SpaceID, _ extent: SpaceExtent, _ members: [SpaceMember], isCounted: Bool = true,
        in snapshot: InspectSnapshot
    ) throws -> JSONLine {
        var line = JSONLine()
        line.set("name", space.rawValue)
        line.set("head", extent.head.rawValue)
        line.set("horizon", extent.horizon.rawValue)
        line.set("members", members.count)
        let summary = SpaceSummary(space: space, members: members.count, extent: extent)
        line.set("access", SpaceAccess(summary, hasOwnRule: hasOwnRule).word)
        guard isCounted else {
            line.set("conflicts", try snapshot.view.conflictCount(in: space))
            return line
        }
        let counts = try counts(of: space, in: snapshot)
        line.set("conflicts", counts.conflicts)
        var records = JSONLine()
        for model in snapshot.catalog.models {
            records.set(model.collection.rawValue, counts.records[model.collection] ?? 0)
        }
        line.set("records", records)
        return line
    }

    // MARK: Members and clients

    /// Returns a page of the members of a space, ordered by account.
    func members(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "space", "after", "limit")
        let limit = try arguments.limit(upTo: InspectLimits.rows)
        let space = try arguments.requiredSpace("space")
        let after = try arguments.text("after")
        return try read { snapshot in
            let all = try membersBySpace(in: snapshot)[space] ?? []
            let found = all.filter { member in after.map { member.principal.name > $0 } ?? true }.prefix(limit + 1)
            let shown = found.prefix(limit)
            var line = JSONLine()
            line.set("total", all.count)
            line.set(
                "records",
                shown.map { member in
                    var line = JSONLine()
                    line.set("account", member.principal.name)
                    line.set("role", member.role.rawValue)
                    return line
                })
            if found.count > limit, let last = shown.last { line.set("next", last.principal.name) }
            return line
        }
    }

    /// Returns a page of the clients that have pushed, ordered by id.
    func clients(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "after", "limit")
        let limit = try arguments.limit(upTo: InspectLimits.rows)
        let after = try arguments.client("after")
        return try read { snapshot in
            let found = try snapshot.view.clients(after: after, limit: limit + 1)
            let shown = found.prefix(limit)
            var line = JSONLine()
            line.set("total", try snapshot.view.clientCount())
            line.set("records", try shown.map { try Self.line(ClientSummary($0, in: snapshot.view)) })
            if found.count > limit, let last = shown.last { line.set("next", last.identity.client.description) }
            return line
        }
    }

    private static func line(_ summary: ClientSummary) -> JSONLine {
        let (identity, ledger) = (summary.client.identity, summary.client.ledger)
        var line = JSONLine()
        line.set("id", identity.client.description)
        line.set("account", summary.client.principal.name)
        line.set("incarnation", identity.incarnation)
        if let number = summary.lastAnswered { line.set("last", number.rawValue) }
        line.set("outcome", summary.lastOutcome?.word)
        if let time = summary.lastCommit { line.set("at", time.milliseconds) }
        line.set("unacknowledged", ledger.next.rawValue - ledger.acknowledged.rawValue)
        return line
    }
}

extension PageArguments {
    /// Returns the name of a space; nil if it is missing.
    func space(_ name: String) throws(PageError) -> SpaceID? {
        guard let text = try text(name) else { return nil }
        guard let space = SpaceID(rawValue: text) else { throw Self.wrong(name, "the name of a space") }
        return space
    }

    func requiredSpace(_ name: String) throws(PageError) -> SpaceID {
        guard let space = try space(name) else { throw Self.wrong(name, "the name of a space") }
        return space
    }

    /// Returns the id of a client; nil if it is missing.
    func client(_ name: String) throws(PageError) -> ClientID? {
        guard let text = try text(name) else { return nil }
        guard let client = ClientID(text) else { throw Self.wrong(name, "the id of a client") }
        return client
    }
}
