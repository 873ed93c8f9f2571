import SyncModel

/// A model of a space's contents that follows the rules as simply as possible.
///
/// It has no database, no cursors, no outbox, and shares no code with the parts under test. The oracles compare the
/// server and the devices with it.
struct NaiveModel: Hashable, Sendable {
    /// The author and the time of a value.
    struct Origin: Hashable, Sendable {
        let identity: ClientIdentity
        let time: HybridTime
    }

    /// A transaction as it arrived at the server.
    struct Arrival: Sendable {
        let transaction: NumberedTransaction
        let identity: ClientIdentity
        /// The server's clock at the arrival.
        let now: WallTime
        /// The newest version of the space before the arrival. No author can have seen a later one.
        let head: Version

        /// Returns the mutation's time if it agrees with the age of the transaction, and the server's time minus the
        /// age otherwise.
        ///
        /// Without an age, the time is clamped to the server's time plus the permitted skew.
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

        /// Returns whether an id is, or was, the id of the client.
        fileprivate func isOrWas(_ client: ClientID) -> Bool {
            client == identity.client || transaction.formerNumbers.contains { $0.identity.client == client }
        }
    }

    /// One record, with values, origins, and versions in the order of its schema's fields.
    struct Row: Hashable, Sendable {
        var values: [FieldValue]
        var origins: [Origin]
        /// The version at which each field was last changed.
        var versions: [Version]
        /// Whether the latest transaction that set each field set the value that the field had.
        var areRepeats: [Bool]
        /// The version at which the record was created.
        let created: Version

        fileprivate func prefix(_ count: Int) -> Row {
            Row(
                values: Array(values.prefix(count)), origins: Array(origins.prefix(count)),
                versions: Array(versions.prefix(count)), areRepeats: Array(areRepeats.prefix(count)),
                created: created)
        }
    }

    /// A conflict between two values of a field.
    struct Conflict: Hashable, Sendable {
        let address: RecordAddress
        let field: FieldName
        let base: FieldValue
        let winner: FieldValue
        let loser: FieldValue
    }

    /// A transaction's edit of one field.
    private struct Pushed {
        let value: FieldValue
        /// The value that the author saw before the edit.
        let before: FieldValue
        let origin: Origin
        /// The version of the field that the author claims to have seen; `.zero` when the claim is impossible.
        let seen: Version
    }

    private(set) var rows: [RecordAddress: Row] = [:]
    private(set) var dead: Set<RecordAddress> = []
    /// The creator of each record, with the uncorrected time from the device's clock.
    private var created: [RecordAddress: Origin] = [:]
    private(set) var catalog: SchemaCatalog

    init(catalog: SchemaCatalog) {
        self.catalog = catalog
    }

    /// Applies a transaction that the server reports as applied.
    ///
    /// - Returns: the conflicts with other edits, in order.
    /// - Throws: `Violation` when the server cannot have applied it.
    mutating func apply(_ arrival: Arrival, at version: Version) throws(Violation) -> [Conflict] {
        let transaction = arrival.transaction.transaction
        var conflicts: [Conflict] = []
        let before = rows
        defer { keepVersions(of: transaction, from: before) }
        for mutation in transaction.mutations {
            let address = mutation.address
            guard let schema = catalog[mutation.collection] else {
                throw Violation(.I5, "applied at \(version) although there is no collection \(mutation.collection)")
            }
            let origin = Origin(identity: arrival.identity, time: arrival.time(of: mutation))
            switch mutation.intent {
            case .create(let patch):
                // A device whose disk was rolled back may repeat an earlier creation, which has no effect.
                if let known = created[address], known.time == mutation.time, arrival.isOrWas(known.identity.client),
                    rows[address].map({ Self.hasInitialValues($0, patch, schema) }) ?? true
                {
                    continue
                }
                guard !dead.contains(address) else {
                    throw Violation(.I12, "\(address) was deleted, and created again at \(version)")
                }
                guard rows[address] == nil else {
                    // Two devices that create the same id mean the same record: the later creation is an edit of it.
                    // Its author has no copy of the record, and so does not know even its own earlier values.
                    disown(address, from: arrival.identity)
                    for (field, value) in patch where value != .null {
                        let pushed = Pushed(value: value, before: .null, origin: origin, seen: .zero)
                        if let met = try edit(address, field, of: schema, pushed, at: version) { conflicts.append(met) }
                    }
                    continue
                }
                created[address] = Origin(identity: arrival.identity, time: mutation.time)
                let count = schema.fields.count
                rows[address] = Row(
                    values: schema.fields.map { patch[$0.name] ?? .null },
                    origins: Array(repeating: origin, count: count), versions: Array(repeating: version, count: count),
                    areRepeats: Array(repeating: false, count: count), created: version)
            case .update(let edits):
                guard rows[address] != nil else {
                    throw Violation(
                        dead.contains(address) ? .I12 : .I5, "\(address) was updated at \(version) but is not there")
                }
                for edit in edits {
                    let pushed = Pushed(
                        value: edit.value, before: edit.before, origin: origin,
                        seen: edit.seen <= arrival.head ? edit.seen : .zero)
                    if let met = try self.edit(address, edit.field, of: schema, pushed, at: version) {
                        conflicts.append(met)
                    }
                }
            case .delete(let seen, let unshown):
                let seen = seen <= arrival.head ? seen : .zero
                if schema.deleteRule == .editWins,
                    let field = unseenFields(address, by: origin, seen: seen, unshown: unshown).min()
                {
                    throw Violation(
                        .I5, "\(address) was deleted at \(version) although the author had not seen its \(field)")
                }
                conflicts += destroyed(address, by: origin, seen: seen, unshown: unshown, of: schema)
                rows[address] = nil
                dead.insert(address)
            }
        }
        return conflicts
    }

