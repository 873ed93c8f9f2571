import SQLiteDatabase
import SyncCore
import SyncModel

/// Builds a new database from the readable parts of a damaged one.
///
/// Rows that only this device has are copied one by one: its identity, the outbox, and the journal. The server's data
/// is copied as far as it can be read. The next sync downloads that data again, and compares it first, because a
/// restored server may have lost it. A single transaction fills the new file, and a rename moves it into place, so an
/// interruption at any point loses nothing.
struct Salvage {
    private let kept: KeptFiles
    let damaged: DamagedDatabase
    let transaction: WriteTransaction
    let connection: Connection
    /// The tables of records that the damaged database has, with the order of their columns there. None, if it has lost
    /// its schema, and may have other tables than a new database with the same models.
    let shownTables: [RecordTable]
    /// Tables whose upper pages, schema, or WAL were rebuilt, so that rows may be missing without SQLite noticing.
    private let repaired: Set<String>
    /// Whether the page with the number of entries may be older than the entries.
    private let countsMayBeOld: Bool
    /// Whether a write of a collection that the models lack ends the salvage.
    private let refusesOtherModels: Bool

    private init(
        kept: KeptFiles, _ opened: Opened, refusesOtherModels: Bool, transaction: WriteTransaction
    ) {
        self.kept = kept
        self.refusesOtherModels = refusesOtherModels
        damaged = opened.damaged
        repaired = opened.repaired
        countsMayBeOld = opened.walDamage == .lostPages
        self.transaction = transaction
        connection = transaction.connection
        shownTables = opened.hasKnownTables ? Self.shownTables(of: transaction.tables, in: damaged) : []
    }

    // MARK: Files

    /// Replaces the database in `configuration` with its salvaged copy.
    ///
    /// - Parameters:
    ///   - configuration: the configuration of the damaged database.
    ///   - newClient: the client id to use if the former identity cannot be read or kept.
    static func run(
        _ configuration: StoreConfiguration, catalog: SchemaCatalog, refusesOtherModels: Bool, newClient: ClientID,
        now: WallTime
    ) throws -> SalvageReport {
        let files = DatabaseFiles(path: configuration.file)
        try files.checkUnused()
        let work = DatabaseFiles(path: files.path + ".salvage")
        let copy = DatabaseFiles(path: SalvageReport.workingCopy(of: files.path))
        for leftover in [work, copy] { leftover.remove() }
        defer { for leftover in [work, copy] { leftover.remove() } }
        let index = WALIndex(of: files)
        let kept = try KeptFiles.keep(files)
        do {
            let report = try fill(
                work, from: kept, index, through: copy, configuration, catalog: catalog,
                refusesOtherModels: refusesOtherModels, newClient: newClient, now: now)
            try work.replace(files)
            return report
        } catch {
            // The database may still be usable. With a second name, nobody could open it.
            kept.release(files)
            throw error
        }
    }

    /// Creates the new database, `work`, and copies everything that can be read to it.
    ///
    /// - Parameter copy: the files for the copy of the damaged database.
    private static func fill(
        _ work: DatabaseFiles, from kept: KeptFiles, _ index: WALIndex?, through copy: DatabaseFiles,
        _ configuration: StoreConfiguration,
        catalog: SchemaCatalog, refusesOtherModels: Bool, newClient: ClientID, now: WallTime
    ) throws -> SalvageReport {
        var configuration = configuration
        configuration.file = work.path
        configuration.createsIfMissing = true
        configuration.connections = .exclusive
        configuration.durability = .full
        let tables = RecordTable.all(of: catalog)
        try work.createIfMissing()
        work.created()
        let writer = try Writer(
            uri: SQLiteStore.uri(configuration, creating: true), configuration: configuration, tables: tables,
            newClient: newClient)
        try writer.checkpointAlone()
        let opened = try open(kept, index, as: copy, schemaOf: work, writer.connection)
        let report = try writer.inTransaction { connection in
            let transaction = try WriteTransaction(
                on: connection, catalog: catalog, tables: writer.tables, limits: configuration.limits)
            let salvage = Salvage(
                kept: kept, opened, refusesOtherModels: refusesOtherModels, transaction: transaction)
            let report = try salvage.run(newClient: newClient, now: now)
            try transaction.finish()
            return .commit(report)
        }
        try writer.checkpointAlone()
        return report
    }

