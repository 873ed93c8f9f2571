import SQLiteDatabase
import SyncCore
import SyncModel

/// A row of `sync_outbox`.
struct StoredEntry {
    var sequence: Int64
    var space: SpaceID
    var transaction: Transaction
    var bytes: Int
    var number: TransactionNumber?
    var attempts: Int
    var version: Version?
    /// The numbers under which former identities of the device have sent the transaction. The server may have it.
    var formerly: [FormerNumber]
    /// The collection, or `collection.field`, that the server does not know yet; nil unless the entry is held back.
    var heldFor: String?

    static let columns = "sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum"

    /// Reads the current row of a statement that selects `columns`.
    init(_ statement: Statement) throws {
        sequence = statement.integer(0)
        guard let space = SpaceID(rawValue: statement.text(1)) else {
            throw StoreError(.corrupt, "outbox entry \(sequence) has no valid space")
        }
        self.space = space
        let payload = statement.bytes(2)
        guard StoredForm.checksum(of: payload) == statement.integer(9) else {
            throw StoreError(.corrupt, "outbox entry \(sequence) is not as it was written")
        }
        transaction = try StoredForm.transaction(from: payload, of: "outbox entry \(sequence)")
        guard transaction.space == space else {
            throw StoreError(
                .corrupt, "outbox entry \(sequence) names the space \(space), and its transaction \(transaction.space)")
        }
        guard statement.isInteger(5), !statement.isInteger(8) else {
            throw StoreError(.corrupt, "outbox entry \(sequence) has a value of a wrong type")
        }
        bytes = Int(try statement.count(3, "the size of outbox entry \(statement.integer(0))"))
        number = statement.optionalInteger(4).map { TransactionNumber($0) }
        attempts = Int(try statement.count(5, "the number of attempts of outbox entry \(statement.integer(0))"))
        version = statement.optionalInteger(6).map { Version($0) }
        formerly = try FormerNumbers.read(statement.optionalText(7), of: "outbox entry \(sequence)")
        heldFor = statement.optionalText(8)
    }

    /// Returns the entry with a sequence; nil when there is none.
    static func read(_ sequence: Int64, _ connection: Connection) throws -> StoredEntry? {
        let statement = try connection.statement(
            "SELECT sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum FROM sync_outbox WHERE sequence = ?1"
        )
        statement.bind(1, sequence)
        defer { statement.reset() }
        return try statement.step() ? try StoredEntry(statement) : nil
    }

    /// Returns the entry that a row of `sync_pending` names.
    static func linked(_ sequence: Int64, _ connection: Connection) throws -> StoredEntry {
        guard let entry = try read(sequence, connection) else {
            throw StoreError(.corrupt, "sync_pending names outbox entry \(sequence), which does not exist")
        }
        return entry
    }

    /// Whether the server cannot have the transaction. Only then can it be cancelled, or joined with a later
    /// transaction.
    var isUnsent: Bool { number == nil && formerly.isEmpty }

    /// Whether the entry has more former numbers than one push may carry.
    ///
    /// Such an entry is sent with empty contents and its oldest former numbers, to ask whether the server has the
    /// transaction. A rejection says that the server does not have it under these numbers.
    var asksForOutcome: Bool { formerly.count > SchemaLimits.formerNumbers }

    var state: OutboxEntry.State {
        guard let number else { return .waiting }
        return version.map { .answered(number, version: $0) } ?? .sent(number, attempts: attempts)
    }

    var entry: OutboxEntry {
        OutboxEntry(
            sequence: OutboxSequence(rawValue: sequence), transaction: transaction, state: state, formerly: formerly,
            heldFor: heldFor)
    }
}

extension WriteTransaction {
    // MARK: Entries

    func entry(_ sequence: Int64) throws -> StoredEntry? { try StoredEntry.read(sequence, connection) }

    func entry(numbered number: TransactionNumber) throws -> StoredEntry? {
        let statement = try connection.statement(
            "SELECT sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum FROM sync_outbox WHERE number = ?1"
        )
        statement.bind(1, number.rawValue)
        defer { statement.reset() }
        return try statement.step() ? try StoredEntry(statement) : nil
    }

    func newestEntry() throws -> StoredEntry? {
        let statement = try connection.statement(
            """
            SELECT sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum FROM sync_outbox
            ORDER BY sequence DESC LIMIT 1
            """)
        defer { statement.reset() }
        return try statement.step() ? try StoredEntry(statement) : nil
    }

