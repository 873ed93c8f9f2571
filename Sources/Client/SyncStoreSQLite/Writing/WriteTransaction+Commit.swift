import SQLiteDatabase
import SyncCore
import SyncModel

// A local commit writes rows, bases, links, and the outbox entry together.
extension WriteTransaction {
    /// Carries out a local write, if the journal has room for its rejection.
    ///
    /// - Returns: the sequence of the outbox entry; nil when the edits change nothing.
    func commit(_ write: LocalWrite, now: WallTime) throws -> OutboxSequence? {
        try checkRoomInJournal()
        let sequence = try writeEdits(write.edits, seen: write.seen, in: write.space, now: now)
        if sequence == nil { rollsBack = true }
        return sequence
    }

    /// Writes the edits and their outbox entry.
    ///
    /// - Parameters:
    ///   - seen: the fields as the author saw them, where they may differ from those of the rows.
    ///   - again: Fields that are written even if they have the value already.
    /// - Returns: the sequence of the outbox entry; nil when the edits change nothing.
    func writeEdits(
        _ edits: [RecordEdit], seen: SeenFields = [:], in space: SpaceID, now: WallTime,
        again: Set<LostChange> = []
    ) throws -> OutboxSequence? {
        let spaceKey = try key(of: space)
        let drafts = try drafts(of: edits, seen: seen, again: again, in: space, spaceKey)
        guard !drafts.isEmpty else { return nil }

        try correctClock(now: now)
        let time = meta.clock.tick(now: now)
        let transaction = Transaction(space: space, mutations: drafts.map { $0.mutation(at: time, tables) })
        if let rejection = catalog.rejection(of: transaction) { throw StoreError(rejection) }

        try noteUnseenValues(replacedBy: drafts, at: time, in: space, now: now)
        let deleted = drafts.filter { $0.current == nil && $0.original != nil }
        if !deleted.isEmpty { try keepInJournal(deleted.map(\.place), of: space) }
        var mayJoin = true
        for draft in drafts {
            try write(draft, in: spaceKey)
            mayJoin = mayJoin && draft.wasPending
        }
        try checkReferences(of: drafts, in: space, spaceKey)

        if mayJoin, let joined = try joinedToNewestEntry(transaction, now: now) { return joined }
        return OutboxSequence(rawValue: try append(transaction, now: now))
    }

    // MARK: Drafts

    /// The combined edits of one record in this transaction. They become one mutation.
    struct Draft {
        let place: RecordPlace
        /// The row before the transaction; nil when there was none.
        let original: StoredRow?
        /// Whether the record had pending changes before the transaction.
        let wasPending: Bool
        var current: Record?
        var kind: Kind
        /// The values of this device that the author did not see.
        var unseen: [UnseenValue] = []

        enum Kind {
            case create(Patch)
            case update([FieldEdit])
            /// The user has seen all values of the record up to this version, except for fields that this build does
            /// not know.
            case delete(seen: Version, unshown: [FieldName])
        }

        func mutation(at time: HybridTime, _ tables: [RecordTable]) -> Mutation {
            let intent: Mutation.Intent =
                switch kind {
                case .create(let patch): .create(patch)
                case .update(let edits): .update(edits)
                case .delete(let seen, let unshown): .delete(seen: seen, unshown: unshown)
                }
            return Mutation(
                collection: tables[place.table].model.collection, record: place.id, time: time, intent: intent)
        }
    }

    private func drafts(
        of edits: [RecordEdit], seen: SeenFields, again: Set<LostChange>, in space: SpaceID, _ spaceKey: Int64
    ) throws -> [Draft] {
        var drafts: [Draft] = []
        var indices: [RecordPlace: Int] = [:]
        for edit in edits {
            let table = try table(edit.collection)
            let place = RecordPlace(table: table.position, id: edit.record)
            let index = indices[place]
            let before: Draft?
            if let index {
                before = drafts[index]
            } else {
                let original = try row(place)
                if let original, original.space != spaceKey {
                    let isCreate = if case .create = edit { true } else { false }
                    throw StoreError(
                        isCreate ? .duplicateRecord : .missingRecord,
                        "\(table.name) \(place.id) is in a space other than \(space)")
                }
                before = try original.map { row in
                    Draft(
                        place: place, original: row, wasPending: try hasPending(place), current: row.record,
                        kind: .update([]))
                }
            }
            let draft = try self.draft(
                edit, seen: seen.isEmpty ? nil : seen[RecordAddress(edit.collection, edit.record)], again: again,
                place: place, table: table, before: before, in: space)
            if let index {
                drafts[index] = draft
            } else {
                indices[place] = drafts.count
                drafts.append(draft)
            }
        }
        return drafts.filter { draft in
            switch draft.kind {
            case .create: draft.current != nil
            case .update(let edits): !edits.isEmpty
            case .delete: draft.original != nil
            }
        }
    }