    /// An opened copy of the damaged database.
    private struct Opened {
        let damaged: DamagedDatabase
        /// The repaired tables.
        let repaired: Set<String>
        /// Whether the schema describes the tables of records. The schema of a new database does only if the damaged
        /// one had the same tables at the same pages. Otherwise, values would be read as those of other fields or
        /// records.
        let hasKnownTables: Bool
        let walDamage: WALFile.Damage
    }

    /// Opens a copy of the damaged database, after repairing the pages that lead to its rows.
    ///
    /// - Parameter connection: a connection to the new database, `new`.
    private static func open(
        _ kept: KeptFiles, _ index: WALIndex?, as copy: DatabaseFiles, schemaOf new: DatabaseFiles,
        _ connection: Connection
    ) throws -> Opened {
        var hasKnownTables = true
        let walDamage = try kept.copy(to: copy.path, index)
        // Pages of the WAL may be missing, and then the rows in them, too.
        var repaired: Set<String> = walDamage == .none ? [] : Set(trees.map(\.table))
        if !isReadable(copy) { try? DamagedDatabase(copy.path).repairSchema() }
        if !isReadable(copy) {
            repaired.formUnion(trees.map(\.table))
            copy.remove()
            _ = try kept.copy(to: copy.path, index)
            try SchemaPages(of: try new.bytes()).write(to: copy.path)
            hasKnownTables = try DamagedDatabase(copy.path).hasTables(like: connection)
        }
        for tree in trees where try repair(tree, in: copy, schemaOf: connection) { repaired.insert(tree.table) }
        return Opened(
            damaged: try DamagedDatabase(copy.path), repaired: repaired, hasKnownTables: hasKnownTables,
            walDamage: walDamage)
    }

    /// Whether the schema gives the location of the tables. As a side effect, the contents of the copy's WAL move into
    /// its database file, if SQLite can open it.
    private static func isReadable(_ copy: DatabaseFiles) -> Bool {
        guard let damaged = try? DamagedDatabase(copy.path) else { return false }
        return ["sync_meta", "sync_outbox", "sync_journal", "sync_conflict", "sync_space"].allSatisfy(damaged.has)
    }

    /// The tables that are valuable enough to search the whole file for their rows, with their keys.
    private static let trees = [(table: "sync_outbox", key: "sequence"), (table: "sync_journal", key: "number")]

    /// Rebuilds the upper pages of a table that cannot be read to its end.
    ///
    /// - Returns: whether anything was rebuilt.
    private static func repair(
        _ tree: (table: String, key: String), in copy: DatabaseFiles, schemaOf new: Connection
    ) throws -> Bool {
        let root: Int64?
        do {
            let damaged = try DamagedDatabase(copy.path)
            if damaged.isWhole(tree.table, by: tree.key) { return false }
            root = damaged.integer("SELECT rootpage FROM sqlite_schema WHERE name = '\(tree.table)'")
        }
        guard let root, var pages = try LeafPages(of: copy.path) else { return false }
        return try pages.join(FilePage.Shape(of: tree.table, in: new), under: Int(clamping: root))
    }

    // MARK: Rows

