package import SyncModel

extension [RecordEdit] {
    /// Returns these edits in several transactions, each within the limits of one, in the order to write them.
    ///
    /// Creates come first, with the records that they require. Values that have no room there, and optional references
    /// to records that are created later, follow as updates. Deletes stay together at the end. An edit that exceeds the
    /// limits by itself stays as it is.
    package func inParts(_ catalog: SchemaCatalog) -> [[RecordEdit]] {
        var parts = EditParts()
        let creates = filter { if case .create = $0 { true } else { false } }
        let positions = Dictionary(creates.indices.map { (creates[$0].address, $0) }) { first, _ in first }
        func targets(of edit: RecordEdit, required: Bool) -> [(field: FieldName, target: RecordAddress)] {
            edit.patch.compactMap { name, value in
                guard case .reference(let id) = value, let field = catalog[edit.collection]?.field(named: name),
                    let target = field.target, field.isRequired == required
                else { return nil }
                return (name, RecordAddress(target, id))
            }
        }
        var created: Set<RecordAddress> = []
        var later: [RecordEdit] = []
        let required = creates.map { targets(of: $0, required: true).compactMap { positions[$0.target] } }
        for group in ReferenceGroups.of(required) {
            created.formUnion(group.map { creates[$0].address })
            var room = SchemaLimits.transactionBytes
            for position in group { room -= creates[position].requiredPart(catalog).byteCount }
            var edits: [RecordEdit] = []
            for position in group {
                let edit = creates[position]
                let early = targets(of: edit, required: false)
                    .filter { positions[$0.target] != nil && !created.contains($0.target) }
                let (now, rest) = edit.patch.split(
                    besides: edit.requiredPart(catalog).patch, into: &room, postponing: Set(early.map(\.field)))
                edits.append(.create(edit.collection, edit.record, now))
                if !rest.isEmpty { later.append(.update(edit.collection, edit.record, rest)) }
            }
            parts.add(edits)
        }
        let updates = filter { if case .update = $0 { true } else { false } }
        for edit in updates + later {
            // The values that the update replaces count as well, and are not known here.
            for (name, value) in edit.patch {
                var single = Patch()
                single.set(name, to: value)
                parts.add([.update(edit.collection, edit.record, single)])
            }
        }
        parts.add(filter { if case .delete = $0 { true } else { false } })
        return parts.all
    }
}

/// Edits packed into as few transactions as the limits allow.
private struct EditParts {
    private(set) var all: [[RecordEdit]] = []
    private var bytes = 0

    /// Adds edits that must stay together.
    mutating func add(_ edits: [RecordEdit]) {
        guard !edits.isEmpty else { return }
        let size = edits.reduce(0) { $0 + $1.byteCount }
        if let last = all.last, last.count + edits.count <= SchemaLimits.mutationsPerTransaction,
            bytes + size <= SchemaLimits.transactionBytes
        {
            all[all.count - 1] += edits
            bytes += size
        } else {
            all.append(edits)
            bytes = size
        }
    }
}

extension Patch {
    /// Returns the values of a create, and those that must follow later. The shortest values come first.
    ///
    /// - Parameters:
    ///   - required: The values that the create must have. They are not counted.
    ///   - room: The bytes that are left in the transaction.
    fileprivate func split(
        besides required: Patch, into room: inout Int, postponing postponed: Set<FieldName>
    ) -> (now: Patch, later: Patch) {
        var (now, later) = (required, Patch())
        let optional = filter { required[$0.field] == nil }
        for (name, value) in optional.sorted(by: { $0.value.byteCount < $1.value.byteCount }) {
            let size = name.rawValue.utf8.count + value.byteCount
            if !postponed.contains(name), size <= room {
                now.set(name, to: value)
                room -= size
            } else {
                later.set(name, to: value)
            }
        }
        return (now, later)
    }
}

extension RecordEdit {
    /// The create with its required values only.
    fileprivate func requiredPart(_ catalog: SchemaCatalog) -> RecordEdit {
        var required = Patch()
        for (name, value) in patch where catalog[collection]?.field(named: name)?.isRequired == true {
            required.set(name, to: value)
        }
        return .create(collection, record, required)
    }

    /// The size of the edit, as a transaction counts it. An update is taken to replace values of the same size.
    fileprivate var byteCount: Int {
        let intent: Mutation.Intent =
            switch self {
            case .create(_, _, let patch): .create(patch)
            case .update(_, _, let patch):
                .update(patch.map { FieldEdit(field: $0.field, value: $0.value, before: $0.value, seen: .zero) })
            case .delete: .delete(seen: .zero)
            }
        return Mutation(collection: collection, record: record, time: .zero, intent: intent).byteCount
    }
}
