import SQLiteDatabase
import SyncCore
import SyncModel

// Applies a page together with its cursor.
extension WriteTransaction {
    func apply(
        _ page: PullPage, after cursor: Cursor?, brake: DeleteBrake?, now: WallTime
    ) throws -> ApplyResult {
        guard meta.epoch == page.epoch else {
            throw StoreError(
                .contradiction,
                "a page of epoch \(page.epoch) for a database of epoch \(meta.epoch?.rawValue ?? "none")")
        }
        guard let before = try SpaceRow.find(page.space, connection) else {
            // The device has stopped following the space while the page was on its way.
            rollsBack = true
            return .applied(StoredSpace(unfollowed: page.space), outbox: meta.outbox, changedRecords: 0)
        }
        var space = before
        guard space.cursor == cursor else {
            return .applied(try stored(space), outbox: meta.outbox, changedRecords: 0)
        }
        try checkRoom(for: page)
        // This makes a later edit of the page's records get a later time, even if the device's clock is slow.
        try observe(page.serverTime, now: now)
        // This comes before the page deletes anything, so that the journal keeps deleted records whole.
        try noteNotices(of: page, in: &space, now: now)
        let changed: Int
        switch page.content {
        case .snapshot(let groups, let isFirst, let isLast):
            changed = try applySnapshot(groups, isFirst: isFirst, of: page, to: &space, now: now)
            if isLast {
                let gone = try recordsNotShown(in: space)
                // The total is the count before the snapshot: records that came with the snapshot must not hide the
                // loss of others.
                if let brake, brake.stops(deleting: gone.count, of: space.heldBefore) {
                    rollsBack = true
                    return .braked(deletes: gone.count, of: space.heldBefore)
                }
                try sweep(gone, in: space, now: now)
                if space.marks { try sweepForeign(in: space) }
                try forgetMarks(of: &space)
                space.phase = .catchingUp
                space.completeAt = page.head
                space.shown = SnapshotExtent()
            }
        case .commits(let commits):
            guard let count = try applyCommits(commits, of: page, to: &space, now: now) else {
                // This page is late: its commits are already applied. The cursor must not go back.
                return .applied(try stored(space), outbox: meta.outbox, changedRecords: 0)
            }
            changed = count
        }
        if let brake, let stopped = try stops(brake) {
            rollsBack = true
            return stopped
        }
        if space.phase == .catchingUp, space.version >= space.completeAt || page.endsFeed { space.phase = .complete }
        if space.phase == .complete {
            // Clients of other processes learn from this that more is on its way. Without more, nothing changes, so
            // that a poll writes nothing.
            space.completeAt = page.head > page.version ? page.head : min(space.completeAt, page.version)
        }
        space.cursor = page.cursor
        space.hasAccess = true
        if case .commits(let commits) = page.content, commits.isEmpty, space == before {
            // The page brings nothing, so even the server's time is not saved. A poll while nothing happens writes
            // nothing and wakes nobody.
            rollsBack = true
            return .applied(try stored(space), outbox: meta.outbox, changedRecords: 0)
        }
        meta.hasExchanged = true
        try space.save(connection)
        if space.showsItsVersion { try confirmAnswered(in: space) }
        return .applied(try stored(space), outbox: meta.outbox, changedRecords: changed)
    }

    /// Returns the result of a page that takes many records of a lost history away from another space; nil if it takes
    /// few.
    private func stops(_ brake: DeleteBrake) throws -> ApplyResult? {
        for (key, count) in takenAway.sorted(by: { $0.key < $1.key }) {
            let total = try shownCount(in: try SpaceRow.load(key: key, connection)) + count
            if brake.stops(deleting: count, of: total) { return .braked(deletes: count, of: total) }
        }
        return nil
    }

