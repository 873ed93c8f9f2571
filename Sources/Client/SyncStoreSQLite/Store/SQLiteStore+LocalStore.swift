import SQLiteDatabase
public import SyncCore
public import SyncModel

extension SQLiteStore: LocalStore {
    // MARK: Records

    public func record(_ collection: CollectionName, _ key: RecordKey) throws(StoreError) -> Record? {
        let table = try table(collection)
        return try read { connection in
            let statement: Statement
            switch key {
            case .id(let id):
                statement = try table.statement(.selectByID, on: connection)
                statement.bind(1, id)
            case .uid(let uid):
                statement = try table.statement(.selectByUID, on: connection)
                statement.bind(1, uid.rawValue)
            }
            defer { statement.reset() }
            return try statement.step() ? try table.record(statement) : nil
        }
    }

    public func shownRecord(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Record? {
        let table = try table(collection)
        return try read(inTransaction: true) { connection in
            let (base, _) = try Base.read(id, in: table, connection) { sequence in
                try StoredEntry.linked(sequence, connection).transaction
            }
            let record: Record?
            switch base {
            case .shown(let shown): record = shown
            case .deleted: record = nil
            case .absent:
                // Without a base, nothing is pending, or no server has shown the record.
                let isPending = try PendingLinks.hasChanges(of: id, in: table, connection)
                record = isPending ? nil : try table.row(of: id, on: connection)?.record
            }
            return record.flatMap { $0.version > .zero ? $0 : nil }
        }
    }

    public func records(matching query: RecordQuery) throws(StoreError) -> [Record] {
        let table = try table(query.collection)
        return try read(inTransaction: true) { connection in
            let sql = try Self.sql(for: query, table, on: connection)
            var records: [Record] = []
            try sql.read(on: connection) { statement in records.append(try table.record(statement)) }
            return records
        }
    }

    public func forEachRecord(
        matching query: RecordQuery, _ body: @Sendable (Record, SpaceID) -> Void
    ) throws(StoreError) {
        let table = try table(query.collection)
        try read(inTransaction: true) { connection in
            let sql = try Self.sql(for: query, table, on: connection)
            let spaces = try SpaceRow.all(connection).map { ($0.key, $0.stored(for: nil).space) }
            let names = Dictionary(uniqueKeysWithValues: spaces)
            try sql.read(on: connection) { statement in
                guard let space = names[table.space(statement)] else { throw StoreError.recordWithoutSpace(table.name) }
                body(try table.record(statement), space)
            }
        }
    }

    private static func sql(
        for query: RecordQuery, _ table: RecordTable, on connection: Connection
    ) throws -> QuerySQL {
        try QuerySQL(query, table: table) { field in
            let column = RecordTable.quote(field.name.rawValue)
            let lacking = try connection.statement(
                composed: "SELECT 1 FROM \(table.quoted) WHERE \(column) IS NULL LIMIT 1")
            defer { lacking.reset() }
            return try lacking.step()
        }
    }

    public func count(matching query: RecordQuery) throws(StoreError) -> Int {
        let table = try table(query.collection)
        return try read(inTransaction: true) { connection in
            let sql = try Self.sql(for: query, table, on: connection)
            let statement = try connection.statement(composed: sql.count)
            defer { statement.reset() }
            sql.bindCount(to: statement)
            return try statement.step() ? Int(statement.integer(0)) : 0
        }
    }

    /// Returns SQLite's plan for a query, one line per step of EXPLAIN QUERY PLAN.
    package func plan(of query: RecordQuery) throws(StoreError) -> [String] {
        let table = try table(query.collection)
        return try read(inTransaction: true) { connection in
            let sql = try Self.sql(for: query, table, on: connection)
            var lines: [String] = []
            try sql.explain(on: connection) { lines.append($0) }
            return lines
        }
    }

    public func space(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> SpaceID? {
        let table = try table(collection)
        return try read { connection in
            try table.space(of: id, on: connection)
        }
    }

    public func replacement(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> RecordID? {
        _ = try table(collection)
        return try read { connection in
            try Replacements.newest(of: RecordAddress(collection, id), connection)
        }
    }

    public func isPending(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Bool {
        let table = try table(collection)
        return try read { connection in
            try PendingLinks.hasChanges(of: id, in: table, connection)
        }
    }

    private func table(_ collection: CollectionName) throws(StoreError) -> RecordTable {
        guard let table = tables.first(where: { $0.model.collection == collection }) else {
            let names = tables.map(\.name).joined(separator: ", ")
            throw StoreError(.unknownCollection, "there is no collection \(collection); there are: \(names)")
        }
        return table
    }

    // MARK: Writing

    public func commit(
        _ edits: [RecordEdit], seen: SeenFields, in space: SpaceID, now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        try writeTogether([
            { transaction in try transaction.commit(LocalWrite(edits, seen: seen, in: space), now: now) }
        ])[0].get()
    }

    public func commit(_ writes: [LocalWrite], now: WallTime) -> [Result<OutboxSequence?, StoreError>] {
        do throws(StoreError) {
            return try writeTogether(
                writes.map { write in { transaction in try transaction.commit(write, now: now) } })
        } catch {
            return writes.map { _ in .failure(error) }
        }
    }

    // MARK: Spaces

    public func followedSpaces() throws(StoreError) -> [StoredSpace] {
        try read(inTransaction: true) { [limits = configuration.limits] connection in
            guard let meta = try Meta.load(connection) else { throw StoreError.withoutIdentity }
            return try SpaceRow.allStored(of: meta, limits, connection)
        }
    }

    public func progress() throws(StoreError) -> StoredProgress {
        try read(inTransaction: true) { [limits = configuration.limits] connection in
            guard let meta = try Meta.load(connection) else { throw StoreError.withoutIdentity }
            let rows = try SpaceRow.all(connection)
            let clients = try Notices.clients(meta, limits, connection)
            return StoredProgress(
                outbox: meta.outbox, spaces: rows.map { $0.stored(for: clients) },
                isBehind: rows.contains(where: \.isBehind), contact: try ServerContact.load(connection))
        }
    }

    @discardableResult
    public func follow(_ space: SpaceID) throws(StoreError) -> Bool {
        // Usually, the device follows the space already, and then this call does not wait for another writer.
        guard try read({ connection in try SpaceRow.find(space, connection) == nil }) else { return false }
        return try write { transaction in try transaction.follow(space) }
    }

    public func unfollow(_ space: SpaceID) throws(StoreError) -> Int? {
        let removed = try write { transaction in try transaction.unfollow(space) }
        if removed != nil { truncateWALSoon() }
        return removed
    }

    // MARK: Outbox

    public func outbox(after sequence: OutboxSequence?, limit: Int) throws(StoreError) -> [OutboxEntry] {
        try read { connection in
            let statement = try connection.statement(
                """
                SELECT sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum FROM sync_outbox
                WHERE sequence > ?1 ORDER BY sequence LIMIT ?2
                """)
            statement.bind(1, sequence?.rawValue ?? 0)
            statement.bind(2, Int64(max(limit, 0)))
            defer { statement.reset() }
            var entries: [OutboxEntry] = []
            while try statement.step() { entries.append(try StoredEntry(statement).entry) }
            return entries
        }
    }

    public func outboxSummary() throws(StoreError) -> OutboxSummary {
        try read { connection in try Meta.load(connection)?.outbox ?? OutboxSummary() }
    }

    public func fate(of sequence: OutboxSequence) throws(StoreError) -> TransactionFate {
        try read(inTransaction: true) { connection in
            let pending = try connection.statement(
                """
                SELECT sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum FROM sync_outbox WHERE sequence = ?1
                """)
            pending.bind(1, sequence.rawValue)
            do {
                defer { pending.reset() }
                if try pending.step() { return .pending(try StoredEntry(pending).state) }
            }
            if let entry = try JournalReading.entry(of: sequence, connection) {
                if case .cancelled = entry.event { return .cancelled }
                return .rejected(entry)
            }
            let last = try connection.integer(of: "SELECT last_sequence FROM sync_meta")
            guard sequence.rawValue > 0, sequence.rawValue <= last else {
                throw StoreError(.missingEntry, "there has never been a transaction \(sequence) in this outbox")
            }
            let unknown = try connection.integer(of: "SELECT fate_unknown_up_to FROM sync_meta")
            return sequence.rawValue <= unknown ? .unknown : .confirmed
        }
    }

    public func cancel(_ sequence: OutboxSequence, now: WallTime) throws(StoreError) {
        try write { transaction in try transaction.cancel(sequence, now: now) }
    }

    // MARK: Journal

    public func journal(
        state: JournalEntry.State?, after number: Int64?, limit: Int
    ) throws(StoreError) -> [JournalEntry] {
        let bytes = configuration.limits.journalPageBytes
        return try read(inTransaction: true) { connection in
            try JournalReading.page(state: state, after: number, limit: limit, bytes: bytes, connection)
        }
    }

    public func rejectionCount() throws(StoreError) -> Int {
        try read { connection in
            Int(
                try connection.integer(
                    of:
                        "SELECT count(*) FROM sync_journal WHERE state = 'active' AND event IN ('rejected', 'lost')"
                ))
        }
    }

    public func journalEntry(_ number: Int64) throws(StoreError) -> JournalEntry? {
        try read(inTransaction: true) { connection in
            try JournalReading.entry(number, connection)
        }
    }

    public func droppedReferences() throws(StoreError) -> [DroppedReference] {
        try read { connection in
            let statement = try connection.statement(
                "SELECT collection, id, field, target FROM sync_dropped_reference ORDER BY collection, id, field")
            defer { statement.reset() }
            var references: [DroppedReference] = []
            while try statement.step() {
                // A field of a model that has changed since has no reference to set.
                guard let table = self.tables.first(where: { $0.name == statement.text(0) }),
                    let field = FieldName(rawValue: statement.text(2)),
                    let target = table.model.field(named: field)?.target
                else { continue }
                references.append(
                    DroppedReference(
                        record: RecordAddress(table.model.collection, try statement.recordID(1)), field: field,
                        target: RecordAddress(target, try statement.recordID(3))))
            }
            return references
        }
    }

    public func clients() throws(StoreError) -> [ClientID] {
        try read(inTransaction: true) { connection in
            guard let meta = try Meta.load(connection) else { throw StoreError.withoutIdentity }
            return try FormerClients.all(of: meta.identity.client, connection)
        }
    }

    public func restore(
        journal number: Int64, leaving left: LeftChanges, now: WallTime,
        newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] {
        try write { transaction in
            try transaction.restore(journal: number, leaving: left, now: now, newID: newID)
        }
    }

    public func dismiss(journal number: Int64) throws(StoreError) {
        try write { transaction in try transaction.dismiss(journal: number) }
    }

    public func dismissJournal(upTo number: Int64) throws(StoreError) -> Int {
        try write { transaction in try transaction.dismissJournal(upTo: number) }
    }
}
