import SyncCore
import SyncModel

/// The edits that make the store match the rows, in an order in which no reference dangles.
///
/// A row comes after the rows that it must refer to. An optional reference to a later row is left out at first and set
/// in a second round, so that two rows can refer to each other wherever they are in the input.
struct ImportPlan {
    private(set) var problems: [ImportError] = []
    private(set) var created = 0
    private(set) var updated = 0
    private(set) var unchanged = 0

    private var edits: [Planned] = []
    private var isolatedEdits = 0
    private var position = 0

    private struct Planned {
        let edit: RecordEdit
        let space: SpaceID
        /// 1 for the first edit of a row, 0 for its other edits, so that each row counts once.
        let rows: Int
        /// Whether the edit needs its own transaction.
        let isIsolated: Bool
        /// The size of the edit in a transaction, in bytes. It includes the values that the edit replaces.
        let bytes: Int
    }

    /// The edits of one transaction, whose records are in one space.
    struct Chunk {
        let space: SpaceID
        var edits: [RecordEdit] = []
        var rows = 0
        fileprivate var bytes = 0
    }

    /// The place of a row in the input, and the space in which it creates a record if there is none.
    private struct InputRow {
        let line: Int
        let space: SpaceID
    }

    /// A row and the record that it stands for.
    private struct Target {
        let row: ImportRow
        let id: RecordID
        let existing: Record?
        /// The space of the existing record, or the one in which the row creates a record.
        let space: SpaceID
        var patch: Patch
        /// References to rows of this input that are not in the store yet.
        var newReferences: [(field: FieldSchema, to: RecordAddress)] = []

        var address: RecordAddress { RecordAddress(row.collection, id) }

        /// Returns the record to which a field refers, as the input names it.
        func name(of field: FieldName, _ collection: CollectionName, _ id: RecordID) -> String {
            let key = row.links.first { $0.field == field }?.key
            return "\(collection) \(key.map { "@\($0)" } ?? id.description)"
        }
    }

    /// The number of rows that the import processes.
    var rowCount: Int { created + updated + unchanged }

    /// Plans the edits for the rows.
    ///
    /// - Parameter space: the space of new records; nil for the space that a row names, or else the default one.
    init(
        _ rows: [ImportRow], store: any LocalStore, space: SpaceID?, identity: RecordIdentity, rules: Importer.Rules
    ) throws(StoreError) {
        let rejected = try RejectedRecords(in: store)
        var targets: [Target] = []
        var input: [RecordAddress: InputRow] = [:]
        for row in rows {
            let address = RecordAddress(row.collection, Self.id(of: row, identity))
            if let earlier = input[address] {
                problems.append(ImportError(line: row.line, "this row is for the same record as line \(earlier.line)"))
                continue
            }
            let home = space ?? row.space ?? .default
            input[address] = InputRow(line: row.line, space: home)
            switch try Self.target(row, address, store, home, rejected, rules) {
            case .success(let target): targets.append(target)
            case .failure(let problem): problems.append(problem)
            }
        }
        var spaces: [RecordAddress: SpaceID?] = [:]
        for index in targets.indices {
            try Self.link(
                &targets[index], among: input, store: store, identity: identity, spaces: &spaces, &problems)
        }
        let broken = Set(problems.map(\.line))
        targets.removeAll { broken.contains($0.row.line) }
        problems += Self.order(&targets)
        problems += Self.removeDependents(from: &targets)
        plan(targets, store.catalog, perhapsRejected: rejected.perhapsUsed)
    }

