import SQLiteDatabase
import SyncCore
import SyncModel

// The identity of the database, and the server history that it follows (I15, I16).
extension WriteTransaction {
    func session() throws -> StoredSession {
        StoredSession(
            identity: meta.identity, epoch: meta.epoch, account: meta.account,
            spaces: try SpaceRow.allStored(of: meta, limits, connection), outbox: meta.outbox,
            clockOffset: meta.clockOffset.map { .milliseconds($0) })
    }

    func adopt(_ epoch: Epoch, as account: AccountID) throws -> StoredSession {
        if let owner = meta.account, owner != account {
            // A hello alone exchanges nothing.
            guard !meta.hasExchanged else {
                throw StoreError(.otherAccount, TransportError.otherAccount(account, than: owner).message)
            }
            change.touchesOutbox = true
        }
        meta.account = account
        let known = meta.epoch
        if known != epoch {
            meta.epoch = epoch
            change.touchesOutbox = true
            if known != nil, meta.hasExchanged {
                for space in try SpaceRow.all(connection) { try reset(space, inSameHistory: false) }
                try connection.execute("DELETE FROM sync_unfollowed")
                try loseHistory()
                try sendAgain(as: meta.identity.next)
                try forgetSeenFields()
            }
        }
        return try session()
    }

    /// Marks everything that the server has shown as shown by a history that may be lost. The next snapshots are
    /// compared with these records.
    func loseHistory() throws {
        try storeBases()
        try rememberFormerVersions()
        try forgetVersions()
        try forgetDeletions()
    }

    func renewIdentity(as client: ClientID) throws -> StoredSession {
        // Nobody can have overwritten a value of an identity that has never sent anything.
        if meta.identity.incarnation > 0 || meta.nextNumber > .first {
            try FormerClients.remember(meta.identity.client, connection)
        }
        try sendAgain(as: ClientIdentity(client: client, incarnation: 0))
        return try session()
    }

    /// Returns the client ids of the device, the current one first.
    func clients() throws -> [ClientID] {
        try FormerClients.all(of: meta.identity.client, connection)
    }

    /// Returns a space as the engine sees it.
    func stored(_ space: SpaceRow) throws -> StoredSpace {
        space.stored(for: try Notices.clients(meta, limits, connection))
    }

    func resetCursor(of space: SpaceID) throws {
        guard let space = try SpaceRow.find(space, connection) else { return }
        try reset(space, inSameHistory: true)
    }

    /// Resets the sync position of a space. Rows and outbox stay. At version 0, a late page of the feed is refused as a
    /// gap.
    func reset(_ space: SpaceRow, inSameHistory: Bool) throws {
        var space = space
        try forgetMarks(of: &space)
        space.cursor = nil
        if !inSameHistory {
            space.receipt = nil
            // A new history numbers its notices from the start. Notices that the journal already has are recognized by
            // their contents.
            space.notice = 0
            space.noticeFingerprint = nil
        }
        // A server cannot go back behind a version that it has reached, so an older snapshot is a stale response.
        // A version that was announced but never shown is no such proof.
        let reached = space.phase == .empty ? space.completeAt : space.version
        space.completeAt = inSameHistory ? reached : .zero
        space.version = .zero
        space.phase = .empty
        space.shown = SnapshotExtent()
        try space.save(connection)
        change.touchesOutbox = true
    }

    /// Clears the versions of the former history. They mean nothing in the new one, and an edit must not claim to have
    /// seen them.
    private func forgetVersions() throws {
        for table in tables { try connection.execute("UPDATE \(table.quoted) SET version = 0, sync_fields = NULL") }
        try connection.execute("UPDATE sync_base SET version = 0, field_versions = NULL")
        try connection.execute("UPDATE sync_foreign SET version = 0")
    }

    /// Forgets deletions of the former history, which the new one may not know (I15).
    ///
    /// A record whose create is still in the outbox is shown again, because the create will bring it to the server.
    private func forgetDeletions() throws {
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

    /// Returns everything unconfirmed to waiting, to be sent from number 0 under another identity.
    ///
    /// Each entry remembers its former number, because the server may have the transaction under that number.
    private func sendAgain(as identity: ClientIdentity) throws {
        try rememberNumbers()
        meta.identity = identity
        meta.nextNumber = .first
        try connection.execute(
            """
            UPDATE sync_outbox SET number = NULL, version = NULL, attempts = 0, refusal_code = NULL,
                refusal_message = NULL, held_for = NULL
            """)
        meta.outbox.held = 0
        meta.outbox.waiting = meta.outbox.count
        meta.outbox.sent = 0
        meta.outbox.answered = 0
        change.touchesOutbox = true
        change.addsToOutbox = change.addsToOutbox || meta.outbox.waiting > 0
    }

    private func rememberNumbers() throws {
        let keep = try connection.statement("UPDATE sync_outbox SET formerly = ?2 WHERE sequence = ?1")
        try forEachEntry { entry in
            // An entry that asks for its outcome was sent under this number without contents that the server could
            // apply.
            guard let number = entry.number, !entry.asksForOutcome else { return }
            let former = FormerNumber(
                identity: meta.identity, number: number, hash: try StoredForm.hash(of: entry.transaction))
            keep.bind(1, entry.sequence)
            keep.bind(2, FormerNumbers.text(of: entry.formerly + [former]))
            try keep.run()
        }
    }

    private func forgetSeenFields() throws {
        try forEachEntry { entry in
            let mutations = entry.transaction.mutations.map(\.havingSeenNothing)
            guard mutations != entry.transaction.mutations else { return }
            try replace(entry, with: Transaction(space: entry.space, mutations: mutations))
        }
    }

    /// Calls `body` for each outbox entry, oldest first, with one entry in memory at a time.
    func forEachEntry(_ body: (StoredEntry) throws -> Void) throws {
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
            try body(entry)
            after = entry.sequence
        }
    }
}
