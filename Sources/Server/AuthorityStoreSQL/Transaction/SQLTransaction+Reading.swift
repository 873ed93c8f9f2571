package import SyncAuthority
package import SyncModel
import SyncWire

extension SQLTransaction: AuthorityView {
    package func state() throws(AuthorityStoreError) -> AuthorityState {
        let state = try row(
            "read the server's state", "SELECT epoch, clock, key, catalog_revision, member_revision FROM server", []
        ) { row in
            let secret = row.bytes(2)
            guard let key = HistoryKey(bytes: secret) else {
                throw AuthorityStoreError(
                    .corrupt, "the server's key has \(secret.count) bytes; expected \(HistoryKey.byteCount)")
            }
            return AuthorityState(
                history: HistoryIdentity(epoch: Epoch(rawValue: row.text(0)), key: key),
                clock: HybridClock(last: HybridTime(rawValue: UInt64(bitPattern: row.integer(1)))),
                catalogRevision: row.integer(3), memberRevision: row.integer(4))
        }
        guard let state else { throw AuthorityStoreError(.corrupt, "the database has no row in server") }
        return state
    }

    package func catalog() throws(AuthorityStoreError) -> SchemaCatalog? {
        guard let text = try storedModels() else { return nil }
        do throws(WireError) {
            return try CatalogCodec.decodeStored(Array(text.utf8))
        } catch {
            throw AuthorityStoreError(.corrupt, "the stored models cannot be read: \(error)")
        }
    }

    /// Returns the stored models as JSON; nil when there are none.
    func storedModels() throws(AuthorityStoreError) -> String? {
        try row("read the stored models", "SELECT models FROM catalog", []) { $0.text(0) }
    }

    package func members() throws(AuthorityStoreError) -> [SpaceMember] {
        try rows("read the members", "SELECT space, principal, role FROM member ORDER BY space, principal", []) {
            let role = $0.text(2)
            guard let known = SpaceRole(rawValue: role) else {
                throw AuthorityStoreError(.corrupt, "a row of member has the role '\(role)'; expected reader or writer")
            }
            return SpaceMember(
                space: try SpaceID(stored: $0.text(0), "the space in a row of member"),
                principal: Principal(name: $0.text(1)), role: known)
        }
    }

    package func extent(of space: SpaceID) throws(AuthorityStoreError) -> SpaceExtent {
        if let extent = known.extents[space] { return extent }
        let extent =
            try row("read a space", "SELECT head, horizon FROM space WHERE name = $1", [.text(space.rawValue)]) {
                try SpaceExtent($0, from: 0, of: space)
            } ?? .empty
        known.extents[space] = extent
        return extent
    }

    package func extents() throws(AuthorityStoreError) -> [SpaceID: SpaceExtent] {
        let found = try rows("read the spaces", "SELECT name, head, horizon FROM space", []) {
            let space = try SpaceID(stored: $0.text(0), "the name in a row of space")
            return (space, try SpaceExtent($0, from: 1, of: space))
        }
        return Dictionary(found, uniquingKeysWith: { $1 })
    }

    package func fingerprint(at version: Version, in space: SpaceID) throws(AuthorityStoreError) -> HistoryFingerprint?
    {
        try feedEnd(at: version, in: space)?.fingerprint
    }

    /// Returns the sums over a change feed up to a version between its horizon and its head; nil for other versions.
    func feedEnd(at version: Version, in space: SpaceID) throws(AuthorityStoreError) -> FeedEnd? {
        if let last = known.feedEnds[space], last.version == version { return last }
        let place: [StoredValue?] = [.text(space.rawValue), .integer(version.rawValue)]
        let logged = try row(
            "read a fingerprint", "SELECT chain, total_bytes FROM change_feed WHERE space = $1 AND version = $2", place
        ) { try FeedEnd($0, at: version) }
        if let logged {
            known.feedEnds[space] = logged
            return logged
        }
        let atHorizon = try row(
            "read the fingerprint at the horizon",
            "SELECT horizon_chain, horizon_bytes FROM space WHERE name = $1 AND horizon = $2", place
        ) { try FeedEnd($0, at: version) }
        if let atHorizon { return atHorizon }
        guard version == .zero, try extent(of: space) == .empty else { return nil }
        return FeedEnd(version: .zero, fingerprint: .start, totalBytes: 0)
    }

