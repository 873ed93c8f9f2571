import SQLiteDatabase
import SyncCore
import SyncModel

/// A row of `sync_space`: the device's sync position in one space.
struct SpaceRow: Hashable {
    let key: Int64
    let space: SpaceID
    var cursor: Cursor?
    var version: Version
    /// The number of the last conflict notice that is in the journal.
    var notice: Int64
    /// The fingerprint of this notice; nil if the server has sent none.
    var noticeFingerprint: NoticeFingerprint?
    var phase: Phase
    /// In phase `catchingUp`, the version at which the change feed has caught up with the snapshot.
    ///
    /// In phase `empty`, the version that the server had before the reset. An older snapshot is a contradiction.
    ///
    /// In phase `complete`, the newest version that the last page has announced, if it is above `version`.
    var completeAt: Version
    /// Whether `sync_seen` lists the records of the snapshot in progress.
    var marks: Bool
    /// The number of records that the server had shown when the snapshot in progress began.
    var heldBefore: Int
    /// False after the server has refused access to the space, until it sends a page of the space again.
    var hasAccess: Bool
    /// The newest receipt of the current history; nil when there is none. It stays after the cursor has reached its
    /// version, because the server can compare a receipt even when the cursor is below the horizon.
    var receipt: CommitReceipt?
    /// The collections and records that the snapshot in progress has shown so far.
    var shown: SnapshotExtent

    /// The phases follow each other in this order. A reset returns to `empty`. A change feed that starts at the
    /// beginning skips `snapshot`.
    enum Phase: String {
        case empty
        case snapshot
        case catchingUp = "catching_up"
        case complete
    }

    /// Returns the space as the engine sees it.
    ///
    /// - Parameter clients: the device's client ids, for which it requests notices; nil to request none.
    func stored(for clients: [ClientID]?) -> StoredSpace {
        StoredSpace(
            space: space, cursor: cursor, version: version, isComplete: phase == .complete, hasAccess: hasAccess,
            receipt: receipt,
            notices: clients.map { NoticeRequest(clients: $0, after: notice, fingerprint: noticeFingerprint) })
    }

    /// Whether every commit up to `version` is in the rows.
    var showsItsVersion: Bool {
        switch phase {
        case .empty, .snapshot: false
        case .catchingUp, .complete: true
        }
    }

    /// Whether the last page has announced commits that are not in the rows yet.
    var isBehind: Bool { hasAccess && phase == .complete && version < completeAt }

    private static let columns =
        "key, name, cursor, version, phase, complete_at, marks, has_access, receipt, receipt_version, "
        + "shown_collections, shown_last, shown_rows, notice, held_before, notice_fingerprint"

    private init(_ row: Statement) throws {
        guard let space = SpaceID(rawValue: row.text(1)), let phase = Phase(rawValue: row.text(4)) else {
            throw StoreError(.corrupt, "a row of sync_space cannot be read: '\(row.text(1))', '\(row.text(4))'")
        }
        key = row.integer(0)
        self.space = space
        cursor = row.optionalText(2).map(Cursor.init(rawValue:))
        version = Version(row.integer(3))
        self.phase = phase
        completeAt = Version(row.integer(5))
        marks = row.integer(6) != 0
        hasAccess = row.integer(7) != 0
        receipt = row.optionalText(8).map {
            CommitReceipt(space: space, version: Version(row.integer(9)), cursor: Cursor(rawValue: $0))
        }
        shown = SnapshotExtent(
            collections: row.text(10).split(separator: " ").compactMap { CollectionName(rawValue: String($0)) },
            last: row.isNull(11) ? nil : try row.recordID(11), rows: row.integer(12))
        notice = row.integer(13)
        heldBefore = Int(row.integer(14))
        noticeFingerprint = row.isNull(15) ? nil : NoticeFingerprint(bits: try row.recordID(15).bits)
    }

    /// Returns the row of a space, and inserts it if it is missing, with the receipt that `unfollow` has kept. Must be
    /// called inside a write.
    static func load(_ space: SpaceID, _ connection: Connection) throws -> SpaceRow {
        if let row = try find(space, connection) { return row }
        let insert = try connection.statement(
            """
            INSERT INTO sync_space (name, receipt, receipt_version)
            SELECT ?1, kept.receipt, kept.receipt_version FROM (SELECT 1) LEFT JOIN sync_unfollowed AS kept ON kept.name = ?1
            """)
        insert.bind(1, space.rawValue)
        try insert.run()
        let forget = try connection.statement("DELETE FROM sync_unfollowed WHERE name = ?1")
        forget.bind(1, space.rawValue)
        try forget.run()
        guard let row = try find(space, connection) else {
            throw StoreError(.corrupt, "the space \(space) could not be stored")
        }
        return row
    }