    /// Throws when the device has no room for the contents of a page, so that a server cannot fill the disk.
    private func checkRoom(for page: PullPage) throws {
        if case .commits(let commits) = page.content, commits.isEmpty, page.notices.isEmpty { return }
        let pages = try connection.integer(of: "PRAGMA page_count") - connection.integer(of: "PRAGMA freelist_count")
        let bytes = try Int64(pages) * Int64(connection.integer(of: "PRAGMA page_size"))
        guard bytes < limits.databaseBytes else {
            throw StoreError(
                .databaseFull,
                "the database holds \(bytes) bytes; downloads stop at \(limits.databaseBytes) bytes (setting store.database-bytes)"
            )
        }
        // The journal offers what the server has lost, and this data is kept nowhere else.
        if isJournalFull, try followsLostHistory() {
            throw journalFull(before: "the device compares its data with a restored server")
        }
    }

    /// The error for a page that cannot have everything that this history has shown.
    private static func olderThanShown(_ page: String, _ shown: Version) -> StoreError {
        StoreError(
            .contradiction,
            "\(page), after version \(shown) was shown: the server was restored from a backup, or this database is damaged; ask the server's operator to run syncd epoch renew"
        )
    }

    /// Removes answered entries whose effects the base now includes.
    private func confirmAnswered(in space: SpaceRow) throws {
        let entries = try answeredEntries(in: space.space, upTo: space.version)
        for entry in entries { try rememberConfirmed(entry, in: space) }
        if !entries.isEmpty { try removeAndRecompute(entries) }
    }

    // MARK: Snapshot

    private func applySnapshot(
        _ groups: [SnapshotRows], isFirst: Bool, of page: PullPage, to space: inout SpaceRow, now: WallTime
    ) throws -> Int {
        if isFirst {
            let floor = max(space.version, space.phase == .empty ? space.completeAt : .zero)
            guard page.version >= floor else {
                throw Self.olderThanShown("a snapshot of \(space.space) at version \(page.version)", floor)
            }
            try forgetMarks(of: &space)
            space.phase = .snapshot
            space.version = page.version
            space.completeAt = .zero
            space.shown = SnapshotExtent()
            space.marks = try holdsShownRecords(in: space)
            if space.marks { try storeBases() }
            space.heldBefore = space.marks ? try shownCount(in: space) : 0
        } else {
            guard space.phase == .snapshot, space.version == page.version else {
                throw StoreError(
                    .contradiction,
                    "a page of a snapshot at version \(page.version) of \(space.space), which is \(space.phase.rawValue) at \(space.version)"
                )
            }
        }
        let mayBePending = try anyPending()
        let followsLostHistory = try followsLostHistory()
        // Rows of other spaces may hold old uids too, because their own snapshots are still to come.
        mayHoldOldUIDs = space.marks || mayBePending || followsLostHistory
        if space.marks { freshSnapshot = space.key }
        var lost: [LostEdits] = []
        var count = 0
        for group in groups {
            try space.shown.extend(by: group, of: space.space, head: page.head)
            guard knows(group.collection) else {
                try applyForeign(group, to: space)
                count += group.records.count
                continue
            }
            let table = try table(group.collection, orElse: .contradiction)
            for record in group.records {
                try check(record.uid, of: record.id, in: table)
                guard record.version > .zero else {
                    throw StoreError(.contradiction, "\(table.name) \(record.id) has version \(record.version)")
                }
                let place = RecordPlace(table: table.position, id: record.id)
                var isPending = false
                if mayBePending { isPending = try hasPending(place) }
                if followsLostHistory {
                    lost += try edits(lostFrom: record, at: place, in: space.key, isPending: isPending)
                }
                if isPending {
                    try rebase(place, on: .shown(record), in: space.key)
                } else {
                    try write(StoredRow(record: record, space: space.key), to: table)
                }
                if space.marks { try markSeen(place, in: space) }
                count += 1
            }
        }
        try offer(lost: lost, now: now)
        return count
    }

    private func check(_ uid: UID, of id: RecordID, in table: RecordTable) throws {
        guard uid.isValid else {
            throw StoreError(
                .contradiction, "the server shows \(table.name) \(id) with the uid \(uid); expected 0 or more")
        }
    }

