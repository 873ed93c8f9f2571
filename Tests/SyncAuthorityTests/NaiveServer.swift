import SyncModel

/// A second, naive implementation of the server, without a plan or a store. It copies its whole state for each
/// transaction, and searches linearly. It implements the written rules of the merge, and does not call the code under
/// test.
struct NaiveServer {
    struct Cell: Equatable {
        var value: FieldValue
        var stamp: Stamp
        var version: Version
        /// Whether the current transaction has written this cell.
        var isFresh = false
        /// Whether its author has created the record again since, and so does not know the value.
        var isDisowned = false
        /// Whether the latest edit set the value that the cell had, without having seen it.
        var isRepeat = false
    }

    struct Row: Equatable {
        var uid: UID
        var space: SpaceID
        var claimed: HybridTime
        var creator: ClientID
        var created: Version
        var cells: [FieldName: Cell]
        var isDeleted = false
    }

    let catalog: SchemaCatalog
    var rows: [RecordAddress: Row] = [:]
    var nextUID: [CollectionName: Int64] = [:]
    var heads: [SpaceID: Version] = [:]

    enum Response: Equatable {
        case applied(Version, uids: [UID], conflicts: Int)
        case rejected
    }

    mutating func push(_ transaction: Transaction, by client: ClientID, latest: WallTime) -> Response {
        var copy = self
        guard let response = copy.apply(transaction, client, latest) else { return .rejected }
        self = copy
        return response
    }

    private mutating func apply(_ transaction: Transaction, _ client: ClientID, _ latest: WallTime) -> Response? {
        guard !transaction.mutations.isEmpty else { return nil }
        let before = self
        let version = (heads[transaction.space] ?? .zero).next
        var touched: [RecordAddress] = []
        var told: [RecordAddress] = []
        var deleted: [RecordAddress] = []
        var conflicts = 0
        for mutation in transaction.mutations {
            let key = mutation.address
            guard let schema = catalog[mutation.collection] else { return nil }
            let limit = HybridTime(wall: latest, counter: .max)
            let time = mutation.time.wall > latest ? limit : mutation.time
            let stamp = Stamp(time: time, client: client)
            let row = rows[key]
            switch mutation.intent {
            case .create(let patch):
                for field in schema.fields where field.isRequired {
                    if patch[field.name] == nil || patch[field.name] == .null { return nil }
                }
                if told.contains(key) { return nil }
                if deleted.contains(key) { return nil }
                if var row {
                    guard row.space == transaction.space else { return nil }
                    let differs = row.cells.contains { name, cell in
                        cell.version == row.created && cell.value != patch[name] ?? .null
                    }
                    if row.creator != client || row.claimed != mutation.time || differs && !row.isDeleted {
                        // Another client has created the record, so the values of this create are merged into it.
                        guard !row.isDeleted else { return nil }
                        for (name, cell) in row.cells where !cell.isFresh && cell.stamp.client == client {
                            row.cells[name]?.isDisowned = true
                        }
                        let edits = patch.filter { $0.value != .null }.map {
                            FieldEdit(field: $0.field, value: $0.value, before: .null, seen: .zero)
                        }
                        guard
                            let found = edit(&row, edits, stamp, schema, head: before.heads[transaction.space] ?? .zero)
                        else { return nil }
                        conflicts += found
                        rows[key] = row
                        if !touched.contains(key) { touched.append(key) }
                    }
                } else {
                    var cells: [FieldName: Cell] = [:]
                    for field in schema.fields {
                        cells[field.name] = Cell(value: patch[field.name] ?? .null, stamp: stamp, version: version)
                    }
                    rows[key] = Row(
                        uid: .none, space: transaction.space, claimed: mutation.time, creator: client, created: version,
                        cells: cells)
                    touched.append(key)
                }
                told.append(key)
            case .update(let edits):
                guard var row, row.space == transaction.space, !row.isDeleted else { return nil }
                guard let found = edit(&row, edits, stamp, schema, head: before.heads[transaction.space] ?? .zero)
                else { return nil }
                conflicts += found
                rows[key] = row
                if !touched.contains(key) { touched.append(key) }
            case .delete(let seen, let unshown):
                guard let row, row.space == transaction.space else { return nil }
                if row.isDeleted { continue }
                conflicts += row.cells.count { name, cell in
                    cell.value != .null && !cell.isFresh && (cell.isDisowned || cell.stamp.client != client)
                        && (unshown.contains(name) || seen > (before.heads[transaction.space] ?? .zero)
                            || cell.version > seen
                            || cell.isRepeat && cell.stamp >= stamp)
                }
                rows[key]?.isDeleted = true
                deleted.append(key)
                if !touched.contains(key) { touched.append(key) }
            }
        }
        guard referencesHold(touched, deleted, before: before, in: transaction.space) else { return nil }
        var hasChanged = false
        for key in touched {
            guard var row = rows[key] else { continue }
            let old = before.rows[key]
            if old == nil {
                let uid = nextUID[key.collection, default: 0]
                nextUID[key.collection] = uid + 1
                row.uid = UID(uid)
                hasChanged = true
            }
            if row.isDeleted { hasChanged = true }
            for (name, cell) in row.cells {
                row.cells[name]?.isFresh = false
                if cell.isFresh {
                    row.cells[name]?.isRepeat = old?.cells[name]?.value == cell.value
                }
                if let old, old.cells[name]?.value != cell.value {
                    row.cells[name]?.version = version
                    hasChanged = true
                }
            }
            rows[key] = row
        }
        if hasChanged { heads[transaction.space] = version }
        return .applied(
            heads[transaction.space] ?? .zero, uids: told.map { rows[$0]?.uid ?? .none }, conflicts: conflicts)
    }