    /// Returns the row of a space by its key, which some row of a record names.
    static func load(key: Int64, _ connection: Connection) throws -> SpaceRow {
        let select = try connection.statement(composed: "SELECT \(columns) FROM sync_space WHERE key = ?1")
        select.bind(1, key)
        defer { select.reset() }
        guard try select.step() else {
            throw StoreError(.corrupt, "a record is in a space with the key \(key), which does not exist")
        }
        return try SpaceRow(select)
    }

    /// Returns the row of a space; nil when the device does not follow it.
    static func find(_ space: SpaceID, _ connection: Connection) throws -> SpaceRow? {
        let select = try connection.statement(
            """
            SELECT key, name, cursor, version, phase, complete_at, marks, has_access, receipt, receipt_version,
                shown_collections, shown_last, shown_rows, notice, held_before, notice_fingerprint
            FROM sync_space WHERE name = ?1
            """)
        select.bind(1, space.rawValue)
        defer { select.reset() }
        return try select.step() ? try SpaceRow(select) : nil
    }

    /// Deletes the row, and keeps the newest proof of the server's history. Nothing may refer to the row's key anymore.
    func delete(_ connection: Connection) throws {
        if let proof {
            let keep = try connection.statement(
                "INSERT OR REPLACE INTO sync_unfollowed (name, receipt, receipt_version) VALUES (?1, ?2, ?3)")
            keep.bind(1, space.rawValue)
            keep.bind(2, proof.cursor.rawValue)
            keep.bind(3, proof.version.rawValue)
            try keep.run()
        }
        let delete = try connection.statement("DELETE FROM sync_space WHERE key = ?1")
        delete.bind(1, key)
        try delete.run()
    }

    /// The newest proof of the server's history: the receipt or, if it shows a newer version, the cursor.
    var proof: CommitReceipt? {
        guard showsItsVersion, let cursor, version > receipt?.version ?? .zero else { return receipt }
        return CommitReceipt(space: space, version: version, cursor: cursor)
    }

    /// Returns all spaces, ordered by name.
    static func all(_ connection: Connection) throws -> [SpaceRow] {
        let select = try connection.statement(composed: "SELECT \(columns) FROM sync_space ORDER BY name")
        defer { select.reset() }
        var rows: [SpaceRow] = []
        while try select.step() { rows.append(try SpaceRow(select)) }
        return rows
    }

    /// Returns all spaces as the engine sees them.
    static func allStored(
        of meta: Meta, _ limits: StoreLimits, _ connection: Connection
    ) throws -> [StoredSpace] {
        let clients = try Notices.clients(meta, limits, connection)
        return try all(connection).map { $0.stored(for: clients) }
    }

    func save(_ connection: Connection) throws {
        let update = try connection.statement(
            """
            UPDATE sync_space SET cursor = ?2, version = ?3, phase = ?4, complete_at = ?5, marks = ?6, has_access = ?7,
                receipt = ?8, receipt_version = ?9, shown_collections = ?10, shown_last = ?11,
                shown_rows = ?12, notice = ?13, held_before = ?14, notice_fingerprint = ?15
            WHERE key = ?1
            """)
        update.bind(1, key)
        update.bind(2, cursor?.rawValue)
        update.bind(3, version.rawValue)
        update.bind(4, phase.rawValue)
        update.bind(5, completeAt.rawValue)
        update.bind(6, marks ? 1 : 0)
        update.bind(7, hasAccess ? 1 : 0)
        update.bind(8, receipt?.cursor.rawValue)
        update.bind(9, receipt?.version.rawValue)
        update.bind(10, shown.collections.map(\.rawValue).joined(separator: " "))
        if let last = shown.last { update.bind(11, last) } else { update.bind(11, blob: nil) }
        update.bind(12, shown.rows)
        update.bind(13, notice)
        update.bind(14, Int64(heldBefore))
        if let noticeFingerprint {
            update.bind(15, RecordID(bits: noticeFingerprint.bits))
        } else {
            update.bind(15, blob: nil)
        }
        try update.run()
    }
}
