package import SyncAuthority
package import SyncModel
import SyncWire

extension SQLTransaction: AuthorityTransaction {
    package func set(_ state: AuthorityState) throws(AuthorityStoreError) {
        try execute(
            "write the server's state", "UPDATE server SET epoch = $1, clock = $2, key = $3",
            [
                .text(state.epoch.rawValue), .integer(Int64(bitPattern: state.clock.last.rawValue)),
                .blob(state.history.key.bytes),
            ])
    }

    package func set(_ catalog: SchemaCatalog) throws(AuthorityStoreError) {
        let text: String
        do throws(WireError) {
            text = String(decoding: try CatalogCodec.encode(catalog), as: UTF8.self)
        } catch {
            throw AuthorityStoreError(.unstorable, "the models cannot be stored: \(error)")
        }
        guard try storedModels() != text else { return }
        try execute(
            "store the models",
            """
            INSERT INTO catalog (singleton, models) VALUES (1, $1)
            ON CONFLICT (singleton) DO UPDATE SET models = excluded.models
            """, [.text(text)])
        let revision = Revision.next(after: try state().catalogRevision, text)
        try execute("mark the models", "UPDATE server SET catalog_revision = $1", [.integer(revision)])
    }

    package func set(_ role: SpaceRole?, of principal: Principal, in space: SpaceID) throws(AuthorityStoreError) {
        let member: [StoredValue?] = [.text(space.rawValue), .text(principal.name)]
        if let role {
            try execute(
                "write a member",
                """
                INSERT INTO member (space, principal, role) VALUES ($1, $2, $3)
                ON CONFLICT (space, principal) DO UPDATE SET role = excluded.role
                """, member + [.text(role.rawValue)])
        } else {
            try execute("remove a member", "DELETE FROM member WHERE space = $1 AND principal = $2", member)
        }
        let change = SpaceMember.change(to: role, of: principal, in: space)
        let revision = Revision.next(after: try state().memberRevision, change)
        try execute("mark the members", "UPDATE server SET member_revision = $1", [.integer(revision)])
    }

    // MARK: Numbers

    package func takeVersion(in space: SpaceID) throws(AuthorityStoreError) -> Version {
        let extent = try extent(of: space)
        let head = extent.head.next
        let changed = try execute(
            "take a version", "UPDATE space SET head = $1 WHERE name = $2 AND head = $3",
            [.integer(head.rawValue), .text(space.rawValue), .integer(extent.head.rawValue)])
        if changed == 0 {
            guard extent == .empty else {
                throw AuthorityStoreError(.corrupt, "the head of space \(space) is not \(extent.head), as it was read")
            }
            try execute(
                "take a version", "INSERT INTO space (name, head, horizon) VALUES ($1, $2, 0)",
                [.text(space.rawValue), .integer(head.rawValue)])
        }
        known.extents[space] = SpaceExtent(head: head, horizon: extent.horizon)
        return head
    }

    package func takeUIDs(_ count: Int, in collection: CollectionName) throws(AuthorityStoreError) -> UID {
        let first = try row(
            "take uids",
            """
            INSERT INTO uid_counter (collection, next) VALUES ($1, $2)
            ON CONFLICT (collection) DO UPDATE SET next = uid_counter.next + excluded.next RETURNING next - $2
            """, [.text(collection.rawValue), .integer(Int64(count))]
        ) { $0.integer(0) }
        guard let first else { throw AuthorityStoreError(.corrupt, "no uid of \(collection) was assigned") }
        return UID(first)
    }

    // MARK: Records