    /// Looks up the record of a row.
    private static func target(
        _ row: ImportRow, _ address: RecordAddress, _ store: any LocalStore, _ space: SpaceID,
        _ rejected: RejectedRecords, _ rules: Importer.Rules
    ) throws(StoreError) -> Result<Target, ImportError> {
        var patch: Patch
        do {
            patch = try rules(row.patch, row.collection)
        } catch {
            return .failure(ImportError(line: row.line, "\(error)"))
        }
        let existing = try store.record(row.collection, .id(address.id))
        if existing == nil, store.catalog[row.collection] != nil, try store.isPending(row.collection, address.id) {
            return .failure(
                ImportError(
                    line: row.line,
                    "its record was deleted on this device, and a deleted record stays deleted; give the row another key to create a new record"
                ))
        }
        if existing == nil, rejected.deleted.contains(address) {
            return .failure(
                ImportError(
                    line: row.line,
                    "its record was deleted on the server (see the journal), and a deleted record stays deleted; give the row another key to create a new record"
                ))
        }
        if existing == nil, rejected.elsewhere[address]?.contains(space) == true {
            return .failure(
                ImportError(
                    line: row.line,
                    "the server has its record in another space (see the journal); give the row another key to create a new record"
                ))
        }
        if let existing, let schema = store.catalog[row.collection] { patch.keepForm(of: existing, schema) }
        let current = existing == nil ? nil : try store.space(of: row.collection, address.id)
        return .success(Target(row: row, id: address.id, existing: existing, space: current ?? space, patch: patch))
    }

    private static func id(of row: ImportRow, _ identity: RecordIdentity) -> RecordID {
        switch row.identity {
        case .record(let id): id
        case .key(let key): identity.record(row.collection, key: key)
        }
    }

    /// Looks up the references of a row. Each one leads to a record of the store or to a row of this input, in the
    /// space of the row's own record.
    ///
    /// - Parameter spaces: the spaces of the records looked up so far; nil for records that are not in the store.
    private static func link(
        _ target: inout Target, among input: [RecordAddress: InputRow], store: any LocalStore,
        identity: RecordIdentity, spaces: inout [RecordAddress: SpaceID?], _ problems: inout [ImportError]
    ) throws(StoreError) {
        guard let schema = store.catalog[target.row.collection] else {
            problems.append(ImportError(line: target.row.line, "there is no collection \(target.row.collection)"))
            return
        }
        for link in target.row.links {
            target.patch.set(link.field, to: .reference(identity.record(link.target, key: link.key)))
        }
        if target.existing == nil {
            // Other fields stay empty: if another device has imported the record from a longer list, a default would
            // compete with the values of that list.
            for field in schema.fields where field.isRequired && target.patch[field.name] == nil {
                if !field.defaultValue.isNull { target.patch.set(field.name, to: field.defaultValue) }
            }
        }
        for (name, value) in target.patch {
            guard case .reference(let id) = value, let field = schema.field(named: name), let to = field.target else {
                continue
            }
            let address = RecordAddress(to, id)
            let stored: SpaceID?
            if let known = spaces[address] {
                stored = known
            } else {
                stored = try store.space(of: to, id)
                spaces[address] = .some(stored)
            }
            guard let found = stored ?? input[address]?.space else {
                problems.append(
                    ImportError(
                        line: target.row.line,
                        "\(schema.collection).\(name) refers to \(target.name(of: name, to, id)), which is neither on this device nor among the rows that can be imported"
                    ))
                return
            }
            guard found == target.space else {
                problems.append(
                    ImportError(
                        line: target.row.line,
                        "\(schema.collection).\(name) refers to \(target.name(of: name, to, id)) in the space \(found), but this \(schema.collection) is in the space \(target.space); a record can only refer to records of its own space"
                    ))
                return
            }
            if stored == nil { target.newReferences.append((field, address)) }
        }
        guard target.existing == nil else { return }
        do throws(InvalidValueError) {
            try schema.check(creating: target.patch)
        } catch {
            problems.append(ImportError(line: target.row.line, error.description))
            return
        }
        // An update is written in several transactions, if it must be.
        let bytes = byteCount(of: target.patch, of: target, schema)
        if bytes > SchemaLimits.transactionBytes {
            problems.append(
                ImportError(
                    line: target.row.line,
                    "the new record has \(bytes) bytes; at most \(SchemaLimits.transactionBytes) are allowed"))
        }
    }