    package func spaces(exceeding bound: FeedBound) throws(AuthorityStoreError) -> [SpaceID] {
        try rows(
            "find long feeds",
            """
            SELECT name FROM space WHERE head - horizon > $1 OR $2 <
                (SELECT total_bytes FROM change_feed WHERE change_feed.space = name AND version = head) - horizon_bytes
            ORDER BY name
            """, [.integer(Int64(bound.commits)), .integer(Int64(bound.bytes))]
        ) { try SpaceID(stored: $0.text(0), "the name in a row of space") }
    }

    package func surplus(
        of space: SpaceID, over bound: FeedBound, limit: Int
    ) throws(AuthorityStoreError) -> Version? {
        let extent = try extent(of: space)
        let horizon = extent.horizon.rawValue
        var surplus = max(0, extent.head.rawValue - horizon - Int64(bound.commits))
        let kept = try feedEnd(at: extent.horizon, in: space)?.totalBytes ?? 0
        let total = try feedEnd(at: extent.head, in: space)?.totalBytes ?? kept
        let last = horizon + min(Int64(clamping: limit), extent.head.rawValue - horizon)
        if total &- kept > Int64(bound.bytes) {
            let enough = try row(
                "find the surplus of a feed",
                """
                SELECT version FROM change_feed WHERE space = $1 AND version > $2 AND version <= $3 AND total_bytes >= $4
                ORDER BY version LIMIT 1
                """, [.text(space.rawValue), .integer(horizon), .integer(last), .integer(total &- Int64(bound.bytes))]
            ) { $0.integer(0) }
            surplus = max(surplus, (enough ?? last) - horizon)
        }
        return surplus > 0 ? Version(min(horizon + surplus, last)) : nil
    }

    // MARK: Records

    package func record(_ address: RecordAddress) throws(AuthorityStoreError) -> StoredRecord? {
        try row(
            "read a record",
            """
            SELECT id, uid, version, creation, deletion, fields, origins, equal_edits, space
            FROM record WHERE collection = $1 AND id = $2
            """,
            [.text(address.collection.rawValue), .blob(address.id.bits.bytes)]
        ) { try StoredRecord($0, of: address.collection) }
    }

    package func record(_ collection: CollectionName, _ uid: UID) throws(AuthorityStoreError) -> StoredRecord? {
        try row(
            "read a record",
            """
            SELECT id, uid, version, creation, deletion, fields, origins, equal_edits, space
            FROM record WHERE collection = $1 AND uid = $2
            """,
            [.text(collection.rawValue), .integer(uid.rawValue)]
        ) { try StoredRecord($0, of: collection) }
    }

    package func referrers(
        of target: RecordAddress, through fields: [ReferenceField], limit: Int
    ) throws(AuthorityStoreError) -> [Referrer] {
        var result: [Referrer] = []
        for field in fields where result.count < limit {
            result += try rows(
                "read the references to a record",
                """
                SELECT id FROM reference
                WHERE target_collection = $1 AND target_id = $2 AND collection = $3 AND field = $4
                ORDER BY id LIMIT $5
                """,
                [
                    .text(target.collection.rawValue), .blob(target.id.bits.bytes), .text(field.collection.rawValue),
                    .text(field.field.rawValue), .integer(Int64(limit - result.count)),
                ]
            ) {
                let id = try $0.identifier(0, "the id in a row of reference")
                return Referrer(RecordAddress(field.collection, RecordID(bits: id)), field.field)
            }
        }
        return result
    }

    // MARK: Pages

    package func rows(
        in space: SpaceID, of collection: CollectionName, after id: RecordID?, budget: PageBudget
    ) throws(AuthorityStoreError) -> RowSlice {
        try use(
            "read a page of records",
            """
            SELECT id, uid, version, creation, deletion, fields, origins, equal_edits FROM record
            WHERE space = $1 AND collection = $2 AND id > $3 AND deletion IS NULL ORDER BY id LIMIT $4
            """,
            Self.page(in: space, of: collection, after: id, budget)
        ) { row in
            var records: [StoredRecord] = []
            records.reserveCapacity(min(budget.rows, AuthorityLimits.pageRows))
            let (bytes, isComplete) = try Self.read(row, fields: 5, within: budget) {
                records.append(try StoredRecord(row, of: collection, in: space))
            }
            return RowSlice(records: records, bytes: bytes, isComplete: isComplete)
        }
    }

