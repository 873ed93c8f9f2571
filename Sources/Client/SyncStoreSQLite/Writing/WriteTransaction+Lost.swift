import SQLiteDatabase
import SyncCore
import SyncModel

// Offers records and edits of a lost history in the journal, so that they do not silently disappear (I15).
//
// A server that was restored from a backup has lost everything that it confirmed after the backup. A device cannot know
// whether a missing record was lost or has been deleted since. Bringing it back automatically could undo a deletion.
extension WriteTransaction {
    /// Saves the versions that all records and fields have in the lost history. Must be called before these versions
    /// are cleared.
    func rememberFormerVersions() throws {
        for table in tables {
            let statement = try connection.statement(
                composed:
                    """
                    INSERT OR REPLACE INTO sync_former (collection, id, version, field_versions)
                    SELECT ?1, id, version, sync_fields FROM \(table.quoted) WHERE version > 0
                    UNION ALL
                    SELECT collection, id, version, field_versions FROM sync_base
                    WHERE collection = ?1 AND is_deleted = 0 AND version > 0
                    """)
            statement.bind(1, table.name)
            try statement.run()
        }
        try markOwnFormerVersions()
    }

    /// Whether some records still have former versions that the current history has not been compared with.
    func followsLostHistory() throws -> Bool {
        let statement = try connection.statement("SELECT 1 FROM sync_former LIMIT 1")
        defer { statement.reset() }
        return try statement.step()
    }

    /// Returns the edits of a record that the current history has lost. Deletes the former versions of the record.
    ///
    /// - Parameters:
    ///   - record: the record as the current history shows it for the first time.
    ///   - space: the key of the space in which the current history shows it.
    func edits(
        lostFrom record: Record, at place: RecordPlace, in space: Int64, isPending: Bool
    ) throws -> [LostEdits] {
        let model = tables[place.table].model
        guard let former = try takeFormerVersions(of: place), let old = try shown(place, isPending: isPending),
            old.record.version == .zero
        else { return [] }
        if let home = old.space, home != space { return try takeAway(place, former, from: home) }
        try rememberOwnVersions(former, of: old.record, shownAs: record, in: space)
        let versions = Self.withoutMarks(former, ofFieldsEmptySinceCreation: old.record)
        var edits = old.record.edits(lostBy: record, former: versions, schema: model)
        if isPending {
            let pending = try pendingEdits(of: place, in: space)
            // The user has seen these values and replaced them, or the device still sends them.
            edits.removeAll { lost in
                pending.contains { $0.field == lost.field && ($0.before == lost.value || $0.value == lost.value) }
            }
        }
        edits = edits.map { edit in
            // A field with a later version than it had here was written after the backup, and so was one with the same
            // version and another value. Its entry then says that the field has changed since.
            guard let position = model.position(of: edit.field), !record.isEmptySinceCreation(position),
                let version = Self.unmarked(former[position]), version <= edit.seen
            else { return edit }
            return FieldEdit(field: edit.field, value: edit.value, before: edit.value, seen: version)
        }
        let isOwn = { (edit: FieldEdit) in model.position(of: edit.field).map { Self.isOwn(former[$0]) } ?? false }
        return [true, false].compactMap { own in
            let part = edits.filter { isOwn($0) == own }
            guard !part.isEmpty else { return nil }
            let mutation = Mutation(
                collection: model.collection, record: place.id, time: .zero, intent: .update(part))
            return LostEdits(space: space, mutation: mutation, own: own ? .all : .nothing)
        }
    }

    /// Returns the create of a record that the current history shows in another space than the lost one did.
    ///
    /// Versions of two spaces cannot be compared, and the values of a space are for its members only. Therefore, the
    /// whole record counts as lost, and its own space is offered all its values.
    private func takeAway(_ place: RecordPlace, _ former: [Version], from home: Int64) throws -> [LostEdits] {
        takenAway[home, default: 0] += 1
        guard let creation = try creation(ofLost: place, in: try SpaceRow.load(key: home, connection).space),
            let record = try base(place).record ?? row(place)?.record
        else { return [] }
        if Self.areOwn(record, former) { return [LostEdits(space: home, mutation: creation, own: .all)] }
        let part = try ownChange(ofLost: place, former, in: home)
        return [LostEdits(space: home, mutation: creation, own: part.map { .part([$0]) } ?? .nothing)]
    }

    /// Whether this device wrote all values of a record.
    private static func areOwn(_ record: Record, _ former: [Version]) -> Bool {
        zip(record.values, former).allSatisfy { value, version in value.isNull || isOwn(version) }
    }