    /// Whether the space already has rows that a snapshot must be compared with.
    private func holdsShownRecords(in space: SpaceRow) throws -> Bool {
        for table in tables {
            let statement = try connection.statement(
                composed: "SELECT 1 FROM \(table.quoted) WHERE sync_space = ?1 LIMIT 1")
            statement.bind(1, space.key)
            defer { statement.reset() }
            if try statement.step() { return true }
        }
        if try holdsForeign(in: space) { return true }
        let statement = try connection.statement(
            "SELECT 1 FROM sync_base WHERE is_deleted = 0 AND space = ?1 LIMIT 1")
        statement.bind(1, space.key)
        defer { statement.reset() }
        return try statement.step()
    }

    private func markSeen(_ place: RecordPlace, in space: SpaceRow) throws {
        let statement = try connection.statement(
            "INSERT OR IGNORE INTO sync_seen (space, collection, id) VALUES (?1, ?2, ?3)")
        statement.bind(1, space.key)
        statement.bind(2, tables[place.table].name)
        statement.bind(3, place.id)
        try statement.run()
    }

    func forgetMarks(of space: inout SpaceRow) throws {
        guard space.marks else { return }
        let statement = try connection.statement("DELETE FROM sync_seen WHERE space = ?1")
        statement.bind(1, space.key)
        try statement.run()
        space.marks = false
    }

    /// Returns the number of records of the space that a server has shown.
    private func shownCount(in space: SpaceRow) throws -> Int {
        var count = 0
        for table in tables { count += try shownCount(in: table, of: space) }
        return count
    }

    /// Returns the number of records of a collection that a server has shown in the space.
    func shownCount(in table: RecordTable, of space: SpaceRow) throws -> Int {
        let all = try connection.statement(
            composed:
                """
                SELECT (SELECT count(*) FROM \(table.quoted) AS live WHERE sync_space = ?1 AND NOT EXISTS
                    (SELECT 1 FROM sync_pending WHERE collection = ?2 AND id = live.id AND link = 'changes'))
                + (SELECT count(*) FROM sync_base WHERE collection = ?2 AND is_deleted = 0 AND space = ?1)
                """)
        all.bind(1, space.key)
        all.bind(2, table.name)
        defer { all.reset() }
        return try all.step() ? Int(all.integer(0)) : 0
    }

    /// Returns the records that a server once showed in the space, and that the completed snapshot does not contain.
    private func recordsNotShown(in space: SpaceRow) throws -> [RecordPlace] {
        var gone: [RecordPlace] = []
        guard space.marks else { return gone }
        for table in tables {
            // Selects the missing ones among current rows, and among records that are deleted here but not yet on the
            // server. They are few compared with the snapshot.
            let missing = try connection.statement(
                composed:
                    """
                    SELECT id FROM \(table.quoted) AS live WHERE sync_space = ?1 AND NOT EXISTS
                        (SELECT 1 FROM sync_seen WHERE space = ?1 AND collection = ?2 AND id = live.id)
                    UNION
                    SELECT id FROM sync_base AS live WHERE collection = ?2 AND is_deleted = 0 AND space = ?1
                        AND NOT EXISTS (SELECT 1 FROM sync_seen WHERE space = ?1 AND collection = ?2 AND id = live.id)
                    ORDER BY id
                    """)
            missing.bind(1, space.key)
            missing.bind(2, table.name)
            for place in try places(in: table, from: missing) where try isGone(place, from: space) {
                gone.append(place)
            }
        }
        return gone
    }

    /// Whether a record that the snapshot does not contain was shown in this space before.
    private func isGone(_ place: RecordPlace, from space: SpaceRow) throws -> Bool {
        guard try hasPending(place) else { return true }
        let (base, home) = try shownBase(place)
        return base.record != nil && home == space.key
    }

    private func sweep(_ places: [RecordPlace], in space: SpaceRow, now: WallTime) throws {
        var lost: Set<RecordPlace> = []
        for place in places where try isOnlyInLostHistory(place) { lost.insert(place) }
        try offer(lost: lost.sorted(), in: space, now: now)
        try keepValues(ofDeleted: places, in: space)
        for place in places {
            if try hasPending(place) {
                if lost.contains(place) { try dropBase(place) } else { try setBase(place, .deleted, in: space.key) }
                try recompute(place)
            } else {
                try deleteRow(place)
            }
        }
    }