    package func put(_ record: StoredRecord) throws(AuthorityStoreError) {
        // The usual change leaves all indexed columns as they are. This statement does not name them, so that the
        // database does not write their indexes.
        if record.isAlive, record.version != record.creation.origin.version {
            let changed = try execute(
                "write a record",
                """
                UPDATE record SET version = $1, creation = $2, fields = $3, origins = $4, equal_edits = $5
                WHERE collection = $6 AND id = $7 AND uid = $8 AND space = $9 AND deletion IS NULL
                """,
                [
                    .integer(record.version.rawValue), .blob(record.storedCreation),
                    .utf8(try StoredText.encode(record.storedFields)), .blob(record.storedOrigins),
                    .blob(record.storedEqualEdits), .text(record.address.collection.rawValue),
                    .blob(record.address.id.bits.bytes), .integer(record.uid.rawValue), .text(record.space.rawValue),
                ])
            if changed > 0 { return }
        }
        try execute(
            "write a record",
            """
            INSERT INTO record (collection, id, uid, space, version, creation, deletion, fields, origins, equal_edits)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            ON CONFLICT (collection, id) DO UPDATE SET uid = excluded.uid, space = excluded.space,
                version = excluded.version, creation = excluded.creation, deletion = excluded.deletion,
                fields = excluded.fields, origins = excluded.origins, equal_edits = excluded.equal_edits
            """,
            [
                .text(record.address.collection.rawValue), .blob(record.address.id.bits.bytes),
                .integer(record.uid.rawValue), .text(record.space.rawValue), .integer(record.version.rawValue),
                .blob(record.storedCreation), record.deletion.map { .blob($0.bytes) },
                .utf8(try StoredText.encode(record.storedFields)), .blob(record.storedOrigins),
                .blob(record.storedEqualEdits),
            ])
    }

    package func link(_ referrer: Referrer, to target: RecordAddress) throws(AuthorityStoreError) {
        try execute(
            "note a reference",
            """
            INSERT INTO reference (target_collection, target_id, collection, field, id) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT DO NOTHING
            """, Self.values(referrer, target))
    }

    package func unlink(_ referrer: Referrer, from target: RecordAddress) throws(AuthorityStoreError) {
        try execute(
            "forget a reference",
            """
            DELETE FROM reference
            WHERE target_collection = $1 AND target_id = $2 AND collection = $3 AND field = $4 AND id = $5
            """, Self.values(referrer, target))
    }

    private static func values(_ referrer: Referrer, _ target: RecordAddress) -> [StoredValue?] {
        [
            .text(target.collection.rawValue), .blob(target.id.bits.bytes),
            .text(referrer.address.collection.rawValue), .text(referrer.field.rawValue),
            .blob(referrer.address.id.bits.bytes),
        ]
    }

    // MARK: The change feed

    package func append(
        _ commit: Commit, to space: SpaceID, by author: CommitAuthor, fingerprint: HistoryFingerprint
    ) throws(AuthorityStoreError) {
        let before = try feedEnd(at: Version(commit.version.rawValue - 1), in: space)
        let changes = try StoredText.encode(commit.changes)
        // The stored sizes only say what to trim. A damaged one must not end the server.
        let end = FeedEnd(
            version: commit.version, fingerprint: fingerprint,
            totalBytes: (before?.totalBytes ?? 0) &+ Int64(changes.count))
        try execute(
            "write a commit",
            """
            INSERT INTO change_feed (space, version, changed, changes, chain, total_bytes, principal, client, incarnation,
                number, at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            """,
            [
                .text(space.rawValue), .integer(commit.version.rawValue), .integer(Int64(commit.changes.count)),
                .utf8(changes), .blob(fingerprint.bytes), .integer(end.totalBytes),
            ] + author.values)
        known.feedEnds[space] = end
    }

    package func trim(_ space: SpaceID, through version: Version) throws(AuthorityStoreError) {
        let extent = try extent(of: space)
        let through = min(version, extent.head)
        guard through > extent.horizon else { return }
        guard let end = try feedEnd(at: through, in: space) else {
            throw AuthorityStoreError(.corrupt, "the feed of \(space) has no fingerprint at version \(through)")
        }
        try execute(
            "trim the feed", "DELETE FROM change_feed WHERE space = $1 AND version <= $2",
            [.text(space.rawValue), .integer(through.rawValue)])
        try execute(
            "move the horizon",
            "UPDATE space SET horizon = $1, horizon_chain = $2, horizon_bytes = $3 WHERE name = $4",
            [
                .integer(through.rawValue), .blob(end.fingerprint.bytes), .integer(end.totalBytes),
                .text(space.rawValue),
            ])
        known.extents[space] = nil
        known.feedEnds[space] = nil
    }

    // MARK: Transactions from clients