    private func run(newClient: ClientID, now: WallTime) throws -> SalvageReport {
        let old = try oldMeta()
        try takeOverFormerClients()
        // If the history of the receipts is unknown or was contradicted, their versions may be those of a history that
        // the server has left. They must not put its present one in doubt.
        let trustsVersions = old?.epoch != nil && !wasContradicted
        try takeOverUnfollowedSpaces(trustingVersions: trustsVersions)
        let (spaces, keys, isProven) = try takeOverSpaces(trustingVersions: trustsVersions)
        if let old {
            transaction.meta.account = old.account
            transaction.meta.epoch = old.epoch
            transaction.meta.clock = old.clock
            transaction.meta.clockOffset = old.clockOffset
            transaction.meta.identity = old.identity
            transaction.meta.nextNumber = old.nextNumber
        }
        // A part of what was exchanged may not be readable.
        transaction.meta.hasExchanged = true
        let journal = try takeOverJournal(expecting: old?.journalEntries, now: now)
        let outbox = try takeOverOutbox(expecting: old?.entries, upTo: old?.lastSequence, now: now)
        try keepUnknownFates(upTo: journal.lost == 0 ? old?.fateUnknownUpTo : nil)
        let (records, offered) = try takeOverShown(keys, lostEntries: outbox.count.lost, now: now)
        let knowsOwnVersions = try takeOverConfirmed()
        try takeOverReplacements()
        // Without its history or the proof of that history, the device cannot tell what a restored server has lost. A
        // server that contradicts the database may have been restored.
        if old?.epoch == nil || !isProven || wasContradicted { try transaction.loseHistory() }
        if outbox.count.saved > 0 { try takeOverDeleted(keys) }

        let identity: SalvageReport.Identity
        if let old {
            if outbox.count.lost == 0, try hasNumbersWithoutGaps() {
                identity = .kept(old.identity)
            } else {
                _ = try transaction.renewIdentity(as: newClient)
                identity = .renewed(transaction.meta.identity, former: old.identity)
            }
        } else {
            // Numbers are meaningless without the identity that assigned them.
            try connection.execute(
                "UPDATE sync_outbox SET number = NULL, version = NULL, attempts = 0, refusal_code = NULL, refusal_message = NULL"
            )
            transaction.meta.outbox.waiting = transaction.meta.outbox.count
            transaction.meta.outbox.sent = 0
            transaction.meta.outbox.answered = 0
            identity = .unreadable(now: transaction.meta.identity)
        }
        return SalvageReport(
            keptFile: kept.database.path, identity: identity, account: transaction.meta.account, outbox: outbox.count,
            offered: offered, perhapsSent: old == nil ? outbox.numbered : 0, journal: journal, spaces: spaces,
            records: records,
            knowsOwnVersions: knowsOwnVersions)
    }

    private func spaceID(_ key: Int64) throws -> SpaceID {
        let select = try connection.prepare("SELECT name FROM sync_space WHERE key = ?1")
        select.bind(1, key)
        defer { select.reset() }
        guard try select.step(), let space = SpaceID(rawValue: select.text(0)) else {
            throw StoreError(.corrupt, "the new database has no space with the key \(key)")
        }
        return space
    }

    /// Whether the last contact ended because the server contradicted the database; true if this cannot be read.
    private var wasContradicted: Bool {
        hasFailed(as: ServerContact.Failure.contradiction) != false || isInDoubt
    }

    /// Whether the server was at an earlier version than it has confirmed to the database.
    ///
    /// Either the server was restored, or a version in a response was wrong. In both cases, pushing the confirmed
    /// transactions again tells: the server repeats its results, or does not have the transactions.
    private var isInDoubt: Bool { hasFailed(as: ServerContact.Failure.historyInDoubt) == true }

    /// Returns whether the last contact ended with this code; nil if this cannot be read.
    private func hasFailed(as code: String) -> Bool? {
        damaged.integer("SELECT count(*) FROM sync_contact WHERE failure_code = '\(code)'").map { $0 != 0 }
    }

    /// Copies what the server has shown, and computes the records with pending changes.
    ///
    /// - Parameter lostEntries: the number of entries of the outbox that could not be read; nil if it is not known. The
    ///   journal offers the values that rows have from such entries.
    /// - Returns: the number of records, and of those for which the journal offers values of lost entries.
    private func takeOverShown(
        _ keys: [Int64: Int64], lostEntries: Int?, now: WallTime
    ) throws -> (SalvageReport.Count, offered: Int) {
        try takeOverFormerVersions()
        let doubtful = try recordsOfLostEntries(lostEntries)
        let bases = try takeOverBases(keys, doubtful)
        try connectOutbox(and: bases.places)
        var lost: [Int64: [Mutation]] = [:]
        let rows = try takeOverRows(keys, doubtful) { record, place, space in
            guard lostEntries != 0, let change = try changeOfLostEntry(in: record, at: place) else { return }
            lost[space, default: []].append(change)
        }
        try takeOverForeign(keys)
        for (key, changes) in lost.sorted(by: { $0.key < $1.key }) {
            try transaction.offer(lost: changes, in: try spaceID(key), own: .all, now: now)
        }
        return (
            SalvageReport.Count(saved: rows.saved + bases.places.count, lost: rows.lost.map { $0 + bases.lost }),
            lost.values.map(\.count).reduce(0, +)
        )
    }

