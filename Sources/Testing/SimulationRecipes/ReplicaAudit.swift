import SyncCore
import SyncModel
import SyncSimulation

/// A reader of the facts in a device store's file.
struct ReplicaAudit: ReplicaInspector {
    private let inspector: SQLiteInspector
    private let process: DiskProcess
    private let file: String

    init(of file: String, on process: DiskProcess) throws {
        inspector = try SQLiteInspector(file, on: process)
        self.process = process
        self.file = file
    }

    func facts() throws -> ReplicaFacts {
        var facts = ReplicaFacts()
        facts.walBytes = process.disk.size(of: file + "-wal") ?? 0
        let models = try models()
        for schema in models {
            facts.bases[schema.collection] = try bases(of: schema)
        }
        facts.dangling = try recordsWithoutRequired(of: models)
        try inspector.each("SELECT last_sequence FROM sync_meta") { row in
            facts.lastSequence = row.integer(0)
        }
        var active: Int64 = 0
        var (journalBytes, activeBytes): (Int64, Int64) = (0, 0)
        try inspector.each(
            """
            SELECT number, state = 'active',
                event IN ('merged', 'overwritten', 'notices_removed') OR event = 'lost' AND own = 0 AND own_part IS NULL, space, bytes
            FROM sync_journal
            """
        ) { row in
            journalBytes += row.integer(4)
            activeBytes += row.integer(1) * row.integer(4)
            facts.journal[row.integer(0)] = row.integer(1) != 0
            if row.integer(2) != 0, let space = SpaceID(rawValue: row.text(3)) {
                facts.journalOfOthers[row.integer(0)] = space
            }
            active += row.integer(1)
        }
        facts.shown = try shown(of: models)
        try inspector.each(
            "SELECT count(*) FROM sync_conflict WHERE NOT EXISTS (SELECT 1 FROM sync_journal WHERE number = journal)"
        ) { facts.unexpectedConflicts = Int($0.integer(0)) }
        var counts: (waiting: Int64, held: Int64, sent: Int64, answered: Int64) = (0, 0, 0, 0)
        try inspector.each(
            """
            SELECT number IS NULL, version IS NULL, length(CAST(payload AS BLOB)), held_for IS NOT NULL
            FROM sync_outbox
            """
        ) { row in
            if row.integer(3) != 0 { counts.held += 1 }
            facts.outboxEntries += 1
            facts.outboxBytes += row.integer(2)
            switch (row.integer(0) != 0, row.integer(1) != 0) {
            case (true, _): counts.waiting += 1
            case (false, true): counts.sent += 1
            case (false, false): counts.answered += 1
            }
        }
        try inspector.each(
            """
            SELECT waiting, held, sent, answered, outbox_bytes, active_journal_entries, journal_entries, journal_bytes,
                active_journal_bytes
            FROM sync_meta
            """
        ) { row in
            let kept = (0..<9).map { row.integer($0) }
            let true_ = [
                counts.waiting, counts.held, counts.sent, counts.answered, facts.outboxBytes, active,
                Int64(facts.journal.count), journalBytes, activeBytes,
            ]
            for (name, pair) in zip(Self.countNames, zip(kept, true_))
            where pair.0 != pair.1 {
                facts.wrongCounts.append("\(name) \(pair.0), not \(pair.1)")
            }
        }
        for table in ["sync_pending", "sync_base", "sync_seen", "sync_former"] {
            try inspector.each("SELECT count(*) FROM \(table)") { facts.transients[table] = Int($0.integer(0)) }
        }
        return facts
    }

    /// Returns the models of `WorldCatalog` that have a table. A file of an earlier build lacks some of the tables.
    private func models() throws -> [ModelSchema] {
        var tables: Set<String> = []
        try inspector.each("SELECT name FROM sqlite_master WHERE type = 'table'") { tables.insert($0.text(0)) }
        return WorldCatalog.catalog.models.filter { tables.contains($0.collection.rawValue) }
    }