    package func records(
        in space: SpaceID, of schema: ModelSchema, after id: RecordID?, budget: PageBudget
    ) throws(AuthorityStoreError) -> SnapshotSlice {
        let encoded = try use(
            "read a page of records",
            """
            SELECT id, uid, version, creation, fields, origins FROM record
            WHERE space = $1 AND collection = $2 AND id > $3 AND deletion IS NULL ORDER BY id LIMIT $4
            """,
            Self.page(in: space, of: schema.collection, after: id, budget)
        ) { row -> SnapshotSlice? in
            var encoder = SnapshotRowsEncoder(schema: schema)
            var isKnown = true
            let (bytes, isComplete) = try Self.read(row, fields: 4, within: budget) {
                if isKnown { isKnown = try encoder.add(row) }
            }
            return isKnown ? SnapshotSlice(rows: encoder.rows(), bytes: bytes, isComplete: isComplete) : nil
        }
        if let encoded { return encoded }
        // The columns of a page must be known before its first row is encoded.
        return SnapshotSlice(
            try rows(in: space, of: schema.collection, after: id, budget: budget), schema: schema)
    }

    private static func page(
        in space: SpaceID, of collection: CollectionName, after id: RecordID?, _ budget: PageBudget
    ) -> [StoredValue?] {
        // The empty blob sorts before every id.
        [.text(space.rawValue), .text(collection.rawValue), .blob(id?.bits.bytes ?? []), budget.mostRows]
    }

    /// Reads records until the budget is used up.
    ///
    /// - Parameters:
    ///   - column: the column with the fields, whose length counts against the budget.
    ///   - take: takes a record, while its row is the current one.
    private static func read(
        _ row: Session.Cursor, fields column: Int32, within budget: PageBudget, _ take: () throws -> Void
    ) throws -> (bytes: Int, isComplete: Bool) {
        var count = 0
        var bytes = 0
        while try row.step() {
            let isFull = count >= budget.rows || bytes >= budget.bytes
            if isFull, count > 0 { return (bytes, false) }
            bytes += row.withBytes(column) { $0.count } + 64
            count += 1
            try take()
        }
        return (bytes, true)
    }

    package func recordCounts(in space: SpaceID) throws(AuthorityStoreError) -> [CollectionName: Int] {
        let found = try rows(
            "count the records",
            "SELECT collection, count(*) FROM record WHERE space = $1 AND deletion IS NULL GROUP BY collection",
            [.text(space.rawValue)]
        ) { (try CollectionName(stored: $0.text(0), "the collection in a row of record"), Int($0.integer(1))) }
        return Dictionary(found, uniquingKeysWith: { $1 })
    }

    package func commits(
        in space: SpaceID, after version: Version, budget: PageBudget
    ) throws(AuthorityStoreError) -> [Commit] {
        try use(
            "read a page of the feed",
            "SELECT version, changed, changes FROM change_feed WHERE space = $1 AND version > $2 ORDER BY version LIMIT $3",
            [.text(space.rawValue), .integer(version.rawValue), budget.mostRows]
        ) { row in try Self.commits(row, within: budget) { commit in commit } }
    }

    package func recentCommits(
        in space: SpaceID, before version: Version?, budget: PageBudget
    ) throws(AuthorityStoreError) -> [RecordedCommit] {
        try use(
            "read the newest commits",
            """
            SELECT version, changed, changes, principal, client, incarnation, number, at FROM change_feed
            WHERE space = $1 AND version < $2 ORDER BY version DESC LIMIT $3
            """,
            [.text(space.rawValue), .integer(version?.rawValue ?? .max), budget.mostRows]
        ) { row in
            try Self.commits(row, within: budget) { RecordedCommit(commit: $0, author: try CommitAuthor(row, from: 3)) }
        }
    }