    /// Returns the model as an earlier catalog shows it: only the first fields of each collection that the catalog has.
    func seen(with catalog: SchemaCatalog) -> NaiveModel {
        guard catalog != self.catalog else { return self }
        var seen = self
        seen.catalog = catalog
        for (address, row) in rows {
            seen.rows[address] = catalog[address.collection].map { row.prefix($0.fields.count) }
        }
        return seen
    }

    /// Returns whether a reason for a rejection that concerns records can be true of a transaction. Other reasons count
    /// as true.
    func mayReject(_ arrival: Arrival, as code: RejectionCode) -> Bool {
        let transaction = arrival.transaction.transaction
        var (created, deleted): (Set<RecordAddress>, Set<RecordAddress>) = ([], [])
        var (missing, gone) = (false, false)
        for mutation in transaction.mutations {
            let address = mutation.address
            let isDead = dead.contains(address) || deleted.contains(address)
            switch mutation.intent {
            case .create:
                gone = gone || isDead
                created.insert(address)
            case .update:
                gone = gone || isDead
                missing = missing || !isDead && rows[address] == nil && !created.contains(address)
            case .delete:
                missing = missing || !isDead && rows[address] == nil && !created.contains(address)
                deleted.insert(address)
            }
        }
        let alive = Set(rows.keys).union(created).subtracting(deleted)
        return switch code {
        case .recordDeleted: gone
        case .missingRecord: missing
        case .danglingReference:
            transaction.mutations.contains { mutation in targets(of: mutation).contains { !alive.contains($0) } }
        case .stillReferenced:
            alive.contains { requiredTargets(of: $0, after: transaction).contains { deleted.contains($0) } }
        case .unseenEdits: transaction.mutations.contains { hasUnseenEdits($0, of: arrival) }
        default: true
        }
    }

    /// Returns whether a mutation deletes a record whose edits win over deletes, and which has an edit that the author
    /// has not seen.
    private func hasUnseenEdits(_ mutation: Mutation, of arrival: Arrival) -> Bool {
        guard case .delete(let seen, let unshown) = mutation.intent,
            catalog[mutation.collection]?.deleteRule == .editWins
        else { return false }
        let author = Origin(identity: arrival.identity, time: arrival.time(of: mutation))
        let unseen = unseenFields(
            mutation.address, by: author, seen: seen <= arrival.head ? seen : .zero, unshown: unshown)
        return !unseen.isEmpty
    }

    /// Returns the names of the fields, emptied ones included, whose last edit an author has not seen.
    private func unseenFields(
        _ address: RecordAddress, by author: Origin, seen: Version, unshown: [FieldName]
    ) -> [FieldName] {
        guard let row = rows[address] else { return [] }
        return (catalog[address.collection]?.fields ?? []).enumerated().filter { position, field in
            !Self.hasSeen(row, position, author, upTo: unshown.contains(field.name) ? .zero : seen)
        }.map(\.element.name)
    }

    /// Returns the records to which a mutation sets references.
    private func targets(of mutation: Mutation) -> [RecordAddress] {
        mutation.patch.compactMap { name, value in
            guard case .reference(let id) = value, let target = catalog[mutation.collection]?.field(named: name)?.target
            else { return nil }
            return RecordAddress(target, id)
        }
    }