    /// Returns the entries of a space that the server has applied, oldest first.
    ///
    /// - Parameter version: only entries applied at versions up to this one; nil for all.
    func answeredEntries(in space: SpaceID, upTo version: Version?) throws -> [StoredEntry] {
        guard meta.outbox.answered > 0 else { return [] }
        let statement = try connection.statement(
            """
            SELECT sequence, space, payload, bytes, number, attempts, version, formerly, held_for, checksum FROM sync_outbox
            WHERE space = ?1 AND version IS NOT NULL AND version <= ?2 ORDER BY sequence
            """)
        statement.bind(1, space.rawValue)
        statement.bind(2, version?.rawValue ?? .max)
        defer { statement.reset() }
        var entries: [StoredEntry] = []
        while try statement.step() { entries.append(try StoredEntry(statement)) }
        return entries
    }

    /// Appends a transaction and its links to the outbox, and returns its sequence.
    func append(_ transaction: Transaction, now: WallTime) throws -> Int64 {
        let payload = try StoredForm.bytes(of: transaction)
        guard meta.outbox.count < limits.outboxEntries else {
            throw StoreError(
                .outboxFull,
                "the outbox holds \(meta.outbox.count) transactions, which is its limit: sync or cancel some first")
        }
        guard Int64(meta.outbox.bytes) + Int64(payload.count) <= limits.outboxBytes else {
            throw StoreError(
                .outboxFull,
                "the outbox holds \(meta.outbox.bytes) of at most \(limits.outboxBytes) bytes, and this transaction needs \(payload.count) more: sync or cancel some first"
            )
        }
        let statement = try connection.statement(
            "INSERT INTO sync_outbox (sequence, space, payload, bytes, written_at, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        )
        meta.lastSequence += 1
        let sequence = meta.lastSequence
        statement.bind(1, sequence)
        statement.bind(2, transaction.space.rawValue)
        statement.bind(3, text: payload)
        statement.bind(4, Int64(payload.count))
        statement.bind(5, now.milliseconds)
        statement.bind(6, StoredForm.checksum(of: payload))
        try statement.run()
        cache.changed(sequence)
        for link in try links(of: transaction) { try insert(link, sequence) }
        meta.outbox.waiting += 1
        meta.outbox.bytes += payload.count
        change.touchesOutbox = true
        change.addsToOutbox = true
        return sequence
    }

    /// Replaces the contents of a waiting entry, which keeps its sequence.
    ///
    /// - Parameter now: the time at which the new contents were written; nil keeps the old time.
    func replace(_ entry: StoredEntry, with transaction: Transaction, now: WallTime? = nil) throws {
        if entry.heldFor != nil { try releaseHeld() }
        let payload = try StoredForm.bytes(of: transaction)
        let statement = try connection.statement(
            """
            UPDATE sync_outbox SET payload = ?2, bytes = ?3, written_at = coalesce(?4, written_at), checksum = ?5
            WHERE sequence = ?1
            """)
        statement.bind(1, entry.sequence)
        statement.bind(2, text: payload)
        statement.bind(3, Int64(payload.count))
        statement.bind(4, now?.milliseconds)
        statement.bind(5, StoredForm.checksum(of: payload))
        try statement.run()
        // An entry no longer depends on records that it no longer refers to.
        try unlink(entry)
        for link in try links(of: transaction) { try insert(link, entry.sequence) }
        meta.outbox.bytes += payload.count - entry.bytes
        cache.changed(entry.sequence)
        change.touchesOutbox = true
        change.addsToOutbox = true
    }

    /// Removes an entry and its links from the outbox. The records that it changed stay unchanged.
    func remove(_ entry: StoredEntry) throws {
        for place in try changedPlaces(of: entry.transaction) { try storeBase(place) }
        // Entries that depend on this one may be sent now.
        if entry.heldFor != nil { try releaseHeld() }
        let statement = try connection.statement("DELETE FROM sync_outbox WHERE sequence = ?1")
        statement.bind(1, entry.sequence)
        try statement.run()
        try unlink(entry)
        switch entry.state {
        case .waiting: meta.outbox.waiting -= 1
        case .sent: meta.outbox.sent -= 1
        case .answered: meta.outbox.answered -= 1
        }
        meta.outbox.bytes -= entry.bytes
        if !(try anyPending()) { try connection.statement("DELETE FROM sync_deleted").run() }
        cache.changed(entry.sequence)
        change.touchesOutbox = true
        change.removesFromOutbox = true
    }

    /// Removes entries that the base now includes, or that no longer apply, and recomputes the records that they
    /// changed.
    func removeAndRecompute(_ entries: [StoredEntry]) throws {
        var places: [RecordPlace] = []
        var known: Set<RecordPlace> = []
        for entry in entries {
            try remove(entry)
            for place in try changedPlaces(of: entry.transaction) where known.insert(place).inserted {
                places.append(place)
            }
        }
        for place in places { try recompute(place) }
    }

    // MARK: Links

    struct Link: Hashable {
        let place: RecordPlace
        let kind: Kind

        enum Kind: String {
            case changes, refers
        }
    }

    /// Returns the records that a transaction changes, each once, in the order of its mutations.
    func changedPlaces(of transaction: Transaction) throws -> [RecordPlace] {
        var places: [RecordPlace] = []
        var known: Set<RecordPlace> = []
        for mutation in transaction.mutations {
            let place = RecordPlace(
                table: try table(mutation.collection, orElse: .corrupt).position, id: mutation.record)
            if known.insert(place).inserted { places.append(place) }
        }
        return places
    }

    /// Returns the records that a transaction's values refer to.
    func referredPlaces(of transaction: Transaction) throws -> [RecordPlace] {
        var places: [RecordPlace] = []
        for mutation in transaction.mutations {
            try mutation.forEachValue { name, value in
                guard case .reference(let id) = value else { return }
                let model = try table(mutation.collection, orElse: .corrupt).model
                guard let target = model.field(named: name)?.target else { return }
                places.append(RecordPlace(table: try table(target, orElse: .corrupt).position, id: id))
            }
        }
        return places
    }

    /// Returns a transaction's links to records: those it changes, and those it refers to while no server has them.
    private func links(of transaction: Transaction) throws -> [Link] {
        let changed = try changedPlaces(of: transaction)
        var links = changed.map { Link(place: $0, kind: .changes) }
        let referred = try referredPlaces(of: transaction)
        guard !referred.isEmpty else { return links }
        let own = Set(changed)
        for place in referred where !own.contains(place) {
            if try isPendingCreation(place) { links.append(Link(place: place, kind: .refers)) }
        }
        return links
    }

    /// Links an existing outbox entry to the records that it changes or refers to.
    func link(_ entry: StoredEntry) throws {
        for link in try links(of: entry.transaction) { try insert(link, entry.sequence) }
    }

    private func insert(_ link: Link, _ sequence: Int64) throws {
        let statement = try connection.statement(
            "INSERT OR IGNORE INTO sync_pending (collection, id, sequence, link) VALUES (?1, ?2, ?3, ?4)")
        statement.bind(1, tables[link.place.table].name)
        statement.bind(2, link.place.id)
        statement.bind(3, sequence)
        statement.bind(4, link.kind.rawValue)
        try statement.run()
    }

    private func unlink(_ entry: StoredEntry) throws {
        let statement = try connection.statement(
            "DELETE FROM sync_pending WHERE collection = ?1 AND id = ?2 AND sequence = ?3")
        for place in try changedPlaces(of: entry.transaction) + referredPlaces(of: entry.transaction) {
            statement.bind(1, tables[place.table].name)
            statement.bind(2, place.id)
            statement.bind(3, entry.sequence)
            try statement.run()
        }
    }

    // MARK: Lookups

    func anyPending() throws -> Bool {
        meta.outbox.count > 0
    }

    func hasPending(_ place: RecordPlace) throws -> Bool {
        try PendingLinks.hasChanges(of: place.id, in: tables[place.table], connection)
    }

    /// Whether the record was created here, and no server has shown it.
    func isPendingCreation(_ place: RecordPlace) throws -> Bool {
        guard try hasPending(place) else { return false }
        return try base(place) == .absent
    }

    /// Returns the sequences of the entries linked to a record, oldest first.
    ///
    /// - Parameters:
    ///   - start: only entries after this one.
    ///   - end: only entries up to this one, inclusive.
    func sequences(
        linkedTo place: RecordPlace, onlyChanging: Bool, after start: Int64 = 0, upTo end: Int64 = .max
    ) throws -> [Int64] {
        let statement = try connection.statement(
            """
            SELECT DISTINCT sequence FROM sync_pending
            WHERE collection = ?1 AND id = ?2 AND sequence > ?4 AND sequence <= ?5 AND (link = 'changes' OR ?3 = 0)
            ORDER BY sequence
            """)
        statement.bind(1, tables[place.table].name)
        statement.bind(2, place.id)
        statement.bind(3, onlyChanging ? 1 : 0)
        statement.bind(4, start)
        statement.bind(5, end)
        defer { statement.reset() }
        var sequences: [Int64] = []
        while try statement.step() { sequences.append(statement.integer(0)) }
        return sequences
    }

    /// Returns the pending transactions that change a record, oldest first.
    func pendingTransactions(of place: RecordPlace) throws -> [Transaction] {
        var transactions: [Transaction] = []
        for sequence in try PendingLinks.changes(of: place.id, in: tables[place.table], connection) {
            transactions.append(try transaction(at: sequence))
        }
        return transactions
    }

    /// Returns, for each field with a pending value, the version that its author had seen.
    ///
    /// The author of an edit over a pending value has not seen anything that the server has shown since.
    func versionsSeen(
        of fields: Set<FieldName>, at place: RecordPlace, in space: SpaceID
    ) throws -> [FieldName: Version] {
        let statement = try connection.statement(
            """
            SELECT sequence FROM sync_pending WHERE collection = ?1 AND id = ?2 AND link = 'changes'
            ORDER BY sequence DESC
            """)
        let table = tables[place.table]
        statement.bind(1, table.name)
        statement.bind(2, place.id)
        defer { statement.reset() }
        var left = fields
        var versions: [FieldName: Version] = [:]
        while !left.isEmpty, try statement.step() {
            let transaction = try transaction(at: statement.integer(0))
            guard transaction.space == space else { continue }
            for mutation in transaction.mutations
            where mutation.record == place.id && mutation.collection == table.model.collection {
                switch mutation.intent {
                case .update(let edits):
                    for edit in edits where left.remove(edit.field) != nil { versions[edit.field] = edit.seen }
                case .create(let patch):
                    for (field, _) in patch where left.remove(field) != nil { versions[field] = .zero }
                case .delete: break
                }
            }
        }
        return versions
    }

    /// Returns the version up to which the user of this device has seen all values of a record.
    ///
    /// A page may have brought a newer value for a field with a pending edit. The edit hides that value, so nobody has
    /// seen it, and a delete must not claim to.
    func versionSeen(
        of record: Record, at place: RecordPlace, in space: SpaceID
    ) throws -> Version {
        let model = tables[place.table].model
        var version = record.version
        for (field, seen) in try versionsSeen(of: Set(model.fields.map(\.name)), at: place, in: space) {
            guard let position = model.position(of: field) else { continue }
            let shown = record.version(ofFieldAt: position)
            if shown > seen { version = min(version, Version(shown.rawValue - 1)) }
        }
        return version
    }

    /// Returns the transaction of an outbox entry that another table names.
    func transaction(at sequence: Int64) throws -> Transaction {
        if let transaction = cache[sequence] { return transaction }
        let entry = try StoredEntry.linked(sequence, connection)
        cache.keep(entry.transaction, at: sequence, bytes: entry.bytes)
        return entry.transaction
    }

    /// Returns the unsent entries of the same space that depend on `entry`, directly or through other entries, oldest
    /// first.
    ///
    /// An entry depends on an earlier one if it changes the same record, or refers to a record that the earlier one
    /// creates.
    func waitingDependants(of entry: StoredEntry) throws -> [StoredEntry] {
        struct Links: Hashable {
            let place: RecordPlace
            let onlyChanging: Bool
        }
        var found: [Int64: StoredEntry] = [:]
        var queue = [entry]
        // Linked entries that are sent or of another space, so that each is decoded once, however many of its records
        // are linked.
        var others: Set<Int64> = []
        // The sequence from which the links of a record have been followed, so that each link is read once, however
        // many edits of the record wait.
        var followed: [Links: Int64] = [:]
        while let next = queue.popLast() {
            let created = Set(next.transaction.createdRecords)
            for place in try changedPlaces(of: next.transaction) {
                let links = Links(place: place, onlyChanging: !created.contains(place.id))
                let end = followed[links] ?? .max
                guard next.sequence < end else { continue }
                followed[links] = next.sequence
                let linked = try sequences(
                    linkedTo: place, onlyChanging: links.onlyChanging, after: next.sequence, upTo: end)
                for sequence in linked where found[sequence] == nil && !others.contains(sequence) {
                    guard let dependant = try self.entry(sequence), dependant.isUnsent,
                        dependant.space == entry.space
                    else {
                        others.insert(sequence)
                        continue
                    }
                    found[sequence] = dependant
                    queue.append(dependant)
                }
            }
        }
        return found.values.sorted { $0.sequence < $1.sequence }
    }
}