    /// The contents of the damaged `sync_meta`; nil if its row cannot be read or is invalid.
    private struct OldMeta {
        var identity: ClientIdentity
        var nextNumber: TransactionNumber
        /// The sequence of the newest entry that the outbox has ever had; nil when the stored number is impossible.
        var lastSequence: Int64?
        var epoch: Epoch?
        var account: AccountID?
        var clock: HybridClock
        var clockOffset: Int64?
        /// The number of outbox entries; nil when the stored number is impossible.
        var entries: Int?
        /// The number of journal entries; nil when the stored number is impossible.
        var journalEntries: Int?
        /// The newest entry whose fate is unknown; nil when the stored number is impossible.
        var fateUnknownUpTo: Int64?
    }

    /// Returns a count; nil when it is negative or exceeds twice the limit, and so must be damaged. Another build may
    /// have had a larger limit.
    private func possible(_ count: Int64, atMost limit: Int) -> Int? {
        (0...2 * Int64(limit)).contains(count) ? Int(count) : nil
    }

    private func oldMeta() throws -> OldMeta? {
        var meta: OldMeta?
        _ = try damaged.forEachRow(of: "sync_meta", by: "one", last: 1) { row in
            guard let client = row.text("client").flatMap({ ClientID($0) }),
                let incarnation = row.integer("incarnation"),
                (0...Meta.largestIncarnation).contains(incarnation), let next = row.integer("next_number"),
                (0...StoreLimits.largestCount / 2).contains(next),
                let clock = row.integer("clock"),
                let waiting = row.integer("waiting"), let sent = row.integer("sent"),
                let answered = row.integer("answered"), waiting >= 0, sent >= 0, answered >= 0
            else { return }
            meta = OldMeta(
                identity: ClientIdentity(client: client, incarnation: Int(incarnation)),
                nextNumber: TransactionNumber(next),
                lastSequence: row.integer("last_sequence").flatMap {
                    (0..<FilePage.largestKey).contains($0) ? $0 : nil
                }, epoch: row.text("epoch").map(Epoch.init(rawValue:)),
                account: row.text("account").map(AccountID.init(rawValue:)),
                clock: HybridClock(last: HybridTime(rawValue: UInt64(max(clock, 0)))),
                clockOffset: row.integer("clock_offset").map(Meta.clampedOffset),
                entries: possible(waiting &+ sent &+ answered, atMost: transaction.limits.outboxEntries),
                journalEntries: row.integer("journal_entries").flatMap {
                    possible($0, atMost: transaction.limits.journalEntries + transaction.limits.activeJournalEntries)
                },
                fateUnknownUpTo: row.integer("fate_unknown_up_to").flatMap {
                    (0..<FilePage.largestKey).contains($0) ? $0 : nil
                })
        }
        return meta
    }

    private func takeOverFormerClients() throws {
        _ = try damaged.forEachRow(of: "sync_former_client", by: "position") { row in
            guard let client = row.text("client").flatMap({ ClientID($0) }) else { return }
            try FormerClients.remember(client, connection)
        }
    }

    /// Copies the receipts of the spaces that the device no longer follows.
    private func takeOverUnfollowedSpaces(trustingVersions: Bool) throws {
        let keep = try connection.prepare(
            "INSERT OR REPLACE INTO sync_unfollowed (name, receipt, receipt_version) VALUES (?1, ?2, ?3)")
        _ = try damaged.forEachRow(of: "sync_unfollowed", orderedBy: ["name"]) { row in
            guard let name = row.text("name").flatMap({ SpaceID(rawValue: $0) }), let receipt = row.text("receipt"),
                let version = row.integer("receipt_version"), version >= 0
            else { return }
            keep.bind(1, name.rawValue)
            keep.bind(2, receipt)
            keep.bind(3, trustingVersions ? version : 0)
            try keep.run()
        }
    }

