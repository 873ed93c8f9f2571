import SyncModel

/// The contents of a space according to a reading of the rules that is as simple as can be: no database, no cursors, no
/// outbox, and no code of the parts under test. The oracles compare everything with it.
struct NaiveModel: Hashable, Sendable {
    struct Place: Hashable, Comparable, Sendable, CustomStringConvertible {
        let collection: CollectionName
        let id: RecordID

        static func < (left: Place, right: Place) -> Bool {
            left.collection == right.collection ? left.id < right.id : left.collection < right.collection
        }

        /// Records of two collections with one id are rare; names take long to hash.
        func hash(into hasher: inout Hasher) {
            hasher.combine(id)
        }

        var description: String { "\(collection) \(id)" }
    }

    /// The author of a value, and the time.
    struct Origin: Hashable, Sendable {
        let identity: ClientIdentity
        let time: HybridTime
    }

    /// A transaction as it came to the server.
    struct Arrival: Sendable {
        let transaction: NumberedTransaction
        let identity: ClientIdentity
        /// The clock of the server.
        let now: WallTime
        /// The newest version of the space before it: nobody can have seen a later one.
        let head: Version

        /// A time that agrees with the age of the transaction stands; another is replaced by the server's time minus the age.
        fileprivate func time(of mutation: Mutation) -> HybridTime {
            let skew = SchemaLimits.permittedSkew.wholeMilliseconds
            guard let age = transaction.age?.wholeMilliseconds else {
                return min(
                    mutation.time, HybridTime(wall: WallTime(milliseconds: now.milliseconds + skew), counter: .max))
            }
            let written = now.milliseconds - age
            if abs(mutation.time.wall.milliseconds - written) <= skew { return mutation.time }
            return HybridTime(wall: WallTime(milliseconds: written), counter: mutation.time.counter)
        }

        /// Whether an id is that of the device, now or before.
        fileprivate func isOrWas(_ client: ClientID) -> Bool {
            client == identity.client || transaction.formerly.contains { $0.identity.client == client }
        }
    }

    /// One record; everything in the order of its schema.
    struct Row: Hashable, Sendable {
        var values: [FieldValue]
        var origins: [Origin]
        /// When each field was last changed.
        var versions: [Version]

        fileprivate func prefix(_ count: Int) -> Row {
            Row(
                values: Array(values.prefix(count)), origins: Array(origins.prefix(count)),
                versions: Array(versions.prefix(count)))
        }
    }

    /// Two values for one field, of which only one could stay.
    struct Conflict: Hashable, Sendable {
        let place: Place
        let field: FieldName
        let base: FieldValue
        let winner: FieldValue
        let loser: FieldValue
    }

    /// A transaction's edit of one field.
    private struct Pushed {
        let value: FieldValue
        /// The value that its author saw.
        let before: FieldValue
        let origin: Origin
        /// The version of the field that its author had seen; `.zero` for a claim that cannot be true.
        let seen: Version
    }

    private(set) var rows: [Place: Row] = [:]
    private(set) var dead: Set<Place> = []
    /// By whom, and when by the clock of the device, however wrong that is.
    private var created: [Place: Origin] = [:]
    private(set) var catalog: SchemaCatalog

    init(catalog: SchemaCatalog) {
        self.catalog = catalog
    }

