import SQLiteDatabase
import SyncAuthority
import SyncModel

extension SQLiteTransaction: AuthorityTransaction {
    func set(_ state: AuthorityState) throws(AuthorityStoreError) {
        try execute(
            "write the server's state", "UPDATE server SET epoch = ?, clock = ?, key = ?",
            [
                .text(state.epoch.rawValue), .integer(Int64(bitPattern: state.clock.last.rawValue)),
                .blob(state.history.key.bytes),
            ])
    }

    // MARK: Numbers

    func takeVersion(in space: SpaceID) throws(AuthorityStoreError) -> Version {
        let head = try row(
            "take a version",
            """
            INSERT INTO space (name, head, horizon) VALUES (?, 1, 0)
            ON CONFLICT (name) DO UPDATE SET head = head + 1 RETURNING head
            """, [.text(space.rawValue)]
        ) { $0.integer(0) }
        guard let head else { throw AuthorityStoreError(.corrupt, "no version of \(space) was assigned") }
        return Version(head)
    }

    func takeUID(in collection: CollectionName) throws(AuthorityStoreError) -> UID {
        let uid = try row(
            "take a uid",
            """
            INSERT INTO uid_counter (collection, next) VALUES (?, 1)
            ON CONFLICT (collection) DO UPDATE SET next = next + 1 RETURNING next - 1
            """, [.text(collection.rawValue)]
        ) { $0.integer(0) }
        guard let uid else { throw AuthorityStoreError(.corrupt, "no uid of \(collection) was assigned") }
        return UID(uid)
    }

    // MARK: Records

    func put(_ record: StoredRecord) throws(AuthorityStoreError) {
        try execute(
            "write a record",
            """
            INSERT INTO record (\(StoredRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (collection, id) DO UPDATE SET uid = excluded.uid, space = excluded.space,
                version = excluded.version, creation = excluded.creation, deletion = excluded.deletion,
                fields = excluded.fields, origins = excluded.origins
            """,
            [
                .text(record.address.collection.rawValue), .blob(record.address.id.bits.bytes),
                .integer(record.uid.rawValue), .text(record.space.rawValue), .integer(record.version.rawValue),
                .blob(record.storedCreation), record.deletion.map { .blob($0.bytes) },
                .text(try StoredText.encode(record.storedFields)), .blob(record.storedOrigins),
            ])
    }

    func link(_ referrer: Referrer, to target: RecordAddress) throws(AuthorityStoreError) {
        try execute(
            "note a reference",
            """
            INSERT INTO reference (target_collection, target_id, collection, field, id) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """, Self.values(referrer, target))
    }

    func unlink(_ referrer: Referrer, from target: RecordAddress) throws(AuthorityStoreError) {
        try execute(
            "forget a reference",
            """
            DELETE FROM reference
            WHERE target_collection = ? AND target_id = ? AND collection = ? AND field = ? AND id = ?
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

    func append(
        _ commit: Commit, to space: SpaceID, by author: CommitAuthor, chain: HistoryChain
    ) throws(AuthorityStoreError) {
        try execute(
            "write a commit",
            """
            INSERT INTO log (space, version, changed, changes, chain, principal, client, incarnation, number, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(space.rawValue), .integer(commit.version.rawValue), .integer(Int64(commit.changes.count)),
                .text(try StoredText.encode(commit.changes)), .blob(chain.bytes),
            ] + author.values)
    }

    func trim(_ space: SpaceID, through version: Version) throws(AuthorityStoreError) {
        let extent = try extent(of: space)
        let through = min(version, extent.head)
        guard through > extent.horizon else { return }
        guard let chain = try chain(at: through, in: space) else {
            throw AuthorityStoreError(.corrupt, "the feed of \(space) has no fingerprint at version \(through)")
        }
        try execute(
            "trim the feed", "DELETE FROM log WHERE space = ? AND version <= ?",
            [.text(space.rawValue), .integer(through.rawValue)])
        try execute(
            "move the horizon", "UPDATE space SET horizon = ?, horizon_chain = ? WHERE name = ?",
            [.integer(through.rawValue), .blob(chain.bytes), .text(space.rawValue)])
    }

    // MARK: Transactions from clients

    func set(_ ledger: Ledger, of key: LedgerKey) throws(AuthorityStoreError) {
        try execute(
            "write a ledger",
            """
            INSERT INTO ledger (principal, client, incarnation, next, acknowledged) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET next = excluded.next, acknowledged = excluded.acknowledged
            """, key.values + [.integer(ledger.next.rawValue), .integer(ledger.acknowledged.rawValue)])
    }

    func keep(
        _ outcome: StoredOutcome, of key: LedgerKey, _ number: TransactionNumber
    ) throws(AuthorityStoreError) {
        try execute(
            "write an outcome",
            """
            INSERT INTO outcome (principal, client, incarnation, number, hash, outcome) VALUES (?, ?, ?, ?, ?, ?)
            """,
            key.values + [
                .integer(number.rawValue), .text(outcome.hash.rawValue),
                .text(try StoredText.encode(outcome.outcome)),
            ])
    }

    func forgetOutcomes(of key: LedgerKey, below number: TransactionNumber) throws(AuthorityStoreError) {
        try execute(
            "forget outcomes",
            "DELETE FROM outcome WHERE principal = ? AND client = ? AND incarnation = ? AND number < ?",
            key.values + [.integer(number.rawValue)])
    }

    func note(
        _ conflict: FieldConflict, in space: SpaceID, at version: Version, by author: CommitAuthor
    ) throws(AuthorityStoreError) {
        let values: Patch = [
            "base": conflict.base, "winner": conflict.winner.value, "loser": conflict.loser.value,
        ]
        try execute(
            "write a conflict",
            """
            INSERT INTO conflict (space, version, collection, id, field, rule, field_values, winner, loser, recipient,
                principal, client, incarnation, transaction_number, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(space.rawValue), .integer(version.rawValue), .text(conflict.collection.rawValue),
                .blob(conflict.record.bits.bytes), .text(conflict.field.rawValue), .text(conflict.rule.rawValue),
                .text(try StoredText.encode(values)), .blob(conflict.winner.stamp.bytes),
                .blob(conflict.loser.stamp.bytes),
                conflict.recipient(pushedBy: author).map { .blob($0.bits.bytes) },
            ] + author.values)
    }

    func trimConflicts(keeping count: Int, limit: Int) throws(AuthorityStoreError) -> Int {
        try execute(
            "remove old conflicts",
            """
            WITH owned AS (SELECT number, coalesce(
                (SELECT principal FROM client WHERE id = conflict.recipient), conflict.principal) AS owner FROM conflict)
            DELETE FROM conflict WHERE number IN (SELECT number FROM owned
                WHERE owner = (SELECT owner FROM owned GROUP BY owner ORDER BY count(*) DESC, owner LIMIT 1)
                ORDER BY number LIMIT max(0, min(?2, (SELECT count(*) FROM conflict) - ?1)))
            """, [.integer(Int64(count)), .integer(Int64(limit))])
    }

    func bind(_ client: ClientID, to principal: Principal) throws(AuthorityStoreError) {
        try execute(
            "bind a client id", "INSERT INTO client (id, principal) VALUES (?, ?)",
            [.blob(client.bits.bytes), .text(principal.name)])
    }
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
            .integer(number.rawValue), .integer(at.milliseconds),
        ]
    }
}