    package func set(_ ledger: Ledger, of key: LedgerKey) throws(AuthorityStoreError) {
        try execute(
            "write a ledger",
            """
            INSERT INTO ledger (principal, client, incarnation, next, acknowledged) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (principal, client, incarnation)
            DO UPDATE SET next = excluded.next, acknowledged = excluded.acknowledged
            """, key.values + [.integer(ledger.next.rawValue), .integer(ledger.acknowledged.rawValue)])
    }

    package func keep(
        _ outcome: StoredOutcome, of key: LedgerKey, _ number: TransactionNumber
    ) throws(AuthorityStoreError) {
        let text = try StoredText.encode(outcome.outcome)
        try execute(
            "write an outcome",
            """
            INSERT INTO outcome (principal, client, incarnation, number, hash, bytes, outcome)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
            key.values + [
                .integer(number.rawValue), .text(outcome.hash.rawValue), .integer(Int64(text.count)), .utf8(text),
            ])
    }

    package func forgetOutcomes(
        of key: LedgerKey, below number: TransactionNumber, keeping bytes: Int
    ) throws(AuthorityStoreError) {
        var first = number
        if bytes > 0 {
            let sizes = try rows(
                "measure outcomes",
                """
                SELECT number, bytes FROM outcome
                WHERE principal = $1 AND client = $2 AND incarnation = $3 AND number < $4 ORDER BY number DESC
                """, key.values + [.integer(number.rawValue)]
            ) { (number: $0.integer(0), bytes: $0.integer(1)) }
            var kept: Int64 = 0
            for size in sizes {
                kept &+= size.bytes
                guard kept <= Int64(bytes) else { break }
                first = TransactionNumber(size.number)
            }
        }
        try execute(
            "forget outcomes",
            "DELETE FROM outcome WHERE principal = $1 AND client = $2 AND incarnation = $3 AND number < $4",
            key.values + [.integer(first.rawValue)])
    }

    package func forgetOutcomes(
        ofFormerIncarnationsOf key: LedgerKey, keeping count: Int
    ) throws(AuthorityStoreError) {
        try execute(
            "forget outcomes of former incarnations",
            """
            DELETE FROM outcome WHERE principal = $1 AND client = $2 AND incarnation <
                (SELECT min(incarnation) FROM (SELECT incarnation FROM ledger WHERE principal = $1 AND client = $2
                    ORDER BY incarnation DESC LIMIT $3) AS newest)
            """,
            [
                .text(key.principal.name), .blob(key.identity.client.bits.bytes), .integer(Int64(count)),
            ])
    }

    package func note(
        _ conflict: FieldConflict, in space: SpaceID, at version: Version, by author: CommitAuthor
    ) throws(AuthorityStoreError) {
        let values: Patch = [
            "base": conflict.base, "winner": conflict.winner.value, "loser": conflict.loser.value,
        ]
        let text = try StoredText.encode(values)
        let recipient = conflict.loser.stamp.client.bits.bytes
        try execute(
            "write a conflict",
            """
            INSERT INTO conflict (space, version, collection, id, field, rule, bytes, field_values, winner, loser,
                recipient, principal, client, incarnation, transaction_number, at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
            """,
            [
                .text(space.rawValue), .integer(version.rawValue), .text(conflict.collection.rawValue),
                .blob(conflict.record.bits.bytes), .text(conflict.field.rawValue), .text(conflict.rule.rawValue),
                .integer(Int64(text.count)), .utf8(text), .blob(conflict.winner.stamp.bytes),
                .blob(conflict.loser.stamp.bytes), .blob(recipient),
            ] + author.values)
        try execute(
            "count a conflict",
            """
            INSERT INTO conflict_total (recipient, space, conflicts, bytes) VALUES ($1, $2, 1, $3)
            ON CONFLICT (recipient, space) DO UPDATE SET conflicts = conflict_total.conflicts + 1,
                bytes = conflict_total.bytes + excluded.bytes
            """, [.blob(recipient), .text(space.rawValue), .integer(Int64(text.count))])
    }

    package func trimConflicts(keeping kept: ConflictAmount, limit: Int) throws(AuthorityStoreError) -> Int {
        var left = try conflictAmount()
        guard left.exceeds(kept), let owner = try owner(ofMost: left.bytes > kept.bytes) else { return 0 }
        var gone: [CountedConflict] = []
        var bytes = 0
        for conflict in try oldestConflicts(of: owner, limit: limit) {
            guard left.exceeds(kept), bytes < AuthorityLimits.trimSliceBytes else { break }
            left.conflicts &-= 1
            left.bytes &-= Int(conflict.bytes)
            bytes &+= Int(conflict.bytes)
            gone.append(conflict)
        }
        guard let first = gone.first, let last = gone.last else { return 0 }
        // These are all conflicts of the principal between the two numbers.
        try execute(
            "remove conflicts",
            """
            DELETE FROM conflict WHERE number >= $1 AND number <= $2 AND recipient IN (
                SELECT conflict_total.recipient FROM conflict_total
                LEFT JOIN client ON client.id = conflict_total.recipient WHERE coalesce(client.principal, '') = $3)
            """, [.integer(first.number), .integer(last.number), .text(owner)])
        for (_, conflicts) in Dictionary(grouping: gone, by: { [$0.recipient, $0.space] }) {
            guard let newest = conflicts.last else { continue }
            try execute(
                "count removed conflicts",
                """
                UPDATE conflict_total SET conflicts = conflicts - $1, bytes = bytes - $2, removed = $3
                WHERE recipient = $4 AND space = $5
                """,
                [
                    .integer(Int64(conflicts.count)), .integer(conflicts.reduce(0) { $0 &+ $1.bytes }),
                    .integer(newest.number), .blob(newest.recipient), .utf8(newest.space),
                ])
        }
        return gone.count
    }

    /// Returns the name of the principal that has the most conflicts, by number or by bytes; nil when there are none.
    private func owner(ofMost isByBytes: Bool) throws(AuthorityStoreError) -> String? {
        try row(
            "find who has the most conflicts",
            """
            SELECT coalesce(client.principal, '') AS owner FROM conflict_total
            LEFT JOIN client ON client.id = conflict_total.recipient WHERE conflict_total.conflicts > 0
            GROUP BY coalesce(client.principal, '')
            ORDER BY sum(CASE WHEN $1 = 1 THEN bytes ELSE conflicts END) DESC, 1 LIMIT 1
            """, [.integer(isByBytes ? 1 : 0)]
        ) { $0.text(0) }
    }

    /// Returns the oldest conflicts of a principal, in order.
    private func oldestConflicts(of owner: String, limit: Int) throws(AuthorityStoreError) -> [CountedConflict] {
        try rows(
            "find the oldest conflicts",
            """
            SELECT number, bytes, recipient, space FROM conflict WHERE number IN (
                SELECT conflict.number FROM conflict_total
                LEFT JOIN client ON client.id = conflict_total.recipient
                JOIN conflict ON conflict.recipient = conflict_total.recipient AND conflict.space = conflict_total.space
                WHERE coalesce(client.principal, '') = $1 ORDER BY conflict.number LIMIT $2)
            ORDER BY number
            """, [.text(owner), .integer(Int64(limit))]
        ) {
            CountedConflict(number: $0.integer(0), bytes: $0.integer(1), recipient: $0.bytes(2), space: $0.bytes(3))
        }
    }

    package func bind(_ client: ClientID, to principal: Principal) throws(AuthorityStoreError) {
        try execute(
            "bind a client id", "INSERT INTO client (id, principal) VALUES ($1, $2)",
            [.blob(client.bits.bytes), .text(principal.name)])
    }

    package func mark(_ client: ClientID, replacedBy replacement: ClientID?) throws(AuthorityStoreError) {
        try execute(
            "mark a client id", "UPDATE client SET replaced_by = $1 WHERE id = $2",
            [replacement.map { .blob($0.bits.bytes) }, .blob(client.bits.bytes)])
    }
}

/// A stored conflict without its values.
private struct CountedConflict: Sendable {
    let number: Int64
    let bytes: Int64
    let recipient: [UInt8]
    let space: [UInt8]
}

extension LedgerKey {
    var values: [StoredValue?] {
        [.text(principal.name), .blob(identity.client.bits.bytes), .integer(Int64(identity.incarnation))]
    }
}

extension CommitAuthor {
    fileprivate var values: [StoredValue?] {
        [
            .text(principal.name), .blob(identity.client.bits.bytes), .integer(Int64(identity.incarnation)),
            .integer(number.rawValue), .integer(committedAt.milliseconds),
        ]
    }
}