    /// Returns the records that a record requires after a transaction.
    private func requiredTargets(of address: RecordAddress, after transaction: Transaction) -> [RecordAddress] {
        var patch = Patch()
        let schema = catalog[address.collection]
        for (field, value) in zip(schema?.fields ?? [], rows[address]?.values ?? []) {
            patch.set(field.name, to: value)
        }
        for mutation in transaction.mutations where mutation.address == address {
            for (name, value) in mutation.patch { patch.set(name, to: value) }
        }
        return (schema?.fields ?? []).compactMap { field in
            guard field.isRequired, let target = field.target, case .reference(let id)? = patch[field.name] else {
                return nil
            }
            return RecordAddress(target, id)
        }
    }

    /// Returns whether the fields that nobody has changed since the creation have the values of a patch.
    private static func hasInitialValues(_ row: Row, _ patch: Patch, _ schema: ModelSchema) -> Bool {
        zip(schema.fields, row.values).enumerated().allSatisfy { position, field in
            row.versions[position] != row.created || field.1 == patch[field.0.name] ?? .null
        }
    }

    /// Returns whether the record exists, or existed.
    func knows(_ address: RecordAddress) -> Bool { rows[address] != nil || dead.contains(address) }

    /// Returns whether a mutation is the creation of its record, according to the time of both.
    func isCreation(_ mutation: Mutation) -> Bool {
        guard case .create = mutation.intent else { return false }
        return created[mutation.address]?.time == mutation.time
    }

    /// Checks that a transaction leaves no required reference dangling (I11).
    func checkReferences(after transaction: Transaction, at version: Version) throws(Violation) {
        let touched = Set(transaction.mutations.map(\.address))
        var dangling: [String] = []
        for (address, row) in rows {
            for (field, value) in zip(catalog[address.collection]?.fields ?? [], row.values) where field.isRequired {
                guard let collection = field.target, case .reference(let id) = value else { continue }
                let target = RecordAddress(collection, id)
                guard touched.contains(address) || touched.contains(target), rows[target] == nil else { continue }
                dangling.append("\(address) without its \(field.name) \(id)")
            }
        }
        if let first = dangling.min() { throw Violation(.I11, "version \(version) leaves \(first)") }
    }

    /// Returns the values that a delete destroys without having seen them, in the order of the fields' names.
    private func destroyed(
        _ address: RecordAddress, by origin: Origin, seen: Version, unshown: [FieldName], of schema: ModelSchema
    ) -> [Conflict] {
        guard let row = rows[address] else { return [] }
        return schema.fields.indices.filter { position in
            let isShown = !unshown.contains(schema.fields[position].name)
            return !row.values[position].isNull && !Self.hasSeen(row, position, origin, upTo: isShown ? seen : .zero)
        }.map { position in
            Conflict(
                address: address, field: schema.fields[position].name, base: .null, winner: .null,
                loser: row.values[position])
        }.sorted { $0.field < $1.field }
    }

    /// Applies an edit of one field.
    ///
    /// - Returns: the conflict, when the field has a different value from another author that this author had not seen;
    ///   nil otherwise.
    private mutating func edit(
        _ address: RecordAddress, _ name: FieldName, of schema: ModelSchema, _ pushed: Pushed, at version: Version
    ) throws(Violation) -> Conflict? {
        guard let position = schema.position(of: name) else {
            throw Violation(.I5, "\(address).\(name) was updated at \(version) but there is no such field")
        }
        guard let row = rows[address] else { return nil }
        let hasSeen = Self.hasSeen(pushed, row, position)
        let isTaken =
            hasSeen || Self.takes(pushed, over: row, at: position, schema.fields[position].mergeRule)
        if isTaken {
            rows[address]?.values[position] = pushed.value
            rows[address]?.origins[position] = pushed.origin
            rows[address]?.versions[position] = version
        }
        let stored = row.values[position]
        guard !hasSeen, stored != pushed.value else { return nil }
        return Conflict(
            address: address, field: name, base: pushed.before, winner: isTaken ? pushed.value : stored,
            loser: isTaken ? stored : pushed.value)
    }

