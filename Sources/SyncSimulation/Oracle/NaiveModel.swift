import SyncModel

/// What a space holds according to a reading of the rules that is as simple as can be: no database, no cursors, no
/// outbox, and no code of the parts under test. The oracles compare everything with it.
struct NaiveModel: Hashable, Sendable {
    struct Place: Hashable, Comparable, Sendable, CustomStringConvertible {
        let collection: CollectionName
        let id: RecordID

        static func < (left: Place, right: Place) -> Bool {
            left.collection == right.collection ? left.id < right.id : left.collection < right.collection
        }

        var description: String { "\(collection) \(id)" }
    }

    struct Field: Hashable, Sendable {
        var value: FieldValue
        var time: HybridTime
        var client: ClientID
        var version: Version
    }

    private struct Origin: Hashable, Sendable {
        let client: ClientID
        let time: HybridTime
    }

    typealias Row = [FieldName: Field]

    private(set) var rows: [Place: Row] = [:]
    private(set) var dead: Set<Place> = []
    private var created: [Place: Origin] = [:]
    let catalog: SchemaCatalog

    init(catalog: SchemaCatalog) {
        self.catalog = catalog
    }

    /// Lets a transaction take effect that the server says to have applied.
    ///
    /// - Parameter limit: the latest stamp that the server let through.
    /// - Throws: `Violation` when it cannot have been applied.
    mutating func apply(
        _ transaction: Transaction, by client: ClientID, at version: Version, limit: HybridTime
    ) throws(Violation) {
        let before = rows
        defer { keepVersions(of: transaction, from: before) }
        for mutation in transaction.mutations {
            let place = Place(collection: mutation.collection, id: mutation.record)
            guard let schema = catalog[mutation.collection] else {
                throw Violation(.I5, "applied at \(version) although there is no collection \(mutation.collection)")
            }
            let time = min(mutation.time, limit)
            switch mutation.intent {
            case .create(let patch):
                // A device whose disk was rolled back says again what it has said before: that has no effect.
                if created[place] == Origin(client: client, time: mutation.time) { continue }
                guard !dead.contains(place) else {
                    throw Violation(.I12, "\(place) was deleted, and created again at \(version)")
                }
                if rows[place] != nil {
                    // Two devices that made the same id mean the same record: the later create is an edit of it.
                    for (field, value) in patch {
                        edit(
                            place, field, Field(value: value, time: time, client: client, version: version),
                            seen: .zero,
                            schema.field(named: field)?.mergeRule ?? .latestEdit)
                    }
                    continue
                }
                created[place] = Origin(client: client, time: mutation.time)
                rows[place] = Dictionary(
                    uniqueKeysWithValues: schema.fields.map { field in
                        (
                            field.name,
                            Field(value: patch[field.name] ?? .null, time: time, client: client, version: version)
                        )
                    })
            case .update(let edits):
                guard rows[place] != nil else {
                    throw Violation(
                        dead.contains(place) ? .I12 : .I5, "\(place) was updated at \(version) but is not there")
                }
                for edit in edits {
                    guard let rule = schema.field(named: edit.field)?.mergeRule else {
                        throw Violation(
                            .I5, "\(place).\(edit.field) was updated at \(version) but there is no such field")
                    }
                    let pushed = Field(value: edit.value, time: time, client: client, version: version)
                    self.edit(place, edit.field, pushed, seen: edit.seen, rule)
                }
            case .delete:
                rows[place] = nil
                dead.insert(place)
            }
        }
    }

    /// What a record needs is there (I11).
    func checkReferences(after transaction: Transaction, at version: Version) throws(Violation) {
        for mutation in transaction.mutations {
            let gone = rows[Place(collection: mutation.collection, id: mutation.record)] == nil
            for schema in catalog.models {
                for field in schema.fields where field.isRequired && field.target != nil {
                    for place in rows.keys.sorted() where place.collection == schema.collection {
                        guard let row = rows[place], case .reference(let id)? = row[field.name]?.value,
                            let target = field.target,
                            place.id == mutation.record || (gone && id == mutation.record),
                            rows[Place(collection: target, id: id)] == nil
                        else { continue }
                        throw Violation(.I11, "version \(version) leaves \(place) without its \(field.name) \(id)")
                    }
                }
            }
        }
    }

    private mutating func edit(_ place: Place, _ name: FieldName, _ pushed: Field, seen: Version, _ rule: MergeRule) {
        guard let stored = rows[place]?[name], Self.takes(pushed, seen: seen, over: stored, rule) else { return }
        rows[place]?[name] = pushed
    }

