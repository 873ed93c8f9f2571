import SyncCore
import SyncModel

// Who the database is, and which history of the server it follows (I15, I16).
extension WriteTransaction {
    func session() throws(StoreFailure) -> StoredSession {
        StoredSession(
            identity: meta.identity, epoch: meta.epoch, account: meta.account,
            spaces: try SpaceRow.all(connection).map(\.stored),
            outbox: meta.outbox)
    }

    func adopt(_ epoch: Epoch, as account: AccountID) throws(StoreFailure) -> StoredSession {
        if let owner = meta.account, owner != account {
            throw StoreFailure(.otherAccount, "the database belongs to the account '\(owner)', not to '\(account)'")
        }
        meta.account = account
        let known = meta.epoch
        if known != epoch {
            meta.epoch = epoch
            change.touchesOutbox = true
            if known != nil {
                for space in try SpaceRow.all(connection) { try reset(space, inSameHistory: false) }
                try rememberFormerVersions()
                try forgetVersions()
                try forgetDeletions()
                try renewIdentity(forgettingVersions: true)
            }
        }
        return try session()
    }

    func renewIdentity() throws(StoreFailure) -> StoredSession {
        try renewIdentity(forgettingVersions: false)
        return try session()
    }

    func resetCursor(of space: SpaceID) throws(StoreFailure) {
        try reset(try SpaceRow.load(space, connection), inSameHistory: true)
    }

    /// Rows and outbox stay; version 0 makes a late page of the feed a gap.
    func reset(_ space: SpaceRow, inSameHistory: Bool) throws(StoreFailure) {
        var space = space
        try forgetMarks(of: &space)
        space.cursor = nil
        if !inSameHistory { space.receipt = nil }
        // A server that has come so far cannot be behind it later: what is older is a stale answer.
        space.completeAt = inSameHistory ? max(space.version, space.completeAt) : .zero
        space.version = .zero
        space.phase = .empty
        space.shown = SnapshotExtent()
        try space.save(connection)
        change.touchesOutbox = true
    }

    /// The versions of another history say nothing about this one: an edit must not claim to have seen them.
    private func forgetVersions() throws(StoreFailure) {
        for table in tables { try connection.execute("UPDATE \(table.quoted) SET version = 0, sync_fields = NULL") }
        try connection.execute("UPDATE sync_base SET version = 0, field_versions = NULL")
        try connection.execute("UPDATE sync_foreign SET version = 0")
    }

    /// What another history has deleted, this one may never have heard of: a create that is still to be sent will bring it
    /// to the server, so it is shown (I15).
    private func forgetDeletions() throws(StoreFailure) {
        for table in tables {
            let deleted = try connection.statement(
                "SELECT id FROM sync_base WHERE collection = ?1 AND is_deleted = 1 ORDER BY id")
            deleted.bind(1, table.name)
            for place in try places(in: table, from: deleted) {
                try dropBase(place)
                try recompute(place)
            }
        }
    }

    /// The next incarnation: everything that is not confirmed goes back to waiting, and is sent from number 0.
    private func renewIdentity(forgettingVersions: Bool) throws(StoreFailure) {
        meta.identity = meta.identity.next
        meta.nextNumber = .first
        try connection.execute(
            """
            UPDATE sync_outbox SET number = NULL, version = NULL, attempts = 0, refusal_code = NULL,
                refusal_message = NULL
            """)
        meta.outbox.waiting = meta.outbox.count
        meta.outbox.sent = 0
        meta.outbox.answered = 0
        change.touchesOutbox = true
        change.addsToOutbox = change.addsToOutbox || meta.outbox.waiting > 0
        if forgettingVersions { try forgetSeenVersions() }
    }

    private func forgetSeenVersions() throws(StoreFailure) {
        var after: Int64 = 0
        let next = try connection.statement(
            composed:
                "SELECT \(StoredEntry.columns) FROM sync_outbox WHERE sequence > ?1 ORDER BY sequence LIMIT 1")
        while true {
            next.bind(1, after)
            guard try next.step() else { return }
            let entry: StoredEntry
            do {
                defer { next.reset() }
                entry = try StoredEntry(next)
            }
            let mutations = entry.transaction.mutations.map(\.havingSeenNothing)
            if mutations != entry.transaction.mutations {
                try replace(entry, with: Transaction(space: entry.space, mutations: mutations))
            }
            after = entry.sequence
        }
    }
}

extension Mutation {
    /// This mutation without the versions that its user had seen.
    fileprivate var havingSeenNothing: Mutation {
        let intent: Intent =
            switch intent {
            case .create: intent
            case .update(let edits):
                .update(
                    edits.map { FieldEdit(field: $0.field, value: $0.value, before: $0.before, seen: .zero) })
            case .delete: .delete(seen: .zero)
            }
        return Mutation(collection: collection, record: record, time: time, intent: intent)
    }
}