    /// Lets a transaction take effect that the server says to have applied.
    ///
    /// - Returns: the edits that met others, in their order.
    /// - Throws: `Violation` when it cannot have been applied.
    mutating func apply(_ arrival: Arrival, at version: Version) throws(Violation) -> [Conflict] {
        let transaction = arrival.transaction.transaction
        var conflicts: [Conflict] = []
        let before = rows
        defer { keepVersions(of: transaction, from: before) }
        for mutation in transaction.mutations {
            let place = Place(collection: mutation.collection, id: mutation.record)
            guard let schema = catalog[mutation.collection] else {
                throw Violation(.I5, "applied at \(version) although there is no collection \(mutation.collection)")
            }
            let origin = Origin(identity: arrival.identity, time: arrival.time(of: mutation))
            switch mutation.intent {
            case .create(let patch):
                // A device whose disk was rolled back says again what it has said before: that has no effect.
                if let known = created[place], known.time == mutation.time, arrival.isOrWas(known.identity.client) {
                    continue
                }
                guard !dead.contains(place) else {
                    throw Violation(.I12, "\(place) was deleted, and created again at \(version)")
                }
                guard rows[place] == nil else {
                    // Two devices that made the same id mean the same record: the later create is an edit of it.
                    for (field, value) in patch {
                        let pushed = Pushed(
                            value: value, before: .null, origin: origin, seen: .zero)
                        if let met = try edit(place, field, of: schema, pushed, at: version) { conflicts.append(met) }
                    }
                    continue
                }
                created[place] = Origin(identity: arrival.identity, time: mutation.time)
                let count = schema.fields.count
                rows[place] = Row(
                    values: schema.fields.map { patch[$0.name] ?? .null },
                    origins: Array(repeating: origin, count: count), versions: Array(repeating: version, count: count))
            case .update(let edits):
                guard rows[place] != nil else {
                    throw Violation(
                        dead.contains(place) ? .I12 : .I5, "\(place) was updated at \(version) but is not there")
                }
                for edit in edits {
                    let pushed = Pushed(
                        value: edit.value, before: edit.before, origin: origin,
                        seen: edit.seen <= arrival.head ? edit.seen : .zero)
                    if let met = try self.edit(place, edit.field, of: schema, pushed, at: version) {
                        conflicts.append(met)
                    }
                }
            case .delete(let seen):
                conflicts += destroyed(place, by: origin, seen: seen <= arrival.head ? seen : .zero, of: schema)
                rows[place] = nil
                dead.insert(place)
            }
        }
        return conflicts
    }

    /// The part that these models show: the first fields of each collection that they have.
    func seen(with catalog: SchemaCatalog) -> NaiveModel {
        guard catalog != self.catalog else { return self }
        var seen = self
        seen.catalog = catalog
        for (place, row) in rows {
            seen.rows[place] = catalog[place.collection].map { row.prefix($0.fields.count) }
        }
        return seen
    }

    /// Whether there is such a record, or was.
    func knows(_ place: Place) -> Bool { rows[place] != nil || dead.contains(place) }

    /// Checks that all records have the ones that they need (I11).
    func checkReferences(after transaction: Transaction, at version: Version) throws(Violation) {
        let touched = Set(transaction.mutations.map { Place(collection: $0.collection, id: $0.record) })
        var dangling: [String] = []
        for (place, row) in rows {
            for (field, value) in zip(catalog[place.collection]?.fields ?? [], row.values) where field.isRequired {
                guard let collection = field.target, case .reference(let id) = value else { continue }
                let target = Place(collection: collection, id: id)
                guard touched.contains(place) || touched.contains(target), rows[target] == nil else { continue }
                dangling.append("\(place) without its \(field.name) \(id)")
            }
        }
        if let first = dangling.min() { throw Violation(.I11, "version \(version) leaves \(first)") }
    }

    /// The values that a delete destroys without having seen them, in the order of the fields' names.
    private func destroyed(
        _ place: Place, by origin: Origin, seen: Version, of schema: ModelSchema
    ) -> [Conflict] {
        guard let row = rows[place] else { return [] }
        return schema.fields.indices.filter { position in
            !row.values[position].isNull && row.origins[position].identity != origin.identity
                && row.versions[position] > seen
        }.map { position in
            Conflict(
                place: place, field: schema.fields[position].name, base: .null, winner: .null,
                loser: row.values[position])
        }.sorted { $0.field < $1.field }
    }

    /// - Returns: the conflict, when the field has a value of somebody else that the author had not seen.
    private mutating func edit(
        _ place: Place, _ name: FieldName, of schema: ModelSchema, _ pushed: Pushed, at version: Version
    ) throws(Violation) -> Conflict? {
        guard let position = schema.position(of: name) else {
            throw Violation(.I5, "\(place).\(name) was updated at \(version) but there is no such field")
        }
        guard let row = rows[place] else { return nil }
        let hasSeen = Self.hasSeen(pushed, row, position)
        let isTaken =
            hasSeen || Self.takes(pushed, over: row, at: position, schema.fields[position].mergeRule)
        if isTaken {
            rows[place]?.values[position] = pushed.value
            rows[place]?.origins[position] = pushed.origin
            rows[place]?.versions[position] = version
        }
        let stored = row.values[position]
        guard !hasSeen, stored != pushed.value else { return nil }
        return Conflict(
            place: place, field: name, base: pushed.before, winner: isTaken ? pushed.value : stored,
            loser: isTaken ? stored : pushed.value)
    }