    /// A version says when a field was last *changed*: to be given the value that it had is no change.
    private mutating func keepVersions(of transaction: Transaction, from before: [Place: Row]) {
        for mutation in transaction.mutations {
            let place = Place(collection: mutation.collection, id: mutation.record)
            for (name, field) in rows[place] ?? [:] {
                guard let old = before[place]?[name], old.value == field.value else { continue }
                rows[place]?[name]?.version = old.version
            }
        }
    }

    /// The rules of merging, word by word.
    private static func takes(_ pushed: Field, seen: Version, over stored: Field, _ rule: MergeRule) -> Bool {
        // One's own earlier edits are seen, also those that were confirmed after this one was made; and what one has
        // said before does not take back what one has said since.
        if stored.client == pushed.client { return pushed.time >= stored.time }
        if stored.version <= seen { return true }
        let isLater = (pushed.time, pushed.client) > (stored.time, stored.client)
        if stored.value == pushed.value { return isLater }
        return switch rule {
        case .latestEdit: isLater
        case .serverWins: false
        case .clientWins: true
        }
    }

    /// In words, how what a device shows differs from what should be, when it has these transactions still to send; nil
    /// when it does not.
    func difference(_ found: [Place: Record], over pending: [Transaction]) -> String? {
        let touched = touched(by: pending)
        let doubtful = doubtful(in: pending)
        var lines: [String] = []
        var known = doubtful.count { found[$0] != nil }
        for (place, row) in rows where touched[place] == nil && !doubtful.contains(place) {
            if found[place] != nil { known += 1 }
            compare(place, found[place], &lines) { row[$0]?.value }
        }
        for (place, row) in touched where !doubtful.contains(place) {
            if found[place] != nil { known += 1 }
            if let row {
                compare(place, found[place], &lines) { row[$0] }
            } else if found[place] != nil {
                lines.append("\(place) should not be there")
            }
        }
        if known != found.count {
            for place in found.keys where rows[place] == nil && touched[place] == nil && !doubtful.contains(place) {
                lines.append("\(place) should not be there")
            }
        }
        guard !lines.isEmpty else { return nil }
        return lines.sorted().prefix(8).joined(separator: "; ")
            + (lines.count > 8 ? "; and \(lines.count - 8) more" : "")
    }

    private func compare(
        _ place: Place, _ found: Record?, _ lines: inout [String], expected: (FieldName) -> FieldValue?
    ) {
        guard let found else {
            lines.append("\(place) is missing")
            return
        }
        let fields = catalog[place.collection]?.fields ?? []
        if found.values.count != fields.count {
            lines.append("\(place) has \(found.values.count) fields, not \(fields.count)")
        }
        for (field, value) in zip(fields, found.values) where expected(field.name) != value {
            lines.append("\(place).\(field.name) is \(value), not \(expected(field.name).map { "\($0)" } ?? "nothing")")
        }
    }

    /// The records that pending transactions touch, as the device shows them; nil for one that is not shown.
    private func touched(by pending: [Transaction]) -> [Place: [FieldName: FieldValue]?] {
        var touched: [Place: [FieldName: FieldValue]?] = [:]
        for mutation in pending.lazy.flatMap(\.mutations) {
            let place = Place(collection: mutation.collection, id: mutation.record)
            var row = touched[place] ?? rows[place]?.mapValues(\.value)
            switch mutation.intent {
            case .create(let patch):
                var made =
                    row
                    ?? Dictionary(
                        uniqueKeysWithValues: (catalog[mutation.collection]?.fields ?? []).map { ($0.name, .null) })
                for (field, value) in patch { made[field] = value }
                row = made
            case .update(let edits):
                for edit in edits { row?[edit.field] = edit.value }
            case .delete: row = nil
            }
            touched.updateValue(row, forKey: place)
        }
        return touched
    }

    /// The records that the server has deleted and that a device believes still to have to create: one that has
    /// heard of the deletion shows them no more (I12), one that has seen nothing but a snapshot without them cannot
    /// know.
    private func doubtful(in pending: [Transaction]) -> Set<Place> {
        guard !dead.isEmpty else { return [] }
        var doubtful: Set<Place> = []
        for mutation in pending.lazy.flatMap(\.mutations) {
            guard case .create = mutation.intent else { continue }
            let place = Place(collection: mutation.collection, id: mutation.record)
            if dead.contains(place) { doubtful.insert(place) }
        }
        return doubtful
    }
}
