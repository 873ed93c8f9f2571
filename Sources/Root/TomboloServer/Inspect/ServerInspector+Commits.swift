import LoopbackPage
import SyncAuthority
import SyncModel
import SyncProgram

extension ServerInspector {
    // MARK: Commits

    /// Returns a page of the commits of a space, newest first, each with its author and a summary of its changes.
    func commits(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "space", "after", "limit")
        let space = try arguments.requiredSpace("space")
        let limit = try arguments.limit(upTo: InspectLimits.commits)
        // The newest commits are first, so those after the last row of a page have smaller versions.
        let before = try arguments.number("after").map { Version($0) }
        return try read { snapshot in
            let budget = PageBudget(rows: limit, bytes: InspectLimits.bytes)
            let found = try snapshot.view.recentCommits(in: space, before: before, budget: budget)
            let horizon = try snapshot.view.extent(of: space).horizon
            var line = JSONLine()
            line.set(
                "entries",
                try found.map { recorded in
                    var line = Self.line(recorded)
                    line.set("what", try Self.summary(of: recorded.commit, in: snapshot))
                    line.set("count", recorded.commit.changes.count)
                    return line
                })
            line.set("horizon", horizon.rawValue)
            if let last = found.last?.commit.version, last.rawValue > horizon.rawValue + 1 {
                line.set("next", last.rawValue)
            }
            return line
        }
    }

    /// Returns one commit with all its changes.
    func commit(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "space", "version")
        let space = try arguments.requiredSpace("space")
        let version = Version(try arguments.requiredNumber("version"))
        return try read { snapshot in
            let found =
                version.rawValue == .max
                ? nil
                : try snapshot.view.recentCommits(
                    in: space, before: Version(version.rawValue + 1),
                    budget: PageBudget(rows: 1, bytes: InspectLimits.bytes)
                ).first
            guard let found, found.commit.version == version else {
                throw PageError(
                    404, "the change feed of \(space) does not have the commit \(version)",
                    advice: "it may have been removed from the feed meanwhile")
            }
            var line = Self.line(found)
            line.set("changes", found.commit.changes.map(Self.line))
            return line
        }
    }

    private static func line(_ recorded: RecordedCommit) -> JSONLine {
        var line = JSONLine()
        line.set("version", recorded.commit.version.rawValue)
        recorded.author.write(to: &line)
        return line
    }

    private static func line(_ change: RecordChange) -> JSONLine {
        var line = JSONLine()
        let patch: Patch
        switch change.effect {
        case .created(_, let values): (patch, _) = (values, line.set("intent", "create"))
        case .updated(let values): (patch, _) = (values, line.set("intent", "update"))
        case .deleted: (patch, _) = (Patch(), line.set("intent", "delete"))
        }
        line.set("type", change.collection.rawValue)
        line.set("id", change.id.description)
        for (field, value) in patch { line.set(key(field), value) }
        return line
    }

    /// The key of a field in a change. A field with the name of another key gets the prefix `field.`.
    private static func key(_ field: FieldName) -> String {
        ["intent", "type", "id"].contains(field.rawValue) ? "field.\(field)" : field.rawValue
    }

    /// Returns the first changes and the number of the others, such as
    /// `create user Ned, change avatar #7 (image_url), and 2 more`.
    private static func summary(of commit: Commit, in snapshot: InspectSnapshot) throws -> String {
        let named = commit.changes.prefix(InspectLimits.namedChanges)
        let shown = try named.map { try words($0, in: snapshot) }.joined(separator: ", ")
        let more = commit.changes.count - named.count
        return more > 0 ? "\(shown), and \(more) more" : shown
    }

    private static func words(_ change: RecordChange, in snapshot: InspectSnapshot) throws -> String {
        let address = RecordAddress(change.collection, change.id)
        let record: String
        switch change.effect {
        case .created(let uid, let patch):
            let field = InspectSnapshot.nameField(of: snapshot.schema(of: change.collection))?.name
            if let field, case .text(let text)? = patch[field] {
                record = InspectSnapshot.short(text)
            } else {
                record = "#\(uid)"
            }
            return "create \(change.collection) \(record)"
        case .updated(let patch):
            record = try snapshot.name(at: address)
            return "change \(change.collection) \(record) (\(patch.map(\.0.rawValue).joined(separator: ", ")))"
        case .deleted:
            record = try snapshot.view.record(address).map { "#\($0.uid)" } ?? change.id.description
            return "delete \(change.collection) \(record)"
        }
    }

    // MARK: Conflicts

    /// Returns a page of the conflicts of a space, oldest first, each with both values and their authors.
    func conflicts(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "space", "after", "limit")
        let space = try arguments.requiredSpace("space")
        let limit = try arguments.limit(upTo: InspectLimits.rows)
        let after = try arguments.number("after") ?? 0
        return try read { snapshot in
            let budget = PageBudget(rows: limit, bytes: InspectLimits.bytes)
            let found = try snapshot.view.conflicts(in: space, after: after, budget: budget)
            var line = JSONLine()
            line.set("records", try found.map { try Self.line($0, in: snapshot) })
            if let last = found.last?.number,
                try !snapshot.view.conflicts(in: space, after: last, limit: 1).isEmpty
            {
                line.set("next", last)
            }
            return line
        }
    }

    private static func line(_ recorded: RecordedConflict, in snapshot: InspectSnapshot) throws -> JSONLine {
        let conflict = recorded.conflict
        let address = RecordAddress(conflict.collection, conflict.record)
        var line = JSONLine()
        line.set("number", recorded.number)
        line.set("version", recorded.version.rawValue)
        recorded.author.write(to: &line)
        line.set("type", conflict.collection.rawValue)
        line.set("id", conflict.record.description)
        line.set("name", try snapshot.name(at: address))
        line.set("field", conflict.field.rawValue)
        line.set("rule", conflict.rule.rawValue)
        line.set("isDelete", conflict.rule == .deleteWins)
        line.set("kept", conflict.winner.value)
        line.set("keptBy", Self.line(conflict.winner))
        line.set("lost", conflict.loser.value)
        line.set("lostBy", Self.line(conflict.loser))
        return line
    }

    private static func line(_ side: Contender) -> JSONLine {
        var line = JSONLine()
        line.set("at", side.stamp.time.wall.milliseconds)
        line.set("client", side.stamp.client.description)
        line.set("account", side.account?.rawValue)
        return line
    }
}

extension CommitAuthor {
    fileprivate func write(to line: inout JSONLine) {
        line.set("at", committedAt.milliseconds)
        line.set("account", principal.name)
        line.set("client", identity.client.description)
        line.set("incarnation", identity.incarnation)
        line.set("transaction", number.rawValue)
    }
}