    /// Returns the records whose required references lead to no record.
    private func recordsWithoutRequired(of models: [ModelSchema]) throws -> [String] {
        var dangling: [String] = []
        for schema in models {
            for field in schema.fields where field.isRequired {
                guard let target = field.target else { continue }
                try inspector.each(
                    """
                    SELECT hex(id) FROM "\(schema.collection)" AS live
                    WHERE NOT EXISTS (SELECT 1 FROM "\(target)" AS needed WHERE needed.id = live."\(field.name)")
                    AND NOT EXISTS (SELECT 1 FROM sync_pending WHERE sync_pending.id IN (live.id, live."\(field.name)"))
                    """
                ) { dangling.append("\(schema.collection) \($0.text(0))") }
            }
        }
        return dangling
    }

    private static let countNames = [
        "waiting", "held", "sent", "answered", "bytes", "active journal entries", "journal entries", "journal bytes",
        "active journal bytes",
    ]

    /// Returns the number of records in each space that the server has shown: the records without pending changes, or
    /// whose base follows from the row, and the stored bases.
    private func shown(of models: [ModelSchema]) throws -> [SpaceID: Int] {
        var counts: [SpaceID: Int] = [:]
        let settled = models.map { schema in
            """
            SELECT sync_space FROM "\(schema.collection)" AS live
            WHERE NOT EXISTS (SELECT 1 FROM sync_pending WHERE sync_pending.id = live.id)
                OR version > 0 AND NOT EXISTS (SELECT 1 FROM sync_base WHERE sync_base.id = live.id)
            """
        }
        let all = (settled + ["SELECT space FROM sync_base WHERE is_deleted = 0"]).joined(separator: " UNION ALL ")
        try inspector.each(
            "SELECT name, count(*) FROM (\(all)) AS held JOIN sync_space ON key = held.sync_space GROUP BY name"
        ) { row in
            if let space = SpaceID(rawValue: row.text(0)) { counts[space] = Int(row.integer(1)) }
        }
        return counts
    }

    func outbox() throws -> [OutboxRow] {
        var rows: [OutboxRow] = []
        try inspector.each(
            """
            SELECT sequence, json_array(space, number, attempts, version, written_at) || payload FROM sync_outbox
            ORDER BY sequence
            """
        ) { rows.append(OutboxRow(sequence: OutboxSequence(rawValue: $0.integer(0)), bytes: $0.bytes(1))) }
        return rows
    }

    /// Returns the versions of the base for records with pending changes, and of the row for all others. The versions
    /// of a base that is not stored are those of the row.
    private func bases(of schema: ModelSchema) throws -> [RecordID: ReplicaFacts.Base] {
        var bases: [RecordID: ReplicaFacts.Base] = [:]
        let name = schema.collection.rawValue
        try inspector.each("SELECT id, version, sync_fields FROM \"\(name)\"") { row in
            let version = Version(row.integer(1))
            bases[try id(row.bytes(0))] = ReplicaFacts.Base(
                version: version, fields: row.isNull(2) ? [] : try versions(row.bytes(2)))
        }
        try inspector.each("SELECT DISTINCT id FROM sync_pending WHERE collection = '\(name)' AND link = 'changes'") {
            row in
            let id = try id(row.bytes(0))
            if bases[id]?.version == .zero { bases[id] = nil }
        }
        try inspector.each(
            "SELECT id, version, field_versions FROM sync_base WHERE collection = '\(name)' AND is_deleted = 0"
        ) { row in
            let version = Version(row.integer(1))
            bases[try id(row.bytes(0))] = ReplicaFacts.Base(
                version: version, fields: row.isNull(2) ? [] : try versions(row.bytes(2)))
        }
        return bases
    }

    private func id(_ bytes: [UInt8]) throws -> RecordID {
        guard let bits = bytes.withUnsafeBytes({ Identifier128(bytes: $0) }) else {
            throw SQLiteInspector.Failure(description: "an id of \(bytes.count) bytes")
        }
        return RecordID(bits: bits)
    }

    /// Decodes varints of 7 bits per byte, least significant first.
    private func versions(_ bytes: [UInt8]) throws -> [Version] {
        var versions: [Version] = []
        var (value, shift) = (UInt64(0), UInt64(0))
        for byte in bytes {
            value |= UInt64(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 == 0 {
                versions.append(Version(Int64(bitPattern: value)))
                (value, shift) = (0, 0)
            }
            guard shift < 64 else { throw SQLiteInspector.Failure(description: "the versions of fields do not end") }
        }
        return versions
    }
}