    /// Puts the rows into an order in which each comes after the rows that it must refer to, and removes those that
    /// must refer to each other.
    ///
    /// - Returns: a problem for each removed row.
    private static func order(_ targets: inout [Target]) -> [ImportError] {
        var positions: [RecordAddress: Int] = [:]
        for (position, target) in targets.enumerated() { positions[target.address] = position }
        let references = targets.map { target in
            target.newReferences.filter(\.field.isRequired).compactMap { positions[$0.to] }
        }
        var ordered: [Target] = []
        var problems: [ImportError] = []
        for group in ReferenceGroups.of(references) {
            if let row = group.first, group.count == 1, !references[row].contains(row) {
                ordered.append(targets[row])
            } else {
                problems += group.map {
                    ImportError(line: targets[$0].row.line, "its required references form a cycle")
                }
            }
        }
        targets = ordered
        return problems
    }

    /// Removes the rows that refer to a row that is not imported, directly or through other rows.
    ///
    /// - Returns: a problem for each removed row.
    private static func removeDependents(from targets: inout [Target]) -> [ImportError] {
        let coming = Set(targets.map(\.address))
        let missing = Set(targets.flatMap(\.newReferences).map(\.to)).subtracting(coming)
        guard !missing.isEmpty else { return [] }
        let gone = Self.dependents(of: missing, among: targets)
        var problems: [ImportError] = []
        targets.removeAll { target in
            let dangling = target.newReferences.first { missing.contains($0.to) || gone.contains($0.to) }
            guard let dangling else { return false }
            problems.append(
                ImportError(
                    line: target.row.line,
                    "\(target.row.collection).\(dangling.field.name) refers to a row that is not imported"))
            return true
        }
        return problems
    }

    /// Returns the records of the rows that refer to any of the given records, directly or through other rows.
    private static func dependents(of records: Set<RecordAddress>, among targets: [Target]) -> Set<RecordAddress> {
        var referrers: [RecordAddress: [RecordAddress]] = [:]
        for target in targets {
            for reference in target.newReferences { referrers[reference.to, default: []].append(target.address) }
        }
        var found: Set<RecordAddress> = []
        var open = Array(records)
        while let record = open.popLast() {
            for referrer in referrers[record] ?? [] where found.insert(referrer).inserted { open.append(referrer) }
        }
        return found
    }

    private mutating func plan(
        _ targets: [Target], _ catalog: SchemaCatalog, perhapsRejected: Set<RecordAddress>
    ) {
        var placed: Set<RecordAddress> = []
        var second: [Planned] = []
        let isolated = Self.isolated(targets, perhapsRejected)
        for target in targets {
            let isIsolated = isolated.contains(target.address)
            var patch = target.patch
            var later = Patch()
            for (field, address) in target.newReferences where !placed.contains(address) {
                patch.remove(field.name)
                later.set(field.name, to: .reference(address.id))
            }
            placed.insert(target.address)
            let schema = catalog[target.row.collection]
            second += Self.updates(of: target, later, schema, rows: 0, isIsolated)
            if target.existing == nil {
                edits.append(
                    Planned(
                        edit: .create(target.row.collection, target.id, patch), space: target.space, rows: 1,
                        isIsolated: isIsolated, bytes: Self.byteCount(of: patch, of: target, schema)))
            } else {
                edits += Self.updates(of: target, patch, schema, rows: 1, isIsolated)
            }
            count(target, catalog)
        }
        edits += second
        // The edits are grouped by space, because a transaction is of one space. No reference leads to another space,
        // so only the order within a space matters.
        edits = Dictionary(grouping: edits, by: \.space).sorted { $0.key.rawValue < $1.key.rawValue }.flatMap(\.value)
        isolatedEdits = edits.count { $0.isIsolated }
    }

    /// Returns the records that the server may reject: new ones whose ids may be used up on the server, and records
    /// that refer to them.
    private static func isolated(_ targets: [Target], _ perhapsRejected: Set<RecordAddress>) -> Set<RecordAddress> {
        let new = Set(targets.filter { $0.existing == nil }.map(\.address)).intersection(perhapsRejected)
        return new.union(dependents(of: new, among: targets))
    }