    /// Copies the spaces without their positions, so that each is downloaded again, and with the newest proof of the
    /// server's history (I15). Without one, the cursor takes its place.
    ///
    /// - Returns: the number of spaces, the new keys by the old ones, and whether each space has proof of its history.
    private func takeOverSpaces(
        trustingVersions: Bool
    ) throws -> (count: SalvageReport.Count, keys: [Int64: Int64], isProven: Bool) {
        var keys: [Int64: Int64] = [:]
        var isProven = true
        var saved = 0
        var unreadable = 0
        let isWhole = try damaged.forEachRow(of: "sync_space", by: "key") { row in
            guard let name = row.text("name").flatMap({ SpaceID(rawValue: $0) }) else {
                unreadable += 1
                return
            }
            var space = try SpaceRow.load(name, connection)
            space.notice = max(row.integer("notice") ?? 0, 0)
            space.noticeFingerprint = row.identifier("notice_fingerprint").map(NoticeFingerprint.init(bits:))
            var former = space
            former.phase = row.text("phase").flatMap(SpaceRow.Phase.init(rawValue:)) ?? .empty
            former.version = row.integer("version").flatMap { $0 < 0 ? nil : Version($0) } ?? .zero
            former.cursor = row.text("cursor").map(Cursor.init(rawValue:))
            if let cursor = row.text("receipt"), let version = row.integer("receipt_version"), version >= 0 {
                former.receipt = CommitReceipt(space: name, version: Version(version), cursor: Cursor(rawValue: cursor))
            }
            if trustingVersions, let proof = former.proof {
                space.receipt = proof
            } else if let cursor = former.receipt?.cursor ?? former.cursor {
                // The next receipt replaces one with version 0.
                space.receipt = CommitReceipt(space: name, version: .zero, cursor: cursor)
            } else if row.integer("version") != 0 || row.integer("complete_at") != 0 {
                isProven = false
            }
            try space.save(connection)
            if let key = row.integer("key") { keys[key] = space.key }
            saved += 1
        }
        let lost = lost(saved, unreadable, expected: nil, isWhole: isWhole)
        if lost != 0, keys[Self.defaultKey] == nil {
            // If the row of the space `default` is lost, the records of the space are still copied.
            let space = try SpaceRow.load(.default, connection)
            if !keys.values.contains(space.key) { keys[Self.defaultKey] = space.key }
        }
        return (SalvageReport.Count(saved: saved, lost: lost), keys, isProven && lost == 0)
    }

    /// The key that a new database gives to the space `default`.
    private static let defaultKey: Int64 = 1

    /// Copies the versions of this device's own commits, which are needed when the server loses its history.
    ///
    /// - Returns: whether all of them could be read.
    private func takeOverConfirmed() throws -> Bool {
        var unreadable = 0
        let insert = try connection.prepare(
            "INSERT OR IGNORE INTO sync_confirmed (slot, space, version) VALUES (?1, ?2, ?3)")
        let isWhole = try damaged.forEachRow(of: "sync_confirmed", orderedBy: ["slot"]) { row in
            guard let slot = row.integer("slot"), let space = row.text("space").flatMap({ SpaceID(rawValue: $0) }),
                let version = row.integer("version"), version >= 0, StoreLimits.confirmedSlots.contains(slot)
            else {
                unreadable += 1
                return
            }
            insert.bind(1, slot)
            insert.bind(2, space.rawValue)
            insert.bind(3, version)
            try insert.run()
        }
        return isWhole && unreadable == 0
    }

    /// Copies which records replaced deleted ones, and which references were dropped. The journal needs them to restore
    /// entries.
    private func takeOverReplacements() throws {
        let reference = ["collection", "id", "field", "target", "held"]
        _ = try damaged.forEachRow(of: "sync_dropped_reference", orderedBy: Array(reference.prefix(3))) { row in
            guard row.text("collection").flatMap(CollectionName.init(rawValue:)) != nil,
                row.text("field").flatMap(FieldName.init(rawValue:)) != nil,
                row.bytes("id")?.count == 16, row.bytes("target")?.count == 16, row.bytes("held")?.count ?? 16 == 16
            else { return }
            _ = try copy(row, reference, into: "sync_dropped_reference")
        }
        let columns = ["collection", "id", "replacement"]
        _ = try damaged.forEachRow(of: "sync_replacement", orderedBy: ["collection", "id"]) { row in
            guard row.text("collection").flatMap(CollectionName.init(rawValue:)) != nil,
                row.bytes("id")?.count == 16, row.bytes("replacement")?.count == 16
            else { return }
            _ = try copy(row, columns, into: "sync_replacement")
        }
    }

