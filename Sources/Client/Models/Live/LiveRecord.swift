public import SyncModel

/// The state of a live object, and the drafts that belong to it.
///
/// All objects of the record share the state. A `LiveRecord` refers to states, but a state never refers to another
/// state, so that records that refer to each other do not form a retain cycle.
public final class LiveRecord: Sendable {
    let cell: LiveCell
    let draftGroup: DraftGroup

    init(cell: LiveCell) {
        self.cell = cell
        draftGroup = cell.group
    }

    public var objects: LiveObjects { cell.objects }

    public var id: RecordID? { cell.id }

    /// Identifies the record, without its values.
    public var label: String { cell.label }

    // MARK: Properties

    /// The value of a field: the one that was set here, or else the one that the source last showed. Only reads memory.
    public subscript(field: ModelField) -> FieldValue {
        get { cell.value(at: field.position) }
        set { cell.set(field, to: newValue) }
    }

    /// Returns the text of a field, or nil when it has none.
    public func text(_ field: ModelField) -> String? {
        if case .text(let text) = self[field] { text } else { nil }
    }

    /// Sets the text of a field; nil removes the value.
    public func set(_ field: ModelField, toText text: String?) {
        self[field] = text.map { .text($0) } ?? .null
    }

    /// Returns the live object that a field refers to, or nil when it refers to nothing or to a deleted object.
    ///
    /// Returns a placeholder for a record that is not here and may still arrive.
    public func object<Model: LiveModel>(_ field: ModelField, as type: Model.Type) -> Model? {
        guard case .reference(let id) = self[field] else { return nil }
        let object = objects.reach(type, id)
        // A deleted object still shows its last values, and therefore all objects that it refers to.
        return object.presence == .gone && cell.presence != .gone ? nil : object
    }

    /// Sets a reference; nil removes it. A draft that is referred to is created together with this object.
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