    /// Restores the versions of fields whose values did not change, and remembers which were set to the value that they
    /// had.
    ///
    /// A field's version tells when it was last *changed*. Assigning the value that it already has is not a change.
    private mutating func keepVersions(of transaction: Transaction, from before: [RecordAddress: Row]) {
        for mutation in transaction.mutations {
            let address = mutation.address
            guard let old = before[address], let new = rows[address] else { continue }
            for position in new.values.indices {
                let isSame = old.values[position] == new.values[position]
                if isSame { rows[address]?.versions[position] = old.versions[position] }
                guard old.origins[position] != new.origins[position] else { continue }
                rows[address]?.areRepeats[position] = isSame
            }
        }
    }

    /// Makes the values that a client has set values of nobody.
    private mutating func disown(_ address: RecordAddress, from identity: ClientIdentity) {
        guard var row = rows[address] else { return }
        let nobody = ClientIdentity(client: identity.client, incarnation: -1)
        row.origins = row.origins.map { $0.identity == identity ? Origin(identity: nobody, time: $0.time) : $0 }
        rows[address] = row
    }

    /// Returns whether the author of an edit has seen the field's current value.
    ///
    /// Authors have seen their own earlier edits, even those that were confirmed after this edit was made. A claim to
    /// have seen a version that the space has not reached counts as having seen nothing.
    ///
    /// If a later edit repeated the value, an earlier one has not seen that edit.
    private static func hasSeen(_ pushed: Pushed, _ row: Row, _ position: Int) -> Bool {
        hasSeen(row, position, pushed.origin, upTo: pushed.seen)
    }

    private static func hasSeen(_ row: Row, _ position: Int, _ author: Origin, upTo seen: Version) -> Bool {
        let stored = row.origins[position]
        if stored.identity == author.identity { return true }
        // Nobody has given the field a value since the record was created.
        if row.values[position] == .null, row.versions[position] == row.created { return true }
        let isLater = (author.time, author.identity.client) > (stored.time, stored.identity.client)
        return row.versions[position] <= seen && (isLater || !row.areRepeats[position])
    }

    /// Returns whether an edit replaces the stored value according to the merge rules.
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

    /// Describes how the records of a replica differ from the expected ones; nil when they do not.
    ///
    /// - Parameters:
    ///   - found: the records of each collection.
    ///   - pending: the transactions in the replica's outbox.
    ///   - strange: the records that are not checked.
    func difference(
        _ found: [CollectionName: [Record]], over pending: [Transaction], except strange: Set<RecordAddress> = []
    ) -> String? {
        let touched = touched(by: pending)
        let doubtful = doubtful(in: pending).union(strange)
        var lines: [String] = []
        var shown: Set<RecordAddress> = []
        for (collection, records) in found {
            for record in records {
                let address = RecordAddress(collection, record.id)
                if !shown.insert(address).inserted { lines.append("\(address) is shown twice") }
                if doubtful.contains(address) { continue }
                if let values = touched[address] ?? rows[address]?.values {
                    if record.values != values { lines += differences(address, record.values, values) }
                } else {
                    lines.append("\(address) should not be there")
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

    private func differences(_ address: RecordAddress, _ found: [FieldValue], _ expected: [FieldValue]) -> [String] {
        let fields = catalog[address.collection]?.fields ?? []
        var lines = zip(fields, zip(found, expected)).filter { $0.1.0 != $0.1.1 }.map { field, values in
            "\(address).\(field.name) is \(values.0), not \(values.1)"
        }
        if found.count != fields.count { lines.append("\(address) has \(found.count) fields, not \(fields.count)") }
        return lines
    }

    /// Returns the records that pending transactions touch, as the device should show them; nil for one that should not
    /// be shown.
    private func touched(by pending: [Transaction]) -> [RecordAddress: [FieldValue]?] {
        var touched: [RecordAddress: [FieldValue]?] = [:]
        for mutation in pending.lazy.flatMap(\.mutations) {
            let address = mutation.address
            guard let schema = catalog[mutation.collection] else { continue }
            var values = touched[address] ?? rows[address]?.values
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
            touched.updateValue(values, forKey: address)
        }
        return touched
    }

    /// Returns the deleted records that pending transactions create.
    ///
    /// A device that knows of the deletion no longer shows the record (I12). A device that has seen only a snapshot
    /// without the record does not know of the deletion.
    private func doubtful(in pending: [Transaction]) -> Set<RecordAddress> {
        guard !dead.isEmpty else { return [] }
        var doubtful: Set<RecordAddress> = []
        for mutation in pending.lazy.flatMap(\.mutations) {
            guard case .create = mutation.intent else { continue }
            let address = mutation.address
            if dead.contains(address) { doubtful.insert(address) }
        }
        return doubtful
    }
}