    /// Copies the last values of deleted records. The journal needs them if the server rejects a saved write.
    private func takeOverDeleted(_ keys: [Int64: Int64]) throws {
        let insert = try connection.prepare(
            "INSERT OR IGNORE INTO sync_deleted (collection, id, space, fields) VALUES (?1, ?2, ?3, ?4)")
        _ = try damaged.forEachRow(of: "sync_deleted", orderedBy: ["collection", "id"]) { row in
            guard let name = row.text("collection"), transaction.tables.contains(where: { $0.name == name }),
                let id = row.bytes("id"), id.count == 16, let space = row.integer("space").flatMap({ keys[$0] }),
                let fields = row.bytes("fields"), (try? StoredForm.patch(from: fields, of: name)) != nil
            else { return }
            insert.bind(1, name)
            insert.bind(2, blob: id)
            insert.bind(3, space)
            insert.bind(4, text: fields)
            try insert.run()
        }
    }

    /// Whether the numbers in the outbox are contiguous up to the next number to assign.
    private func hasNumbersWithoutGaps() throws -> Bool {
        let next = transaction.meta.nextNumber.rawValue
        let statement = try connection.prepare(
            "SELECT count(number), coalesce(min(number), ?1), coalesce(max(number), ?1 - 1) FROM sync_outbox")
        statement.bind(1, next)
        defer { statement.reset() }
        guard try statement.step() else { return false }
        return statement.integer(2) == next - 1 && statement.integer(0) == next - statement.integer(1)
    }

    // MARK: Outbox

    /// Copies the entries of the outbox.
    ///
    /// - Parameters:
    ///   - expected: the number of entries; nil if it is not known.
    ///   - last: the sequence of the newest entry that the outbox has ever had; nil if it is not known.
    private func takeOverOutbox(
        expecting expected: Int?, upTo last: Int64?, now: WallTime
    ) throws -> (count: SalvageReport.Count, numbered: Int) {
        // No sequence may be used again. If nobody knows which ones were used, the milliseconds since 1970 exceed any
        // number of writes.
        transaction.meta.lastSequence = last ?? min(max(now.milliseconds, 0), StoreLimits.largestCount / 2)
        let insert = try connection.prepare(
            """
            INSERT INTO sync_outbox (sequence, space, payload, bytes, number, formerly, attempts, version, written_at,
                refusal_code, refusal_message, checksum)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            """)
        let forgetsResults = isInDoubt
        var unreadable = 0
        var numbers: Set<Int64> = []
        let isWhole = try damaged.forEachRow(of: "sync_outbox", by: "sequence", last: last) {
            row in
            // Values that differ from what was written are not sent. The records may still show the right ones.
            guard let sequence = row.integer("sequence"),
                row.integer("checksum") == row.bytes("payload").map(StoredForm.checksum),
                let entry = try transaction(in: row)
            else {
                unreadable += 1
                return
            }
            var number = row.integer("number")
            if let found = number, found < 0 || !numbers.insert(found).inserted { number = nil }
            let payload = try StoredForm.bytes(of: entry)
            // The reason for holding an entry back is not copied. The next batch decides again.
            insert.bind(1, sequence)
            insert.bind(2, entry.space.rawValue)
            insert.bind(3, text: payload)
            insert.bind(4, Int64(payload.count))
            insert.bind(5, number)
            insert.bind(6, readableFormerNumbers(row.text("formerly")))
            insert.bind(
                7, number == nil ? 0 : row.integer("attempts").flatMap { (0...1 << 30).contains($0) ? $0 : nil } ?? 1)
            let version = number == nil || forgetsResults ? nil : row.integer("version").flatMap { $0 < 0 ? nil : $0 }
            insert.bind(8, version)
            insert.bind(9, min(row.integer("written_at") ?? now.milliseconds, now.milliseconds))
            insert.bind(10, row.text("refusal_code"))
            insert.bind(11, row.text("refusal_message"))
            insert.bind(12, StoredForm.checksum(of: payload))
            try insert.run()
            transaction.meta.lastSequence = max(transaction.meta.lastSequence, sequence)
            count(payload.count, isNumbered: number != nil, isAnswered: version != nil)
        }
        let saved = transaction.meta.outbox.count
        let lost = lost(saved, unreadable, expected: expected, isWhole: isWhole && !repaired.contains("sync_outbox"))
        if lost != 0 || last == nil { try keepUnknownFates(upTo: nil) }
        return (SalvageReport.Count(saved: saved, lost: lost), numbers.count)
    }

