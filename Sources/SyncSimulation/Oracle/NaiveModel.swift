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
                throw Violation("I5", "applied at \(version) although there is no collection \(mutation.collection)")
            }
            let time = min(mutation.time, limit)
            switch mutation.intent {
            case .create(let patch):
                // A device whose disk was rolled back says again what it has said before: that has no effect.
                if created[place] == Origin(client: client, time: mutation.time) { continue }
                guard !dead.contains(place) else {
                    throw Violation("I12", "\(place) was deleted, and created again at \(version)")
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
                        dead.contains(place) ? "I12" : "I5", "\(place) was updated at \(version) but is not there")
                }
                for edit in edits {
                    guard let rule = schema.field(named: edit.field)?.mergeRule else {
                        throw Violation(
                            "I5", "\(place).\(edit.field) was updated at \(version) but there is no such field")
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
                    for (place, row) in rows where place.collection == schema.collection {
                        guard case .reference(let id)? = row[field.name]?.value, let target = field.target,
                            place.id == mutation.record || (gone && id == mutation.record),
                            rows[Place(collection: target, id: id)] == nil
                        else { continue }
                        throw Violation("I11", "version \(version) leaves \(place) without its \(field.name) \(id)")
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

    /// DESIGN §5, word by word.
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

    /// The records as a device shows them that has these transactions still to send.
    func visible(over pending: [Transaction]) -> [Place: [FieldName: FieldValue]] {
        var shown = rows.mapValues { row in row.mapValues(\.value) }
        for mutation in pending.flatMap(\.mutations) {
            let place = Place(collection: mutation.collection, id: mutation.record)
            switch mutation.intent {
            case .create(let patch):
                if shown[place] == nil {
                    let fields = catalog[mutation.collection]?.fields ?? []
                    shown[place] = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, .null) })
                }
                for (field, value) in patch { shown[place]?[field] = value }
            case .update(let edits):
                for edit in edits where shown[place] != nil { shown[place]?[edit.field] = edit.value }
            case .delete: shown[place] = nil
            }
        }
        return shown
    }

    /// The records that the server has deleted and that a device believes still to have to create: one that has
    /// heard of the deletion shows them no more (I12), one that has seen nothing but a snapshot without them cannot
    /// know.
    func uncertain(over pending: [Transaction]) -> Set<Place> {
        var uncertain: Set<Place> = []
        for mutation in pending.flatMap(\.mutations) {
            let place = Place(collection: mutation.collection, id: mutation.record)
            if case .create = mutation.intent, dead.contains(place) { uncertain.insert(place) }
        }
        return uncertain
    }

    /// In words, how what is shown differs from what should be; nil when it does not.
    static func difference(
        expected: [Place: [FieldName: FieldValue]], found: [Place: [FieldName: FieldValue]]
    ) -> String? {
        guard expected != found else { return nil }
        var lines: [String] = []
        for place in Set(expected.keys).union(found.keys).sorted() where expected[place] != found[place] {
            switch (expected[place], found[place]) {
            case (let row?, nil): lines.append("\(place) is missing: \(row.sorted { $0.key < $1.key })")
            case (nil, let row?): lines.append("\(place) should not be there: \(row.sorted { $0.key < $1.key })")
            case (let expected?, let found?):
                for field in Set(expected.keys).union(found.keys).sorted() where expected[field] != found[field] {
                    lines.append(
                        "\(place).\(field) is \(found[field].map { "\($0)" } ?? "nothing"), not \(expected[field].map { "\($0)" } ?? "nothing")"
                    )
                }
            case (nil, nil): break
            }
        }
        return lines.prefix(8).joined(separator: "; ") + (lines.count > 8 ? "; and \(lines.count - 8) more" : "")
    }
}
