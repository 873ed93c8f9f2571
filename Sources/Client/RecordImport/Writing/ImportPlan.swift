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
    let rowCount: Int

    private var edits: [Planned]
    private var loneEdits = 0
    private var position = 0

    private struct Planned {
        let edit: RecordEdit
        let space: SpaceID
        /// 1 for the first edit of a row, 0 for an edit of the second round.
        let rows: Int
        /// Whether the edit needs its own transaction.
        let isAlone: Bool
    }

    /// The edits of one transaction, whose records are in one space.
    struct Chunk {
        let space: SpaceID
        var edits: [RecordEdit] = []
        var rows = 0
        fileprivate var bytes = 0
    }

    /// A row and the record that it stands for.
    private struct Target {
        let row: ImportRow
        let id: RecordID
        let existing: Record?
        /// The space of the existing record, or the one in which the import creates records.
        let space: SpaceID
        var patch: Patch
        /// References to rows of this input that are not in the store yet.
        var forward: [(field: FieldSchema, id: RecordID)]

        /// Returns the record to which a field refers, as the input names it.
        func name(of field: FieldName, _ collection: CollectionName, _ id: RecordID) -> String {
            let key = row.links.first { $0.field == field }?.key
            return "\(collection) \(key.map { "@\($0)" } ?? id.description)"
        }
    }

    /// - Parameter space: the space of new records.
    init(
        _ rows: [ImportRow], store: any LocalStore, space: SpaceID, identity: RecordIdentity, rules: Importer.Rules
    ) throws(StoreError) {
        edits = []
        let refused = try RefusedRecords(in: store)
        var targets: [Target] = []
        var addresses: [RecordAddress: Int] = [:]
        for row in rows {
            let address = RecordAddress(row.collection, Self.id(of: row, identity))
            if let earlier = addresses[address] {
                problems.append(ImportError(line: row.line, "the same record as in line \(earlier)"))
                continue
            }
            addresses[address] = row.line
            switch try Self.target(row, address, store, space, refused, rules) {
            case .success(let target): targets.append(target)
            case .failure(let problem): problems.append(problem)
            }
        }
        var homes: [RecordAddress: SpaceID?] = [:]
        for index in targets.indices {
            try Self.link(
                &targets[index], among: addresses, store: store, creatingIn: space, identity: identity, homes: &homes,
                &problems)
        }
        rowCount = targets.count
        let broken = Set(problems.map(\.line))
        targets.removeAll { broken.contains($0.row.line) }
        var ordered: [Target] = []
        var stuck: [ImportError] = []
        repeat {
            problems += Self.removeDependants(from: &targets)
            (ordered, stuck) = Self.order(targets)
            problems += stuck
            targets = ordered
        } while !stuck.isEmpty
        plan(ordered, store.catalog, suspects: refused.suspects)
    }

    /// Looks up the record of a row.
    private static func target(
        _ row: ImportRow, _ address: RecordAddress, _ store: any LocalStore, _ space: SpaceID,
        _ refused: RefusedRecords, _ rules: Importer.Rules
    ) throws(StoreError) -> Result<Target, ImportError> {
        let patch: Patch
        do {
            patch = try rules(row.patch, row.collection)
        } catch {
            return .failure(ImportError(line: row.line, "\(error)"))
        }
        let existing = try store.record(row.collection, .id(address.id))
        if existing == nil, store.catalog[row.collection] != nil, try store.isPending(row.collection, address.id) {
            return .failure(
                ImportError(
                    line: row.line, "its record was deleted on this device, and a deleted record stays deleted"))
        }
        if existing == nil, refused.deleted.contains(address) {
            return .failure(
                ImportError(
                    line: row.line,
                    "its record was deleted on the server (see the journal), and a deleted record stays deleted"))
        }
        let home = existing == nil ? nil : try store.space(of: row.collection, address.id)
        return .success(
            Target(row: row, id: address.id, existing: existing, space: home ?? space, patch: patch, forward: []))
    }

    private static func id(of row: ImportRow, _ identity: RecordIdentity) -> RecordID {
        switch row.identity {
        case .record(let id): id
        case .key(let key): identity.record(row.collection, key: key)
        }
    }

    /// Looks up the references of a row. Each one leads to a record of the store or to a row of this input, in the space
    /// of the row's own record.
    ///
    /// - Parameters:
    ///   - space: the space of new records.
    ///   - homes: the spaces of the records looked up so far; nil for records that are not in the store.
    private static func link(
        _ target: inout Target, among addresses: [RecordAddress: Int], store: any LocalStore,
        creatingIn space: SpaceID, identity: RecordIdentity, homes: inout [RecordAddress: SpaceID?],
        _ problems: inout [ImportError]
    ) throws(StoreError) {
        guard let schema = store.catalog[target.row.collection] else {
            problems.append(ImportError(line: target.row.line, "there is no collection \(target.row.collection)"))
            return
        }
        for link in target.row.links {
            target.patch.set(link.field, to: .reference(identity.record(link.target, key: link.key)))
        }
        for (name, value) in target.patch {
            guard case .reference(let id) = value, let field = schema.field(named: name), let to = field.target else {
                continue
            }
            let address = RecordAddress(to, id)
            let stored: SpaceID?
            if let known = homes[address] {
                stored = known
            } else {
                stored = try store.space(of: to, id)
                homes[address] = .some(stored)
            }
            guard let home = stored ?? (addresses[address] == nil ? nil : space) else {
                problems.append(
                    ImportError(
                        line: target.row.line,
                        "\(schema.collection).\(name) refers to \(target.name(of: name, to, id)), which is neither on this device nor in the input"
                    ))
                return
            }
            guard home == target.space else {
                problems.append(
                    ImportError(
                        line: target.row.line,
                        "\(schema.collection).\(name) refers to \(target.name(of: name, to, id)) in the space \(home), but this \(schema.collection) is in the space \(target.space); a record can only refer to records of its own space"
                    ))
                return
            }
            if stored == nil { target.forward.append((field, id)) }
        }
        if target.existing == nil {
            do throws(InvalidValueError) {
                try schema.check(creating: target.patch)
            } catch {
                problems.append(ImportError(line: target.row.line, error.description))
            }
        }
    }

    /// Removes the rows that refer to a row that is not imported, directly or through other rows. A row is imported
    /// whole or not at all.
    private static func removeDependants(from targets: inout [Target]) -> [ImportError] {
        var problems: [ImportError] = []
        while true {
            let coming = Set(targets.map { RecordAddress($0.row.collection, $0.id) })
            let missing = { (target: Target) in
                target.forward.first {
                    !coming.contains(RecordAddress($0.field.target ?? target.row.collection, $0.id))
                }
            }
            let broken = targets.compactMap { target in
                missing(target).map { link in
                    ImportError(
                        line: target.row.line,
                        "\(target.row.collection).\(link.field.name) refers to a row that is not imported")
                }
            }
            guard !broken.isEmpty else { return problems }
            problems += broken
            targets.removeAll { missing($0) != nil }
        }
    }

    /// Returns the rows, each after the rows that it must refer to, and a problem for each row that cannot be ordered.
    private static func order(_ targets: [Target]) -> ([Target], [ImportError]) {
        var placed: Set<RecordAddress> = []
        var ordered: [Target] = []
        var waiting = targets
        while !waiting.isEmpty {
            var left: [Target] = []
            for target in waiting {
                let needs = target.forward.contains {
                    $0.field.isRequired
                        && !placed.contains(
                            RecordAddress($0.field.target ?? target.row.collection, $0.id))
                }
                if needs {
                    left.append(target)
                } else {
                    placed.insert(RecordAddress(target.row.collection, target.id))
                    ordered.append(target)
                }
            }
            guard left.count < waiting.count else {
                return (
                    ordered,
                    left.map {
                        ImportError(
                            line: $0.row.line,
                            "it is required to refer to a row that, directly or not, is required to refer to it")
                    }
                )
            }
            waiting = left
        }
        return (ordered, [])
    }

    private mutating func plan(_ targets: [Target], _ catalog: SchemaCatalog, suspects: Set<RecordAddress>) {
        var placed: Set<RecordAddress> = []
        var second: [Planned] = []
        let doubtful = Self.doubtful(targets, suspects)
        for target in targets {
            let address = RecordAddress(target.row.collection, target.id)
            let isAlone = doubtful.contains(address)
            var patch = target.patch
            var later = Patch()
            for (field, id) in target.forward {
                let address = RecordAddress(field.target ?? target.row.collection, id)
                if placed.contains(address) { continue }
                patch.remove(field.name)
                later.set(field.name, to: .reference(id))
            }
            if !later.isEmpty {
                second.append(
                    Planned(
                        edit: .update(target.row.collection, target.id, later), space: target.space, rows: 0,
                        isAlone: isAlone))
            }
            placed.insert(address)
            edits.append(
                Planned(edit: edit(target, patch), space: target.space, rows: 1, isAlone: isAlone))
            count(target, catalog)
        }
        edits += second
        // The edits of a space together, because a transaction is of one space. No reference leads to another space, so
        // their order within a space is enough.
        edits = Dictionary(grouping: edits, by: \.space).sorted { $0.key.rawValue < $1.key.rawValue }.flatMap(\.value)
        loneEdits = edits.count { $0.isAlone }
    }

    /// Returns the records that the server may reject: suspects that this import creates, and records that refer to
    /// them.
    private static func doubtful(_ targets: [Target], _ suspects: Set<RecordAddress>) -> Set<RecordAddress> {
        guard !suspects.isEmpty else { return [] }
        var doubtful: Set<RecordAddress> = []
        for target in targets where target.existing == nil {
            let address = RecordAddress(target.row.collection, target.id)
            if suspects.contains(address) { doubtful.insert(address) }
        }
        var count = -1
        while count < doubtful.count {
            count = doubtful.count
            for target in targets {
                let refersToDoubt = target.forward.contains {
                    doubtful.contains(RecordAddress($0.field.target ?? target.row.collection, $0.id))
                }
                if refersToDoubt {
                    doubtful.insert(RecordAddress(target.row.collection, target.id))
                }
            }
        }
        return doubtful
    }

    private func edit(_ target: Target, _ patch: Patch) -> RecordEdit {
        target.existing == nil
            ? .create(target.row.collection, target.id, patch) : .update(target.row.collection, target.id, patch)
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
    /// Rows of a space share a transaction, except those that the server may reject, because it would reject all of
    /// them.
    mutating func nextChunk() -> Chunk? {
        guard position < edits.count else { return nil }
        let isAlone = edits[position].isAlone
        let most = isAlone ? editsPerLoneTransaction : ImportLimits.mutationsPerTransaction
        var chunk = Chunk(space: edits[position].space)
        while position < edits.count {
            let next = edits[position]
            let bytes = Self.byteCount(of: next.edit)
            if !chunk.edits.isEmpty,
                next.space != chunk.space || next.isAlone != isAlone || chunk.edits.count >= most
                    || chunk.bytes + bytes > ImportLimits.bytesPerTransaction
            {
                break
            }
            chunk.edits.append(next.edit)
            chunk.rows += next.rows
            chunk.bytes += bytes
            position += 1
        }
        return chunk
    }

    /// Edits per transaction that the server may reject: one, unless that would need too many transactions.
    private var editsPerLoneTransaction: Int {
        min(loneEdits / ImportLimits.transactions + 1, ImportLimits.mutationsPerTransaction)
    }

    private static func byteCount(of edit: RecordEdit) -> Int {
        switch edit {
        case .create(_, _, let patch), .update(_, _, let patch):
            patch.reduce(128) { $0 + $1.field.rawValue.utf8.count + $1.value.byteCount }
        case .delete: 128
        }
    }
}
