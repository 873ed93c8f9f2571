public import SyncModel

/// The state of a live object, and the drafts that belong with it.
///
/// The state is shared by all who reach the record. References lead from here to states, and never from a state to
/// a state, so that a circle of records is no circle of memory.
public final class LiveRecord: Sendable {
    let cell: LiveCell
    let draftGroup: DraftGroup

    init(cell: LiveCell) {
        self.cell = cell
        draftGroup = cell.group
    }

    public var objects: LiveObjects { cell.objects }

    public var id: RecordID? { cell.id }

    /// Says which record this is, without its values.
    public var label: String { cell.label }

    // MARK: Properties

    /// The value that the field shows: the one set here, or else the one that the source last showed. Reads memory only.
    public subscript(field: ModelField) -> FieldValue {
        get { cell.value(at: field.position) }
        set { cell.set(field, to: newValue) }
    }

    /// The text of a field; nil when it has none.
    public func text(_ field: ModelField) -> String? {
        if case .text(let text) = self[field] { text } else { nil }
    }

    /// Sets a text; nil takes the value away.
    public func set(_ field: ModelField, toText text: String?) {
        self[field] = text.map { .text($0) } ?? .null
    }

    /// The live object that a field refers to; nil when it refers to nothing, or to something that is gone.
    ///
    /// A record that is not here, and may come yet, gives a placeholder.
    public func object<Model: LiveModel>(_ field: ModelField, as type: Model.Type) -> Model? {
        guard case .reference(let id) = self[field] else { return nil }
        let object = objects.reach(type, id)
        // A deleted object shows its last values, and so do all objects that it refers to.
        return object.presence == .gone && cell.presence != .gone ? nil : object
    }

    /// Sets a reference; nil takes it away. A draft that is referred to is created along with this object.
    public func set(_ field: ModelField, to object: (any Presentable)?) {
        guard let object else {
            self[field] = .null
            return
        }
        guard let id = object.id else {
            cell.refuse(
                field,
                ModelFailure(
                    .invalidValue,
                    "\(cell.collection).\(field.name) cannot refer to \(object): it is not here, and so its id is not known"
                ))
            return
        }
        if let other = (object as? any LiveModel)?.record {
            guard other.objects === objects else {
                cell.refuse(
                    field,
                    ModelFailure(
                        .invalidValue,
                        "\(cell.collection).\(field.name) cannot refer to \(object): it belongs to another composition")
                )
                return
            }
            if other.cell.presence == .draft { objects.join(self, with: other) }
        }
        self[field] = .reference(id)
    }
}