    /// Makes the fates of writes up to an entry unknown, because a lost or rejected write must never be reported as
    /// confirmed.
    ///
    /// - Parameter sequence: the last of these entries; nil means all entries so far.
    private func keepUnknownFates(upTo sequence: Int64?) throws {
        let newest = transaction.meta.lastSequence
        let forget = try connection.prepare("UPDATE sync_meta SET fate_unknown_up_to = max(fate_unknown_up_to, ?1)")
        forget.bind(1, min(sequence ?? newest, newest))
        try forget.run()
    }

    /// Returns the transaction of an entry; nil when it cannot be read, or changes a collection that has no table.
    ///
    /// - Throws: `otherSchema` for such a collection, if the salvage refuses other models.
    private func transaction(in row: DamagedRow) throws -> Transaction? {
        guard let payload = row.bytes("payload"),
            let found = try? StoredForm.transaction(from: payload, of: "a saved entry")
        else { return nil }
        let unknown = found.mutations.first { mutation in
            !transaction.tables.contains { $0.model.collection == mutation.collection }
        }
        guard let unknown else { return found }
        guard !refusesOtherModels else {
            throw StoreError(
                .otherSchema,
                "an unconfirmed write changes the collection \(unknown.collection), which the models do not have")
        }
        return nil
    }

    private func readableFormerNumbers(_ text: String?) -> String? {
        (try? FormerNumbers.read(text, of: "a saved entry")).flatMap { FormerNumbers.text(of: $0) }
    }

    private func count(_ bytes: Int, isNumbered: Bool, isAnswered: Bool) {
        transaction.meta.outbox.bytes += bytes
        switch (isNumbered, isAnswered) {
        case (false, _): transaction.meta.outbox.waiting += 1
        case (true, false): transaction.meta.outbox.sent += 1
        case (true, true): transaction.meta.outbox.answered += 1
        }
    }

    /// Links the entries to the records that they change, and computes those records and the ones with a base.
    private func connectOutbox(and places: Set<RecordPlace>) throws {
        var places = places
        try transaction.forEachEntry { entry in
            try transaction.link(entry)
            places.formUnion(try transaction.changedPlaces(of: entry.transaction))
        }
        for place in places.sorted() { try transaction.recompute(place) }
    }

    // MARK: Journal

    private func takeOverJournal(expecting expected: Int?, now: WallTime) throws -> SalvageReport.Count {
        let last = try keepSequence(of: "sync_journal")
        var unreadable = 0
        var saved = 0
        let isWhole = try damaged.forEachRow(of: "sync_journal", by: "number", last: last) { row in
            if try takeOverJournalEntry(row) { saved += 1 } else { unreadable += 1 }
        }
        return SalvageReport.Count(
            saved: saved,
            lost: lost(saved, unreadable, expected: expected, isWhole: isWhole && !repaired.contains("sync_journal")))
    }