    /// A version says when a field was last *changed*: to be given the value that it had is no change.
    private mutating func keepVersions(of transaction: Transaction, from before: [Place: Row]) {
        for mutation in transaction.mutations {
            let place = Place(collection: mutation.collection, id: mutation.record)
            guard let old = before[place], let new = rows[place] else { continue }
            for position in new.values.indices where old.values[position] == new.values[position] {
                rows[place]?.versions[position] = old.versions[position]
            }
        }
    }

    /// One's own earlier edits are seen, even those that were confirmed after this one was made. To have seen what the space
    /// has not come to is no claim at all.
    private static func hasSeen(_ pushed: Pushed, _ row: Row, _ position: Int) -> Bool {
        row.origins[position].identity == pushed.origin.identity || row.versions[position] <= pushed.seen
    }

    /// The rules of merging, word by word.
    private static func takes(_ pushed: Pushed, over row: Row, at position: Int, _ rule: MergeRule) -> Bool {
        let (value, stored) = (row.values[position], row.origins[position])
        let isLater = (pushed.origin.time, pushed.origin.identity.client) > (stored.time, stored.identity.client)
        if value == pushed.value { return isLater }
        return switch rule {
        case .latestEdit: isLater
        case .serverWins: false
        case .clientWins: true
        }
    }

    /// In words, how what a replica shows differs from what should be, when it has these transactions still to send; nil
    /// when it does not.
    ///
    /// - Parameters:
    ///   - found: the records of each collection.
    ///   - strange: of what nothing can be said.
    func difference(
        _ found: [CollectionName: [Record]], over pending: [Transaction], except strange: Set<Place> = []
    ) -> String? {
        let touched = touched(by: pending)
        let doubtful = doubtful(in: pending).union(strange)
        var lines: [String] = []
        var shown: Set<Place> = []
        for (collection, records) in found {
            for record in records {
                let place = Place(collection: collection, id: record.id)
                if !shown.insert(place).inserted { lines.append("\(place) is shown twice") }
                if doubtful.contains(place) { continue }
                if let values = touched[place] ?? rows[place]?.values {
                    if record.values != values { lines += differences(place, record.values, values) }
                } else {
                    lines.append("\(place) should not be there")
                }
            }
        }
        let missing =
            rows.keys.filter { !shown.contains($0) && touched[$0] == nil && !strange.contains($0) }
            + touched.filter { !shown.contains($0.key) && !doubtful.contains($0.key) && $0.value != nil }.keys
        lines += missing.map { "\($0) is missing" }
        guard !lines.isEmpty else { return nil }
        return lines.sorted().prefix(8).joined(separator: "; ")
            + (lines.count > 8 ? "; and \(lines.count - 8) more" : "")
    }

    private func differences(_ place: Place, _ found: [FieldValue], _ expected: [FieldValue]) -> [String] {
        let fields = catalog[place.collection]?.fields ?? []
        var lines = zip(fields, zip(found, expected)).filter { $0.1.0 != $0.1.1 }.map { field, values in
            "\(place).\(field.name) is \(values.0), not \(values.1)"
        }
        if found.count != fields.count { lines.append("\(place) has \(found.count) fields, not \(fields.count)") }
        return lines
    }

    /// The records that pending transactions touch, as the device shows them; nil for one that is not shown.
    private func touched(by pending: [Transaction]) -> [Place: [FieldValue]?] {
        var touched: [Place: [FieldValue]?] = [:]
        for mutation in pending.lazy.flatMap(\.mutations) {
            let place = Place(collection: mutation.collection, id: mutation.record)
            guard let schema = catalog[mutation.collection] else { continue }
            var values = touched[place] ?? rows[place]?.values
            switch mutation.intent {
            case .create(let patch):
                var made = values ?? Array(repeating: .null, count: schema.fields.count)
                for (field, value) in patch {
                    if let position = schema.position(of: field) { made[position] = value }
                }
                values = made
            case .update(let edits):
                for edit in edits {
                    if let position = schema.position(of: edit.field) { values?[position] = edit.value }
                }
            case .delete: values = nil
            }
            touched.updateValue(values, forKey: place)
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