    /// Returns the edits of a record in one space that the current history has not shown yet.
    private func pendingEdits(of place: RecordPlace, in space: Int64) throws -> [FieldEdit] {
        let collection = tables[place.table].model.collection
        return try pendingTransactions(of: place).filter { try key(of: $0.space) == space }.flatMap(\.mutations)
            .flatMap { mutation -> [FieldEdit] in
                guard mutation.collection == collection, mutation.record == place.id,
                    case .update(let edits) = mutation.intent
                else { return [] }
                return edits
            }
    }

    /// Returns a record as the server has shown it, and the key of its space; nil when the server has not shown it.
    private func shown(
        _ place: RecordPlace, isPending: Bool
    ) throws -> (record: Record, space: Int64?)? {
        guard isPending else { return try row(place).map { ($0.record, $0.space) } }
        let (base, space) = try shownBase(place)
        return base.record.map { ($0, space) }
    }

    /// Offers records that only a lost history has shown, and deletes their former versions.
    func offer(lost places: [RecordPlace], in space: SpaceRow, now: WallTime) throws {
        try pack(places, in: space.space) { place in
            try creation(ofLost: place, in: space.space)
        } isOwn: { place in
            guard let former = try formerVersions(of: place), let record = try row(place)?.record else { return false }
            return Self.areOwn(record, former)
        } note: { transaction, isOwn in
            try noteOnce(lost: transaction, own: isOwn ? .all : try ownPart(of: transaction, in: space.key), now: now)
        }
        for place in places { _ = try takeFormerVersions(of: place) }
    }

    /// Returns what this device wrote of lost records that were not written by this device alone.
    private func ownPart(of lost: Transaction, in space: Int64) throws -> OwnChanges {
        let own = try lost.mutations.compactMap { mutation -> Mutation? in
            guard let table = tables.first(where: { $0.model.collection == mutation.collection }),
                case let place = RecordPlace(table: table.position, id: mutation.record),
                let former = try formerVersions(of: place)
            else { return nil }
            return try ownChange(ofLost: place, former, in: space)
        }
        return own.isEmpty ? .nothing : .part(own)
    }

    /// Packs a mutation of each record into transactions. Records that refer to each other stay in one transaction.
    ///
    /// - Parameters:
    ///   - mutation: Returns the mutation of a record; nil if there is none. It is called twice, because the mutations
    ///     of many records may not fit in memory.
    ///   - isOwn: Returns whether this device wrote all values of the record. Groups of such records have their own
    ///     transactions.
    private func pack(
        _ places: [RecordPlace], in space: SpaceID, mutation: (RecordPlace) throws -> Mutation?,
        isOwn: (RecordPlace) throws -> Bool, note: (Transaction, _ isOwn: Bool) throws -> Void
    ) throws {
        let positions = Dictionary(places.indices.map { (places[$0].id, $0) }) { first, _ in first }
        var references: [[Int]] = []
        references.reserveCapacity(places.count)
        for place in places {
            references.append(try mutation(place)?.references.compactMap { positions[$0] } ?? [])
        }
        var (own, others) = (TransactionPacker(space: space), TransactionPacker(space: space))
        for group in ReferenceGroups.of(references) {
            let mutations = try group.compactMap { try mutation(places[$0]) }
            if try group.allSatisfy({ try isOwn(places[$0]) }) {
                if let full = own.add(mutations) { try note(full, true) }
            } else if let full = others.add(mutations) {
                try note(full, false)
            }
        }
        if let rest = own.take() { try note(rest, true) }
        if let rest = others.take() { try note(rest, false) }
    }

    /// Returns a create of a record that only a lost history has shown; nil when the user has deleted it here, or when
    /// its creation in this space is still in the outbox.
    private func creation(ofLost place: RecordPlace, in space: SpaceID) throws -> Mutation? {
        guard let row = try row(place)?.record else { return nil }
        let model = tables[place.table].model
        for transaction in try pendingTransactions(of: place) where transaction.space == space {
            if transaction.createdRecords.contains(place.id) { return nil }
        }
        // The base excludes pending edits, which have their own outbox entries.
        let record = try base(place).record ?? row
        return Mutation(
            collection: model.collection, record: place.id, time: .zero,
            intent: .create(record.patch(schema: model)))
    }

    /// Notes in the journal which values of a space this device wrote in a lost history. The space is about to be
    /// removed although the current history has not shown it, so no comparison can tell whether the server still has
    /// them.
    func keepOwnLostValues(in space: SpaceRow, now: WallTime) throws {
        guard try followsLostHistory() else { return }
        var shown: [RecordPlace] = []
        for table in tables {
            let former = try connection.statement(
                composed:
                    """
                    SELECT id FROM sync_former WHERE collection = ?2 AND id IN
                        (SELECT id FROM \(table.quoted) WHERE sync_space = ?1
                        UNION ALL SELECT id FROM sync_base WHERE collection = ?2 AND space = ?1)
                    """)
            former.bind(1, space.key)
            former.bind(2, table.name)
            shown += try places(in: table, from: former)
        }
        try pack(shown, in: space.space) { place in
            try formerVersions(of: place).flatMap { try ownChange(ofLost: place, $0, in: space.key) }
        } isOwn: { _ in
            true
        } note: { transaction, _ in
            try noteOnce(lost: transaction, own: .all, now: now)
        }
    }