    /// Copies a journal entry and its conflicts.
    ///
    /// - Returns: false when the entry cannot be read.
    private func takeOverJournalEntry(_ row: DamagedRow) throws -> Bool {
        guard let number = row.integer("number") else { return false }
        let columns = [
            "number", "at", "sequence", "event", "state", "payload", "code", "message", "mutation", "space", "bytes",
            "records", "fields", "own",
        ]
        // An own part that cannot be read is left out. The entry then goes as a whole with the access to its space.
        let ownPart = row.bytes("own_part").flatMap { try? StoredForm.transaction(from: $0, of: "an own part") }
        guard try copy(row, columns + (ownPart == nil ? [] : ["own_part"]), into: "sync_journal") else { return false }
        let size = try possibleSize(of: number, row.integer("bytes"))
        let conflicts = [
            "journal", "position", "collection", "id", "field", "rule", "base", "winner", "winner_time",
            "winner_client",
            "winner_account", "loser", "loser_time", "loser_client", "loser_account",
        ]
        var isReadable = try damaged.forEachRow(of: "sync_conflict", where: "journal", is: number) {
            row in
            _ = try copy(row, conflicts, into: "sync_conflict")
        }
        do {
            let entry = try JournalReading.entry(number, connection)
            // A merge without its conflicting values is useless.
            switch entry?.event {
            case .merged(let conflicts), .overwritten(let conflicts, deleted: nil):
                isReadable = isReadable && !conflicts.isEmpty
            case .overwritten, .noticesRemoved, .rejected, .cancelled, .lost: isReadable = true
            case nil: isReadable = false
            }
        } catch let error as StoreError where error.code == .corrupt {
            isReadable = false
        }
        guard isReadable else {
            try connection.execute(
                "DELETE FROM sync_conflict WHERE journal = \(number); DELETE FROM sync_journal WHERE number = \(number)"
            )
            return false
        }
        transaction.meta.journal.entries += 1
        transaction.meta.journal.bytes += size
        if row.text("state") == "active" {
            transaction.meta.outbox.activeJournalEntries += 1
            transaction.meta.journal.activeBytes += size
        }
        return true
    }

    /// Returns the stored size of a journal entry. A size that no entry has is replaced by that of its texts.
    private func possibleSize(of number: Int64, _ stored: Int64?) throws -> Int64 {
        if let stored, (0...StoreLimits.largestCount).contains(stored) { return stored }
        let update = try connection.statement(
            """
            UPDATE sync_journal SET bytes = coalesce(length(CAST(payload AS BLOB)), 0)
                + coalesce(length(CAST(records AS BLOB)), 0) + coalesce(length(CAST(own_part AS BLOB)), 0)
                + coalesce(length(CAST(message AS BLOB)), 0) + coalesce(length(CAST(fields AS BLOB)), 0)
            WHERE number = ?1 RETURNING bytes
            """)
        update.bind(1, number)
        var size: Int64 = 0
        while try update.step() { size = update.integer(0) }
        return size
    }

    // MARK: Helpers

    /// Copies a row unchanged.
    ///
    /// - Returns: false when the row violates the table's constraints.
    private func copy(_ row: DamagedRow, _ columns: [String], into table: String) throws -> Bool {
        let names = columns.filter(row.has)
        let places = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let insert = try connection.statement(
            composed: "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(places))")
        for (index, name) in names.enumerated() { row.bind(name, to: insert, at: Int32(index + 1)) }
        do {
            try insert.run()
            return true
        } catch {
            guard error.code == .constraint else { throw error }
            return false
        }
    }

    /// Makes the AUTOINCREMENT sequence of a table continue from its former value.
    ///
    /// - Returns: the last number that was assigned; nil when it cannot be read.
    private func keepSequence(of table: String) throws -> Int64? {
        guard let last = damaged.integer("SELECT seq FROM sqlite_sequence WHERE name = '\(table)'"),
            (0..<FilePage.largestKey).contains(last)
        else { return nil }
        try connection.execute(
            """
            DELETE FROM sqlite_sequence WHERE name = '\(table)';
            INSERT INTO sqlite_sequence (name, seq) VALUES ('\(table)', \(last))
            """)
        return last
    }

    /// Returns the number of lost entries of a table; nil when it cannot be known.
    private func lost(_ saved: Int, _ unreadable: Int, expected: Int?, isWhole: Bool) -> Int? {
        if let expected, !countsMayBeOld { return max(expected - saved, unreadable) }
        return isWhole ? unreadable : nil
    }
}