    /// Whether only a lost history has shown the record.
    ///
    /// A server that was restored from a backup has not deleted such a record: the server does not know the record yet.
    /// The device that created the record may still send it (I15).
    private func isOnlyInLostHistory(_ place: RecordPlace) throws -> Bool {
        let shown = try hasPending(place) ? try base(place).record : try row(place)?.record
        return shown?.version == .zero
    }

    // MARK: Feed

    /// Applies the commits of a page.
    ///
    /// - Returns: the number of changes; nil when the page is older than the rows.
    private func applyCommits(
        _ commits: [Commit], of page: PullPage, to space: inout SpaceRow, now: WallTime
    ) throws -> Int? {
        guard space.phase != .snapshot else {
            throw StoreError(.contradiction, "a page of the feed of \(space.space), whose snapshot is not finished")
        }
        if space.phase == .empty {
            // The server sends its history from the start, so no snapshot is needed.
            try forgetMarks(of: &space)
            guard page.head >= space.completeAt else {
                throw Self.olderThanShown(
                    "the change feed of \(space.space) up to version \(page.head)", space.completeAt)
            }
            space.phase = .catchingUp
            space.version = .zero
            space.completeAt = page.head
        }
        if page.version < space.version { return nil }
        let mayBePending = try anyPending()
        // Until all spaces are complete, rows of an older history may hold uids that the server now gives to other
        // records.
        let followsLostHistory = try followsLostHistory()
        mayHoldOldUIDs = mayBePending || space.phase != .complete || followsLostHistory
        var lost: [LostEdits] = []
        var count = 0
        var last: Version?
        for commit in commits {
            if let last, commit.version <= last {
                throw StoreError(
                    .contradiction, "the page of \(space.space) goes back from version \(last) to \(commit.version)")
            }
            last = commit.version
            if commit.version <= space.version { continue }
            guard commit.version == space.version.next else {
                throw StoreError(
                    .contradiction,
                    "the page of \(space.space) has a gap: version \(commit.version) after \(space.version)")
            }
            try keepValues(ofDeleted: try placesDeleted(by: commit), in: space)
            for change in commit.changes {
                guard knows(change.collection) else {
                    try applyForeign(change, at: commit.version, in: space)
                    count += 1
                    continue
                }
                if followsLostHistory { lost += try edits(lostBy: change, at: commit.version, in: space) }
                try apply(change, at: commit.version, in: space, mayBePending: mayBePending)
                count += 1
            }
            space.version = commit.version
        }
        guard space.version == page.version else {
            throw StoreError(
                .contradiction,
                "the page of \(space.space) ends at version \(space.version); expected \(page.version), as it announces"
            )
        }
        try offer(lost: lost, now: now)
        return count
    }

    private func placesDeleted(by commit: Commit) throws -> [RecordPlace] {
        var places: [RecordPlace] = []
        for change in commit.changes where change.effect == .deleted && knows(change.collection) {
            places.append(
                RecordPlace(table: try table(change.collection, orElse: .contradiction).position, id: change.id))
        }
        return places
    }

    /// Returns a lost history's edits of a record that the current history creates again.
    private func edits(
        lostBy change: RecordChange, at version: Version, in space: SpaceRow
    ) throws -> [LostEdits] {
        guard case .created(let uid, let patch) = change.effect else { return [] }
        let table = try table(change.collection, orElse: .contradiction)
        let place = RecordPlace(table: table.position, id: change.id)
        let record = Record(id: change.id, uid: uid, version: version, creating: patch, schema: table.model)
        return try edits(lostFrom: record, at: place, in: space.key, isPending: try hasPending(place))
    }

