public import Observation
import SyncCore
public import SyncModel
public import TomboloModeling

/// One record as an object: its values now, and the edits that are not written yet.
///
/// A client has one object per record, however it is reached, so `todo.owner === ned` compares records. The exception
/// is a placeholder that was requested by uid: if the record already has an object when it arrives, both objects
/// remain. They have the same ``id``, and show the same state.
///
/// Reads are synchronous, need no store, and never fail. Setting a property stages an edit, which ``save()`` writes
/// and ``revert()`` drops. A live object is safe to use from any thread. It is observable: views and
/// `withObservationTracking` follow its changes.
///
/// ```swift
/// todo.title = "Bread"
/// let receipt = try await todo.save()     // durable on this device
/// try await receipt.confirmed()           // accepted by the server
/// ```
///
/// A deleted object keeps the values that it last had, and its ``presence`` is `gone`.
@dynamicMemberLookup
public final class Live<M: Model>: Presentable, Observable {
    let kind: LiveKind<M>
    let cell: LiveCell
    /// The group of a draft, which this object keeps alive.
    private let draftGroup: DraftGroup?
    private let registrar = ObservationRegistrar()

    init(kind: LiveKind<M>, cell: LiveCell) {
        self.kind = kind
        self.cell = cell
        draftGroup = cell.presence == .draft ? cell.madeGroup() : nil
        cell.attach(self)
    }

    /// The model's shape, whose fields are the arguments of the subscripts: `todo[todo.fields.title]`.
    public var fields: M { kind.shape.fields }

    // MARK: Properties

    /// The value of a field: `todo.title`.
    ///
    /// Setting it stages an edit, unless the record shows this value already. If the value breaks a rule of the model,
    /// ``save()`` throws an error that names the field.
    public subscript<Value>(dynamicMember path: KeyPath<M, ModelField<M, Value>>) -> Value {
        @inlinable get { self[fields[keyPath: path]] }
        set { self[fields[keyPath: path]] = newValue }
    }

    /// The object to which a reference leads: `todo.owner`. Nil if the reference is empty, or if its object was deleted
    /// and this one was not.
    ///
    /// Setting it stages an edit. A draft that is assigned here is created together with this object.
    public subscript<Other>(dynamicMember path: KeyPath<M, ModelReference<M, Other>>) -> Live<Other>? {
        get { self[fields[keyPath: path]] }
        set { self[fields[keyPath: path]] = newValue }
    }

    /// The value of a field. In loops, this subscript is faster than a property.
    public subscript<Value>(field: ModelField<M, Value>) -> Value {
        // Inlinable, because generic code would look up the type of the field for each access.
        @inlinable get { field.value(storedValue(at: field.key.slot)) }
        set {
            guard let stored = field.stored(newValue) else {
                return refuse(field.key, newValue.storageProblem ?? "the value cannot be stored")
            }
            set(field.key, to: stored, missing: field.missing)
        }
    }

    /// The object to which a reference leads; nil as for the property.
    public subscript<Other>(reference: ModelReference<M, Other>) -> Live<Other>? {
        get {
            track()
            guard case .reference(let id) = cell.value(at: reference.key.slot),
                let kind = try? cell.objects.kind(of: Other.self)
            else { return nil }
            let object = cell.objects.reach(kind, id)
            // A deleted object shows its last values, and so do all objects that it refers to.
            return cell.presence != .gone && cell.isDeleted(object.presence) ? nil : object
        }
        set { refer(reference, to: newValue) }
    }

    /// Sets a reference to any presentable object; nil removes it.
    public func refer<Other>(_ reference: ModelReference<M, Other>, to object: (any Presentable)?) {
        guard let object else { return set(reference.key, to: .null) }
        guard let id = object.id else {
            return refuse(reference.key, "cannot refer to \(object): it is not on this device, so its id is unknown")
        }
        if let other = object as? Live<Other> {
            guard other.cell.objects === cell.objects else {
                return refuse(reference.key, "cannot refer to \(object): it belongs to another client")
            }
            if other.cell.presence == .draft { cell.objects.join(cell.madeGroup(), with: other.cell.madeGroup()) }
        }
        set(reference.key, to: .reference(id))
    }

    @usableFromInline
    func storedValue(at slot: Int) -> FieldValue {
        track()
        return cell.value(at: slot)
    }

    private func set(_ key: FieldKey, to value: FieldValue, missing: FieldValue = .null) {
        if let problem = key.problem(in: M.collection) { return cell.refuse(key.name, ModelError(problem)) }
        cell.set(key, to: value, missing: missing)
    }

    private func refuse(_ key: FieldKey, _ problem: String) {
        cell.refuse(key.name, ModelError(.invalidValue, "\(M.collection).\(key.name) \(problem)"))
    }

    // MARK: Edits

    /// The edits that are staged and not written.
    public var edits: ModelChange<M> {
        track()
        return ModelChange(cell.staged.map { ($0.field, $0.before, $0.after) })
    }

    /// Drops the staged edits. A draft gets the default values of its model.
    public func revert() {
        cell.revert()
    }

    // MARK: State

    /// A number that increases with each visible change of this object in this process.
    public var version: Int {
        track()
        return cell.observedState.revision
    }

    /// The values of the record now, staged edits included; nil for a placeholder whose id is not known.
    public var snapshot: Snapshot<M>? {
        track()
        guard let id else { return nil }
        return Snapshot(id: id, uid: uid, values: cell.values, shape: kind.shape)
    }

    func track() {
        registrar.access(self, keyPath: kind.version)
    }
}

extension Live: CellObserver {
    /// Notifies observers after the change is visible, so that an observer on another thread reads the new value.
    func cellChanged() {
        registrar.withMutation(of: self, keyPath: kind.version) {}
    }
}

extension Live: Hashable {
    public static func == (left: Live, right: Live) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension Live: Identifiable {}