    /// Reads complete commits from rows that begin with `version`, `changed`, and `changes`. The first one is returned
    /// even if it exceeds the budget.
    ///
    /// - Parameter make: makes the element of a commit, while its row is the current one.
    private static func commits<Element>(
        _ row: Session.Cursor, within budget: PageBudget, _ make: (Commit) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        var left = budget
        while try row.step() {
            let changed = Int(row.integer(1))
            if !elements.isEmpty, changed > left.rows || left.bytes <= 0 { break }
            left.rows -= changed
            left.bytes -= row.withBytes(2) { $0.count }
            elements.append(
                try make(
                    Commit(
                        version: Version(row.integer(0)), changes: try StoredText.changes(row, 2, "a row of the feed")))
            )
        }
        return elements
    }

    package func author(of version: Version, in space: SpaceID) throws(AuthorityStoreError) -> CommitAuthor? {
        try row(
            "read the author of a commit",
            "SELECT principal, client, incarnation, number, at FROM change_feed WHERE space = $1 AND version = $2",
            [.text(space.rawValue), .integer(version.rawValue)]
        ) { try CommitAuthor($0, from: 0) }
    }

    // MARK: Transactions from clients

    package func ledger(of key: LedgerKey) throws(AuthorityStoreError) -> Ledger {
        try row(
            "read a ledger",
            "SELECT next, acknowledged FROM ledger WHERE principal = $1 AND client = $2 AND incarnation = $3",
            key.values
        ) {
            Ledger(next: TransactionNumber($0.integer(0)), acknowledged: TransactionNumber($0.integer(1)))
        } ?? .empty
    }

    package func clients(after client: ClientID?, limit: Int) throws(AuthorityStoreError) -> [StoredClient] {
        // The empty blob sorts before every id.
        try rows(
            "read the clients",
            """
            SELECT page.id, page.principal, page.replaced_by, ledger.incarnation, ledger.next, ledger.acknowledged
            FROM (SELECT id, principal, replaced_by FROM client WHERE id > $1 ORDER BY id LIMIT $2) AS page
            LEFT JOIN ledger ON ledger.principal = page.principal AND ledger.client = page.id
                AND ledger.incarnation = (SELECT max(newest.incarnation) FROM ledger AS newest
                    WHERE newest.principal = page.principal AND newest.client = page.id)
            ORDER BY page.id
            """,
            [.blob(client?.bits.bytes ?? []), .integer(Int64(limit))]
        ) { row in
            let id = ClientID(bits: try row.identifier(0, "the id in a row of client"))
            let principal = Principal(name: row.text(1))
            let isReplaced = !row.isNull(2)
            guard !row.isNull(3) else {
                return StoredClient(
                    identity: ClientIdentity(client: id, incarnation: 0), principal: principal, isReplaced: isReplaced,
                    ledger: .empty)
            }
            return StoredClient(
                identity: ClientIdentity(client: id, incarnation: Int(row.integer(3))), principal: principal,
                isReplaced: isReplaced,
                ledger: Ledger(
                    next: TransactionNumber(row.integer(4)), acknowledged: TransactionNumber(row.integer(5))))
        }
    }

    package func clientCount() throws(AuthorityStoreError) -> Int {
        try row("count the clients", "SELECT count(*) FROM client", []) { Int($0.integer(0)) } ?? 0
    }

    package func deviceCount(of principal: Principal) throws(AuthorityStoreError) -> Int {
        try row(
            "count the devices of an account",
            "SELECT count(*) FROM client WHERE principal = $1 AND replaced_by IS NULL", [.text(principal.name)]
        ) { Int($0.integer(0)) } ?? 0
    }

    package func usage() throws(AuthorityStoreError) -> [Principal: StoredUsage] {
        var usage: [Principal: StoredUsage] = [:]
        let records = try rows(
            "measure the records of accounts", Session.recordsOfAccounts, []
        ) { row in (Principal(name: row.text(0)), Int(row.integer(1)), Int(row.integer(2))) }
        for (principal, count, length) in records {
            usage[principal] = StoredUsage(records: count, bytes: length + count * AuthorityLimits.recordBytes)
        }
        return usage
    }