    /// Returns the draft of a record after one more edit.
    ///
    /// - Parameter before: the record with the earlier edits of this transaction; nil when it does not exist.
    private func draft(
        _ edit: RecordEdit, seen shown: [FieldName: SeenField]?, again: Set<LostChange>, place: RecordPlace,
        table: RecordTable, before: Draft?, in space: SpaceID
    ) throws -> Draft {
        switch edit {
        case .create(_, let id, let patch):
            // The id of a deleted record cannot be used again.
            let isKnown: Bool
            if before != nil { isKnown = true } else { isKnown = try hasPending(place) }
            guard !isKnown else {
                throw StoreError(.duplicateRecord, "\(table.name) \(id) already exists, or has been deleted")
            }
            let patch = patch.withoutNulls
            try Self.valid { () throws(InvalidValueError) in try table.model.check(creating: patch) }
            let record = Record(id: id, uid: .none, version: .zero, creating: patch, schema: table.model)
            return Draft(place: place, original: nil, wasPending: false, current: record, kind: .create(patch))
        case .update(_, let id, let patch):
            guard var draft = before, var record = draft.current else {
                throw StoreError(.missingRecord, "there is no record \(id) in \(table.name) to update")
            }
            try Self.valid { () throws(InvalidValueError) in try table.model.check(updating: patch) }
            let pending = draft.wasPending ? try versionsSeen(of: Set(patch.map(\.field)), at: place, in: space) : [:]
            if let shown {
                try noteUnseen(
                    patch.compactMap { name, _ in shown[name].map { (name, $0) } }, pending, &draft, in: space)
            }
            for (name, value) in patch {
                guard let position = table.model.position(of: name),
                    record.values[position] != value
                        || !again.isEmpty && again.contains(LostChange(RecordAddress(edit.collection, id), name))
                else { continue }
                switch draft.kind {
                case .create(var created):
                    if value.isNull { created.remove(name) } else { created.set(name, to: value) }
                    draft.kind = .create(created)
                case .update(var edits):
                    var known = pending[name] ?? record.version(ofFieldAt: position)
                    if let author = shown?[name], let original = draft.original?.record {
                        let isPending = pending[name] != nil
                        known = min(known, original.versionSeen(author, ofFieldAt: position, isPending: isPending))
                    }
                    edits.note(
                        FieldEdit(field: name, value: value, before: record.values[position], seen: known))
                    draft.kind = .update(edits)
                case .delete: break
                }
                record.values[position] = value
            }
            draft.current = record
            return draft
        case .delete(_, let id):
            guard var draft = before, draft.current != nil else {
                throw StoreError(.missingRecord, "there is no record \(id) in \(table.name) to delete")
            }
            draft.current = nil
            if let original = draft.original {
                var known = try versionSeen(of: original.record, at: place, in: space)
                if let shown {
                    let pending =
                        draft.wasPending ? try versionsSeen(of: Set(shown.keys), at: place, in: space) : [:]
                    try noteUnseen(shown.map { ($0.key, $0.value) }, pending, &draft, in: space)
                    let others = shown.filter { pending[$0.key] == nil }
                    known = min(known, original.record.versionSeen(others, in: table.model))
                }
                draft.kind = .delete(seen: known, unshown: original.record.unshownFields)
            }
            return draft
        }
    }

    private static func valid(_ check: () throws(InvalidValueError) -> Void) throws {
        do throws(InvalidValueError) {
            try check()
        } catch {
            throw StoreError(.invalidValue, error.description)
        }
    }

    // MARK: Writing

    private func write(_ draft: Draft, in space: Int64) throws {
        if draft.wasPending {
            if draft.current == nil { try storeBase(draft.place) }
        } else if let original = draft.original, draft.current == nil || original.record.version == .zero {
            // The base of other records follows from their rows.
            try setBase(draft.place, .shown(original.record), in: space)
        }
        guard let record = draft.current else { return try deleteRow(draft.place) }
        if case .update(let edits) = draft.kind, edits.count <= StoreLimits.fieldsOfPartialUpdate,
            let key = draft.original?.key
        {
            try update(draft.place, at: key, edits)
        } else {
            try write(StoredRow(record: record, space: space), to: tables[draft.place.table])
        }
    }

    /// Writes the edited fields of a row that exists.
    private func update(_ place: RecordPlace, at key: Int64, _ edits: [FieldEdit]) throws {
        let table = tables[place.table]
        let positions = edits.compactMap { table.model.position(of: $0.field) }
        let statement = try table.updateStatement(of: positions, on: connection)
        for (index, edit) in edits.enumerated() { statement.bind(Int32(index + 1), edit.value) }
        statement.bind(Int32(edits.count + 1), key)
        try statement.run()
        change.touch(table.model.collection, place.id)
    }

    /// Checks references against the rows after all edits. Inside a transaction, the order of edits does not matter.
    private func checkReferences(
        of drafts: [Draft], in space: SpaceID, _ spaceKey: Int64
    ) throws {
        for draft in drafts {
            switch draft.kind {
            case .create(let patch):
                for (name, value) in patch { try checkTarget(value, of: name, draft.place, in: space, spaceKey) }
            case .update(let edits):
                for edit in edits { try checkTarget(edit.value, of: edit.field, draft.place, in: space, spaceKey) }
            case .delete:
                try checkUnreferenced(draft.place)
            }
        }
    }

