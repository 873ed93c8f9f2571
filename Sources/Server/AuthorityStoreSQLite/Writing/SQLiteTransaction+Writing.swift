import Foundation
import GRDB
import SyncAuthority
import SyncModel

extension SQLiteTransaction: AuthorityTransaction {
    func set(_ state: AuthorityState) throws(AuthorityStoreFailure) {
        try execute(
            "write the server's state", "UPDATE server SET epoch = ?, clock = ?, key = ?",
            [state.epoch.rawValue, Int64(bitPattern: state.clock.last.rawValue), Data(state.history.key.bytes)])
    }

    // MARK: Numbers

    func takeVersion(in space: SpaceID) throws(AuthorityStoreFailure) -> Version {
        let row = try row(
            "take a version",
            """
            INSERT INTO space (name, head, horizon) VALUES (?, 1, 0)
            ON CONFLICT (name) DO UPDATE SET head = head + 1 RETURNING head
            """, [space.rawValue])
        guard let row else { throw AuthorityStoreFailure(.corrupt, "taking a version of \(space) gave none") }
        return Version(row[0])
    }

    func takeUID(in collection: CollectionName) throws(AuthorityStoreFailure) -> UID {
        let row = try row(
            "take a uid",
            """
            INSERT INTO uid_counter (collection, next) VALUES (?, 1)
            ON CONFLICT (collection) DO UPDATE SET next = next + 1 RETURNING next - 1
            """, [collection.rawValue])
        guard let row else { throw AuthorityStoreFailure(.corrupt, "taking a uid of \(collection) gave none") }
        return UID(row[0])
    }

    // MARK: Records

    func put(_ record: StoredRecord) throws(AuthorityStoreFailure) {
        try execute(
            "write a record",
            """
            INSERT INTO record (\(StoredRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (collection, id) DO UPDATE SET uid = excluded.uid, space = excluded.space,
                version = excluded.version, creation = excluded.creation, deletion = excluded.deletion,
                fields = excluded.fields, origins = excluded.origins
            """,
            [
                record.address.collection.rawValue, record.address.id.bits.data, record.uid.rawValue,
                record.space.rawValue, record.version.rawValue, record.storedCreation, record.deletion?.data,
                try StoredText.encode(record.storedFields), record.storedOrigins,
            ])
    }

    func link(_ referrer: Referrer, to target: RecordAddress) throws(AuthorityStoreFailure) {
        try execute(
            "note a reference",
            """
            INSERT INTO reference (target_collection, target_id, collection, field, id) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """, Self.arguments(referrer, target))
    }

    func unlink(_ referrer: Referrer, from target: RecordAddress) throws(AuthorityStoreFailure) {
        try execute(
            "forget a reference",
            """
            DELETE FROM reference
            WHERE target_collection = ? AND target_id = ? AND collection = ? AND field = ? AND id = ?
            """, Self.arguments(referrer, target))
    }

    private static func arguments(_ referrer: Referrer, _ target: RecordAddress) -> StatementArguments {
        [
            target.collection.rawValue, target.id.bits.data, referrer.address.collection.rawValue,
            referrer.field.rawValue, referrer.address.id.bits.data,
        ]
    }

    // MARK: The change feed

    func append(
        _ commit: Commit, to space: SpaceID, by author: CommitAuthor, chain: HistoryChain
    ) throws(AuthorityStoreFailure) {
        try execute(
            "write a commit",
            """
            INSERT INTO log (space, version, changed, changes, chain, principal, client, incarnation, number, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                space.rawValue, commit.version.rawValue, commit.changes.count, try StoredText.encode(commit.changes),
                chain.data,
            ] + author.arguments)
    }

    func trim(_ space: SpaceID, through version: Version) throws(AuthorityStoreFailure) {
        let extent = try extent(of: space)
        let through = min(version, extent.head)
        guard through > extent.horizon else { return }
        guard let chain = try chain(at: through, in: space) else {
            throw AuthorityStoreFailure(.corrupt, "the feed of \(space) has no fingerprint at version \(through)")
        }
        try execute(
            "trim the feed", "DELETE FROM log WHERE space = ? AND version <= ?", [space.rawValue, through.rawValue])
        try execute(
            "move the horizon", "UPDATE space SET horizon = ?, horizon_chain = ? WHERE name = ?",
            [through.rawValue, chain.data, space.rawValue])
    }

    // MARK: Transactions from clients

    func set(_ ledger: Ledger, of key: LedgerKey) throws(AuthorityStoreFailure) {
        try execute(
            "write a ledger",
            """
            INSERT INTO ledger (principal, client, incarnation, next, acknowledged) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET next = excluded.next, acknowledged = excluded.acknowledged
            """, key.arguments + [ledger.next.rawValue, ledger.acknowledged.rawValue])
    }

    func keep(
        _ outcome: StoredOutcome, of key: LedgerKey, _ number: TransactionNumber
    ) throws(AuthorityStoreFailure) {
        try execute(
            "write an outcome",
            """
            INSERT INTO outcome (principal, client, incarnation, number, hash, outcome) VALUES (?, ?, ?, ?, ?, ?)
            """, key.arguments + [number.rawValue, outcome.hash.rawValue, try StoredText.encode(outcome.outcome)])
    }

    func forgetOutcomes(of key: LedgerKey, below number: TransactionNumber) throws(AuthorityStoreFailure) {
        try execute(
            "forget outcomes",
            "DELETE FROM outcome WHERE principal = ? AND client = ? AND incarnation = ? AND number < ?",
            key.arguments + [number.rawValue])
    }

    func note(
        _ conflict: FieldConflict, in space: SpaceID, at version: Version, by author: CommitAuthor
    ) throws(AuthorityStoreFailure) {
        let values: Patch = [
            "base": conflict.base, "winner": conflict.winner.value, "loser": conflict.loser.value,
        ]
        try execute(
            "write a conflict",
            """
            INSERT INTO conflict (space, version, collection, id, field, rule, field_values, winner, loser, addressee,
                principal, client, incarnation, transaction_number, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                space.rawValue, version.rawValue, conflict.collection.rawValue, conflict.record.bits.data,
                conflict.field.rawValue, conflict.rule.rawValue, try StoredText.encode(values),
                conflict.winner.stamp.data, conflict.loser.stamp.data,
                conflict.addressee(pushedBy: author)?.bits.data,
            ] + author.arguments)
    }

    func trimConflicts(keeping count: Int, limit: Int) throws(AuthorityStoreFailure) -> Int {
        try execute(
            "remove old conflicts",
            """
            WITH owned AS (SELECT number, coalesce(
                (SELECT principal FROM client WHERE id = conflict.addressee), conflict.principal) AS owner FROM conflict)
            DELETE FROM conflict WHERE number IN (SELECT number FROM owned
                WHERE owner = (SELECT owner FROM owned GROUP BY owner ORDER BY count(*) DESC, owner LIMIT 1)
                ORDER BY number LIMIT max(0, min(?2, (SELECT count(*) FROM conflict) - ?1)))
            """, [count, limit])
        return database.changesCount
    }

    func bind(_ client: ClientID, to principal: Principal) throws(AuthorityStoreFailure) {
        try execute(
            "bind a client id", "INSERT INTO client (id, principal) VALUES (?, ?)",
            [client.bits.data, principal.name])
    }
}

extension LedgerKey {
    fileprivate var arguments: StatementArguments {
        [principal.name, identity.client.bits.data, identity.incarnation]
    }
}

extension CommitAuthor {
    fileprivate var arguments: StatementArguments {
        [principal.name, identity.client.bits.data, identity.incarnation, number.rawValue, at.milliseconds]
    }
}