    package func commitTime(
        of number: TransactionNumber, from identity: ClientIdentity, at version: Version
    ) throws(AuthorityStoreError) -> WallTime? {
        // The outcome of a transaction does not name its space. One lookup by primary key for each space whose change
        // feed has this version. As a join, PostgreSQL could search the whole change feed for the version.
        try row(
            "read the time of a commit",
            """
            SELECT max((SELECT change_feed.at FROM change_feed
                WHERE change_feed.space = space.name AND change_feed.version = $1
                    AND change_feed.client = $2 AND change_feed.incarnation = $3 AND change_feed.number = $4))
            FROM space WHERE space.head >= $1 AND space.horizon < $1
            """,
            [
                .integer(version.rawValue), .blob(identity.client.bits.bytes), .integer(Int64(identity.incarnation)),
                .integer(number.rawValue),
            ]
        ) { $0.isNull(0) ? nil : WallTime(milliseconds: $0.integer(0)) } ?? nil
    }

    package func outcome(of key: LedgerKey, _ number: TransactionNumber) throws(AuthorityStoreError) -> StoredOutcome? {
        try row(
            "read an outcome",
            "SELECT hash, outcome FROM outcome WHERE principal = $1 AND client = $2 AND incarnation = $3 AND number = $4",
            key.values + [.integer(number.rawValue)]
        ) {
            StoredOutcome(
                hash: PayloadHash(rawValue: $0.text(0)),
                outcome: try StoredText.outcome($0, 1, "a row of outcome"))
        }
    }

    package func conflicts(
        in space: SpaceID, after number: Int64, budget: PageBudget
    ) throws(AuthorityStoreError) -> [RecordedConflict] {
        try use(
            "read conflicts",
            """
            SELECT number, space, version, collection, id, field, rule, field_values, winner, loser,
                principal, client, incarnation, transaction_number, at,
                (SELECT owner.principal FROM client AS owner WHERE owner.id = substr(winner, 9)),
                (SELECT owner.principal FROM client AS owner WHERE owner.id = substr(loser, 9))
            FROM conflict WHERE space = $1 AND number > $2 ORDER BY number LIMIT $3
            """,
            [.text(space.rawValue), .integer(number), .integer(Int64(budget.rows))]
        ) { row in
            var found: [RecordedConflict] = []
            var left = budget.bytes
            while found.isEmpty || left > 0, try row.step() {
                let recorded = try RecordedConflict(row)
                left -= recorded.conflict.byteCount
                found.append(recorded)
            }
            return found
        }
    }

    package func conflictAmount() throws(AuthorityStoreError) -> ConflictAmount {
        let amount = try row(
            "count the conflicts",
            """
            SELECT CAST(coalesce(sum(conflicts), 0) AS bigint), CAST(coalesce(sum(bytes), 0) AS bigint)
            FROM conflict_total
            """, []
        ) { ConflictAmount(conflicts: Int($0.integer(0)), bytes: Int($0.integer(1))) }
        return amount ?? ConflictAmount(conflicts: 0, bytes: 0)
    }

    package func conflictCount(in space: SpaceID) throws(AuthorityStoreError) -> Int {
        try row(
            "count the conflicts",
            "SELECT CAST(coalesce(sum(conflicts), 0) AS bigint) FROM conflict_total WHERE space = $1",
            [.text(space.rawValue)]
        ) { Int($0.integer(0)) } ?? 0
    }

    package func newestRemovedNotice(
        for clients: [ClientID], in space: SpaceID
    ) throws(AuthorityStoreError) -> Int64 {
        var newest: Int64 = 0
        for client in clients {
            let removed = try row(
                "look for removed conflicts", "SELECT removed FROM conflict_total WHERE recipient = $1 AND space = $2",
                [.blob(client.bits.bytes), .text(space.rawValue)]
            ) { $0.integer(0) }
            newest = max(newest, removed ?? 0)
        }
        return newest
    }