    private func apply(
        _ change: RecordChange, at version: Version, in space: SpaceRow, mayBePending: Bool
    ) throws {
        let table = try table(change.collection, orElse: .contradiction)
        let place = RecordPlace(table: table.position, id: change.id)
        var isPending = false
        if mayBePending { isPending = try hasPending(place) }
        if !isPending, case .updated(let patch) = change.effect,
            try updateOlderRow(of: place, with: patch, at: version, in: space.key)
        {
            return
        }
        let (old, home): (Base, Int64?)
        var key: Int64?
        if isPending {
            (old, home) = try shownBase(place)
        } else if let row = try row(place) {
            (old, home) = (.shown(row.record), row.space)
            key = row.key
        } else {
            (old, home) = (.absent, nil)
        }
        if old.record?.version == .zero, home != space.key {
            // Only a lost history has shown this record, in another space, whose own snapshot will remove it. Unless
            // this change creates the record, the record was created and deleted in this space before the snapshot
            // reached it.
            guard case .created = change.effect else { return }
        }
        let new = try base(old, after: change, at: version, in: table, isComplete: space.phase == .complete)
        guard new != old else { return }
        if isPending {
            try rebase(place, on: new, in: space.key)
        } else if let key, let record = new.record, case .updated(let patch) = change.effect, home == space.key,
            record.unknown == old.record?.unknown, patch.count <= StoreLimits.fieldsOfPartialUpdate
        {
            try update(record, at: key, fields: patch, in: table)
        } else if let record = new.record {
            try write(StoredRow(record: record, space: space.key), to: table)
        } else {
            try deleteRow(place)
        }
    }

    /// Writes new values into the row of a record that no later commit has changed, as almost every change of the feed
    /// does. The other values of the row are not read.
    ///
    /// - Returns: false if the row is another one, or has to be read. Nothing has changed then.
    private func updateOlderRow(
        of place: RecordPlace, with patch: Patch, at version: Version, in space: Int64
    ) throws -> Bool {
        let table = tables[place.table]
        guard patch.count <= StoreLimits.fieldsOfPartialUpdate,
            let row = try table.rowWithoutValues(of: place.id, on: connection), let key = row.key,
            row.space == space, row.record.version < version
        else { return false }
        let record = row.record.updated(by: patch, at: version, schema: table.model)
        guard record.unknown == row.record.unknown else { return false }
        try update(record, at: key, fields: patch, in: table)
        return true
    }

    /// Returns the base of a record after a change.
    ///
    /// - Parameter isComplete: whether the rows include every change up to here. Before that, rows may be ahead of the
    ///   feed, because the pages of a snapshot are read at different times.
    private func base(
        _ base: Base, after change: RecordChange, at version: Version, in table: RecordTable, isComplete: Bool
    ) throws -> Base {
        if isComplete, let record = base.record, record.version >= version {
            throw StoreError(
                .contradiction,
                "version \(version) changes \(table.name) \(change.id), which has version \(record.version) here")
        }
        switch (change.effect, base) {
        case (.created(let uid, let patch), .absent):
            try check(uid, of: change.id, in: table)
            return .shown(Record(id: change.id, uid: uid, version: version, creating: patch, schema: table.model))
        case (.created, .shown(let record)) where isComplete && record.version > .zero:
            throw StoreError(
                .contradiction,
                "version \(version) creates \(table.name) \(change.id), which exists since \(record.version)")
        case (.created(let uid, let patch), .shown(let record)) where record.version == .zero:
            // A lost history has shown it, and the current one creates it again.
            try check(uid, of: change.id, in: table)
            return .shown(Record(id: change.id, uid: uid, version: version, creating: patch, schema: table.model))
        case (.created(_, let patch), .shown(let record)):
            return .shown(
                record.updated(by: patch, at: version, schema: table.model).withFields(sinceAtLeast: version))
        case (.updated(let patch), .shown(let record)):
            return .shown(record.updated(by: patch, at: version, schema: table.model))
        case (.updated, .absent):
            guard !isComplete else {
                throw StoreError(
                    .contradiction, "version \(version) updates \(table.name) \(change.id), which does not exist here")
            }
            // The record was deleted before the snapshot reached it. A later commit of the feed deletes it.
            return .absent
        case (.created, .deleted), (.updated, .deleted):
            // A deleted record does not come back.
            return .deleted
        case (.deleted, .shown), (.deleted, .deleted):
            return .deleted
        case (.deleted, .absent):
            return .absent
        }
    }
}

extension PullPage {
    /// Whether the device has all commits of the space after this page. The server may have announced a later version
    /// before, falsely.
    fileprivate var endsFeed: Bool {
        if case .commits = content { !hasMore && version >= head } else { false }
    }
}