    /// Checks that a reference points to an existing record of the same space.
    ///
    /// The server refuses references to another space, because a reader of one space may not be allowed to read the
    /// other.
    private func checkTarget(
        _ value: FieldValue, of name: FieldName, _ place: RecordPlace, in space: SpaceID, _ spaceKey: Int64
    ) throws {
        guard case .reference(let target) = value else { return }
        let table = tables[place.table]
        guard let collection = table.model.field(named: name)?.target else { return }
        let home = try self.space(of: RecordPlace(table: try self.table(collection).position, id: target))
        guard home == spaceKey else {
            throw StoreError(
                .danglingReference,
                "\(table.name) \(place.id): \(name) refers to \(collection) \(target), which "
                    + (home == nil ? "does not exist" : "is in a space other than \(space)"))
        }
    }

    /// Returns the key of the space in which a record lives; nil when it does not exist.
    private func space(of place: RecordPlace) throws -> Int64? {
        let statement = try tables[place.table].statement(.selectByID, on: connection)
        statement.bind(1, place.id)
        defer { statement.reset() }
        return try statement.step() ? tables[place.table].space(statement) : nil
    }

    private func checkUnreferenced(_ place: RecordPlace) throws {
        let target = tables[place.table].model.collection
        for table in tables {
            for field in table.model.fields where field.isRequired && field.target == target {
                let column = RecordTable.quote(field.name.rawValue)
                let statement = try connection.statement(
                    composed:
                        "SELECT id FROM \(table.quoted) WHERE \(column) = ?1 LIMIT 1")
                statement.bind(1, place.id)
                defer { statement.reset() }
                if try statement.step() {
                    let holder = try statement.recordID(0)
                    throw StoreError(
                        .stillReferenced,
                        "\(target) \(place.id) cannot be deleted: \(table.name) \(holder) requires it as its \(field.name)"
                    )
                }
            }
        }
    }

    // MARK: Coalescing

    /// Joins a transaction into the newest outbox entry, so that five renames are one push.
    ///
    /// The entry must be unsent. The transaction may only update records that the entry updates, and must write all
    /// edited fields of these records again. Returns nil when the two stay separate.
    private func joinedToNewestEntry(
        _ transaction: Transaction, now: WallTime
    ) throws -> OutboxSequence? {
        guard meta.outbox.waiting > 0, let newest = try newestEntry(), newest.isUnsent,
            newest.space == transaction.space
        else { return nil }
        guard let joined = newest.transaction.absorbing(transaction), catalog.rejection(of: joined) == nil
        else { return nil }
        let growth = try StoredForm.bytes(of: joined).count - newest.bytes
        guard Int64(meta.outbox.bytes + max(growth, 0)) <= limits.outboxBytes else { return nil }
        try replace(newest, with: joined, now: now)
        return OutboxSequence(rawValue: newest.sequence)
    }
}

extension Transaction {
    /// Returns this transaction with `later` merged into it; nil when `later` does anything but update records that
    /// this one updates.
    ///
    /// An edited field keeps the value and version that the user saw before the first edit, and takes the value of the
    /// last edit. A mutation has only one time, so two updates merge only if the later one writes all fields of the
    /// earlier one again. Otherwise the older edit would look as new as the later one, and would win over edits that
    /// others made in between.
    func absorbing(_ later: Transaction) -> Transaction? {
        var mutations = mutations
        for update in later.mutations {
            guard case .update(let more) = update.intent,
                let index = mutations.firstIndex(where: {
                    $0.record == update.record && $0.collection == update.collection
                }),
                case .update(var edits) = mutations[index].intent,
                edits.allSatisfy({ edit in more.contains { $0.field == edit.field } })
            else { return nil }
            for edit in more { edits.note(edit) }
            mutations[index] = Mutation(
                collection: update.collection, record: update.record, time: update.time, intent: .update(edits))
        }
        return Transaction(space: space, mutations: mutations)
    }
}

extension [FieldEdit] {
    /// Adds an edit. If the field already has an edit, that edit takes the new value, and keeps its `before` and
    /// `seen`.
    mutating func note(_ edit: FieldEdit) {
        guard let index = firstIndex(where: { $0.field == edit.field }) else {
            append(edit)
            return
        }
        self[index] = FieldEdit(
            field: edit.field, value: edit.value, before: self[index].before, seen: self[index].seen)
    }
}

extension StoreError {
    /// Converts a rejection by the model's own check into the store's error.
    init(_ rejection: Rejection) {
        let code: Code =
            switch rejection.code {
            case .tooLarge: .tooLarge
            case .unknownCollection: .unknownCollection
            default: .invalidValue
            }
        self.init(code, rejection.message)
    }
}