    /// Returns the updates that write a patch: several if the values that it replaces make one too large.
    ///
    /// - Parameter rows: the number of rows that the first update stands for.
    private static func updates(
        of target: Target, _ patch: Patch, _ schema: ModelSchema?, rows: Int, _ isIsolated: Bool
    ) -> [Planned] {
        var updates: [Planned] = []
        var part = Patch()
        func append(_ part: Patch) {
            guard !part.isEmpty else { return }
            updates.append(
                Planned(
                    edit: .update(target.row.collection, target.id, part), space: target.space,
                    rows: updates.isEmpty ? rows : 0, isIsolated: isIsolated,
                    bytes: byteCount(of: part, of: target, schema)))
        }
        for (field, value) in patch {
            var longer = part
            longer.set(field, to: value)
            if byteCount(of: longer, of: target, schema) > SchemaLimits.transactionBytes {
                append(part)
                longer = [field: value]
            }
            part = longer
        }
        append(part)
        return updates
    }

    private mutating func count(_ target: Target, _ catalog: SchemaCatalog) {
        guard let existing = target.existing, let schema = catalog[target.row.collection] else {
            created += 1
            return
        }
        let isSame = target.patch.allSatisfy { name, value in
            schema.position(of: name).map { existing.values[$0] == value } ?? false
        }
        if isSame { unchanged += 1 } else { updated += 1 }
    }

    /// Returns the next edits to write together, or nil at the end.
    ///
    /// Rows of a space share a transaction, except those that the server may reject, because the server rejects a
    /// transaction as a whole.
    mutating func nextChunk() -> Chunk? {
        guard position < edits.count else { return nil }
        let isIsolated = edits[position].isIsolated
        let most = isIsolated ? editsPerIsolatedTransaction : ImportLimits.mutationsPerTransaction
        var chunk = Chunk(space: edits[position].space)
        while position < edits.count {
            let next = edits[position]
            if !chunk.edits.isEmpty,
                next.space != chunk.space || next.isIsolated != isIsolated || chunk.edits.count >= most
                    || chunk.bytes + next.bytes > ImportLimits.bytesPerTransaction
            {
                break
            }
            chunk.edits.append(next.edit)
            chunk.rows += next.rows
            chunk.bytes += next.bytes
            position += 1
        }
        return chunk
    }

    /// Edits per transaction that the server may reject: one, or more if the import would otherwise need more than
    /// `ImportLimits.transactions`.
    private var editsPerIsolatedTransaction: Int {
        min(isolatedEdits / ImportLimits.transactions + 1, ImportLimits.mutationsPerTransaction)
    }

    /// Returns the size in a transaction of the edit that writes a patch. Values that stay as they are do not count.
    private static func byteCount(of patch: Patch, of target: Target, _ schema: ModelSchema?) -> Int {
        var intent = Mutation.Intent.create(patch)
        if let existing = target.existing {
            let edits = patch.compactMap { field, value -> FieldEdit? in
                let before = schema?.position(of: field).map { existing.values[$0] } ?? .null
                return before == value ? nil : FieldEdit(field: field, value: value, before: before, seen: .zero)
            }
            intent = .update(edits)
        }
        return Mutation(collection: target.row.collection, record: target.id, time: .zero, intent: intent).byteCount
    }
}

extension Patch {
    /// Gives JSON values the form that they have in the record, if an export writes both in the same way: on one line.
    fileprivate mutating func keepForm(of record: Record, _ schema: ModelSchema) {
        for (name, value) in self {
            guard let position = schema.position(of: name), case .json(let old) = record.values[position] else {
                continue
            }
            // An export writes both as null.
            if value.isNull, old == "null" { set(name, to: .json(old)) }
            guard case .json(let new) = value, new != old,
                new.utf8.lazy.map(\.asSpace).elementsEqual(old.utf8.lazy.map(\.asSpace))
            else { continue }
            set(name, to: .json(old))
        }
    }
}

extension UInt8 {
    /// A space in place of a control character, which JSON permits only as white space.
    fileprivate var asSpace: UInt8 { self < 0x20 ? 0x20 : self }
}