    /// Returns the values of a record that this device wrote in the lost history, as a create or an edit; nil when
    /// there are none. Values of others are left out.
    ///
    /// - Parameter former: the versions that the fields had in the lost history.
    private func ownChange(ofLost place: RecordPlace, _ former: [Version], in space: Int64) throws -> Mutation? {
        guard case let (record, home)? = try shown(place, isPending: try hasPending(place)), home == space
        else { return nil }
        let model = tables[place.table].model
        let marked = Self.withoutMarks(former, ofFieldsEmptySinceCreation: record)
        let own = marked.indices.filter { Self.isOwn(marked[$0]) }
        // The version of the oldest fields is the one that created the record, unless all of them have been edited
        // since.
        let oldest = former.compactMap(Self.unmarked).min()
        let isCreator = former.contains { Self.isOwn($0) && Self.unmarked($0) == oldest }
        // A record without any value may be the target of references.
        guard !own.isEmpty || (isCreator && record.values.allSatisfy(\.isNull)) else { return nil }
        let values = own.map { (name: model.fields[$0].name, value: record.values[$0]) }
        let intent: Mutation.Intent
        if isCreator {
            var patch = Patch()
            for (name, value) in values where !value.isNull { patch.set(name, to: value) }
            intent = .create(patch)
        } else {
            intent = .update(values.map { FieldEdit(field: $0, value: $1, before: $1, seen: .zero) })
        }
        return Mutation(collection: model.collection, record: place.id, time: .zero, intent: intent)
    }

    /// Returns the versions that a record's fields had in the lost history, and deletes them; nil when there are none.
    private func takeFormerVersions(of place: RecordPlace) throws -> [Version]? {
        guard let versions = try formerVersions(of: place) else { return nil }
        let statement = try connection.statement("DELETE FROM sync_former WHERE collection = ?1 AND id = ?2")
        statement.bind(1, tables[place.table].name)
        statement.bind(2, place.id)
        try statement.run()
        return versions
    }

    /// Returns the versions that a record's fields had in the lost history; nil when there are none.
    func formerVersions(of place: RecordPlace) throws -> [Version]? {
        let table = tables[place.table]
        let statement = try connection.statement(
            "SELECT version, field_versions FROM sync_former WHERE collection = ?1 AND id = ?2")
        statement.bind(1, table.name)
        statement.bind(2, place.id)
        var versions: [Version]?
        while try statement.step() {
            versions = try fieldVersions(statement, at: 0, in: table) {
                "the former versions of \(table.name) \(place.id)"
            }
        }
        return versions
    }

    /// Offers edits that the current history has lost, each in its own space.
    func offer(lost edits: [LostEdits], now: WallTime) throws {
        for (key, edits) in Dictionary(grouping: edits, by: \.space).sorted(by: { $0.key < $1.key }) {
            let space = try SpaceRow.load(key: key, connection).space
            let (own, others) = (edits.filter { $0.own == .all }, edits.filter { $0.own != .all })
            try offer(lost: own.map(\.mutation), in: space, own: .all, now: now)
            let parts = others.flatMap { lost -> [Mutation] in
                if case .part(let part) = lost.own { part } else { [] }
            }
            try offer(lost: others.map(\.mutation), in: space, own: .part(parts), now: now)
        }
    }

    /// Offers changes that only a lost history, or the rows of a damaged database, had. Creates that refer to each
    /// other stay in one entry.
    ///
    /// - Parameter own: the changes that this device wrote.
    func offer(lost changes: [Mutation], in space: SpaceID, own: OwnChanges, now: WallTime) throws {
        var entry = TransactionPacker(space: space)
        for group in Transaction(space: space, mutations: changes).referenceGroups {
            if let full = entry.add(group) { try noteOnce(lost: full, own: own, now: now) }
        }
        if let rest = entry.take() { try noteOnce(lost: rest, own: own, now: now) }
    }

    /// Notes lost changes, unless the journal already offers the same ones in an entry that nobody has decided about: a
    /// device may meet two histories in turn, such as those of two servers behind one address.
    func noteOnce(lost transaction: Transaction, own: OwnChanges, now: WallTime) throws {
        if try !isOffered(lost: transaction, own: own) { try note(lost: transaction, own: own, now: now) }
    }
}

/// Edits of one record that the current history has lost.
struct LostEdits {
    /// The key of the space in which the lost history had the record.
    let space: Int64
    let mutation: Mutation
    /// The part that this device wrote.
    let own: OwnChanges
}