    package func notices(
        for clients: [ClientID], in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityStoreError) -> [RecordedConflict] {
        // One index lookup for each client, because there are few clients.
        var found: [RecordedConflict] = []
        for client in clients {
            found += try rows(
                "read conflicts",
                """
                SELECT number, space, version, collection, id, field, rule, field_values, winner, loser,
                    principal, client, incarnation, transaction_number, at,
                    (SELECT owner.principal FROM client AS owner WHERE owner.id = substr(winner, 9)),
                    (SELECT owner.principal FROM client AS owner WHERE owner.id = substr(loser, 9))
                FROM conflict WHERE recipient = $1 AND space = $2 AND number > $3 ORDER BY number LIMIT $4
                """,
                [.blob(client.bits.bytes), .text(space.rawValue), .integer(number), .integer(Int64(limit))]
            ) { try RecordedConflict($0) }
        }
        return Array(found.sorted { $0.number < $1.number }.prefix(limit))
    }

    package func owner(of client: ClientID) throws(AuthorityStoreError) -> ClientOwner? {
        try row(
            "read the owner of a client id", "SELECT principal, replaced_by FROM client WHERE id = $1",
            [.blob(client.bits.bytes)]
        ) { row in
            let replacement =
                row.isNull(1) ? nil : ClientID(bits: try row.identifier(1, "the replacement in a row of client"))
            return ClientOwner(principal: Principal(name: row.text(0)), replacement: replacement)
        }
    }
}

extension SpaceExtent {
    /// Reads the head and the horizon from two columns.
    fileprivate init(_ row: some SQLCursor, from column: Int32, of space: SpaceID) throws(AuthorityStoreError) {
        let (head, horizon) = (row.integer(column), row.integer(column + 1))
        // The version after the head must exist.
        guard 0 <= horizon, horizon <= head, head < .max else {
            throw AuthorityStoreError(
                .corrupt, "the space \(space) has the head \(head) and the horizon \(horizon)")
        }
        self.init(head: Version(head), horizon: Version(horizon))
    }
}

extension FeedEnd {
    /// Reads the fingerprint and the size from the first two columns.
    fileprivate init(_ row: some SQLCursor, at version: Version) throws(AuthorityStoreError) {
        self.init(
            version: version, fingerprint: HistoryFingerprint(bits: try row.identifier(0, "a fingerprint")),
            totalBytes: row.integer(1))
    }
}

extension CommitAuthor {
    /// Reads the principal, client, incarnation, number, and time from five columns.
    fileprivate init(_ row: some SQLCursor, from column: Int32) throws(AuthorityStoreError) {
        let client = ClientID(bits: try row.identifier(column + 1, "a client"))
        self.init(
            principal: Principal(name: row.text(column)),
            identity: ClientIdentity(client: client, incarnation: Int(row.integer(column + 2))),
            number: TransactionNumber(row.integer(column + 3)),
            committedAt: WallTime(milliseconds: row.integer(column + 4)))
    }
}

extension RecordedConflict {
    /// Reads a row with the columns of the two queries above. The last two are the owners of the two clients.
    fileprivate init(_ row: some SQLCursor) throws(AuthorityStoreError) {
        let values = try StoredText.patch(row, 7, "the values in a row of conflict")
        guard let base = values["base"], let winner = values["winner"], let loser = values["loser"] else {
            throw AuthorityStoreError(.corrupt, "a row of conflict lacks a value")
        }
        let owners = (winner: row.optionalText(15), loser: row.optionalText(16))
        self.init(
            number: row.integer(0), space: try SpaceID(stored: row.text(1), "the space in a row of conflict"),
            version: Version(row.integer(2)),
            author: try CommitAuthor(row, from: 10),
            conflict: FieldConflict(
                collection: try CollectionName(stored: row.text(3), "the collection in a row of conflict"),
                record: RecordID(bits: try row.identifier(4, "the id in a row of conflict")),
                field: try FieldName(stored: row.text(5), "the field in a row of conflict"), base: base,
                winner: Contender(
                    value: winner, stamp: try row.stamp(8, "the winner in a row of conflict"),
                    account: owners.winner.map(AccountID.init(rawValue:))),
                loser: Contender(
                    value: loser, stamp: try row.stamp(9, "the loser in a row of conflict"),
                    account: owners.loser.map(AccountID.init(rawValue:))),
                rule: ConflictRule(rawValue: row.text(6))))
    }
}

extension PageBudget {
    /// The number of rows that a page needs at most: those of the budget, and one more to see whether others follow.
    fileprivate var mostRows: StoredValue { .integer(Int64(min(max(rows, 1), Int(Int32.max))) + 1) }
}