    /// Merges edits into a row and returns the number of conflicts, or nil if a field is unknown. The versions of
    /// changed fields are set at the end of the transaction, when it is known whether their values differ.
    private func edit(
        _ row: inout Row, _ edits: [FieldEdit], _ stamp: Stamp, _ schema: ModelSchema, head: Version
    ) -> Int? {
        var conflicts = 0
        for edit in edits {
            guard let field = schema.field(named: edit.field), let cell = row.cells[edit.field] else { return nil }
            let takes: Bool
            if cell.isFresh || cell.stamp.client == stamp.client && !cell.isDisowned {
                takes = true
            } else if cell.value == .null, cell.version == row.created {
                // The field has been empty since the record was created, so no value can be lost.
                takes = true
            } else if edit.seen <= head, cell.version <= edit.seen, !cell.isRepeat || stamp > cell.stamp {
                takes = true
            } else if cell.value == edit.value {
                takes = stamp > cell.stamp
                // The same edit again sets the value that the field has.
                if stamp == cell.stamp { row.cells[edit.field]?.isRepeat = true }
            } else {
                conflicts += 1
                switch field.mergeRule {
                case .latestEdit: takes = stamp > cell.stamp
                case .clientWins: takes = true
                case .serverWins: takes = false
                }
            }
            if takes {
                row.cells[edit.field] = Cell(value: edit.value, stamp: stamp, version: cell.version, isFresh: true)
            }
        }
        return conflicts
    }

    private func referencesHold(
        _ touched: [RecordAddress], _ deleted: [RecordAddress], before: NaiveServer, in space: SpaceID
    ) -> Bool {
        for key in touched {
            guard let row = rows[key], !row.isDeleted else { continue }
            for (name, cell) in row.cells {
                guard before.rows[key]?.cells[name]?.value != cell.value, case .reference(let id) = cell.value,
                    let target = catalog[key.collection]?.field(named: name)?.target
                else { continue }
                guard let found = rows[RecordAddress(target, id)], !found.isDeleted, found.space == space else {
                    return false
                }
            }
        }
        for key in deleted {
            for (other, row) in rows where !row.isDeleted {
                for field in catalog[other.collection]?.fields ?? [] where field.isRequired {
                    if field.target == key.collection, row.cells[field.name]?.value == .reference(key.id) {
                        return false
                    }
                }
            }
        }
        return true
    }
}
