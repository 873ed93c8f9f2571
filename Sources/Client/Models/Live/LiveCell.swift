import SyncConcurrency
import SyncCore
import SyncModel

/// The in-memory state of one record: the values that the source last showed, overlaid with local edits not written
/// yet.
final class LiveCell: Sendable {
    let kind: ModelKind
    let objects: LiveObjects
    private let state: Guarded<State>

    private struct State: Sendable {
        var key: RecordKey
        var presence: Presence
        /// The record as the source last showed it.
        var shown: Record?
        /// Values that were set here and not written yet.
        var edits = Patch()
        /// The values that reads return, one per field: `shown` overlaid with `edits`.
        var values: [FieldValue]
        /// The reasons why values could not be set. They are thrown when the object is written.
        var refusals: [FieldName: ModelFailure] = [:]
        /// The write that created the record; nil when it was not created here.
        var creation: Written?
        /// Number of visible changes.
        var revision = 0
        /// The latest read of the source that was applied.
        var lastRead = ReadSequence.none
        weak var group: DraftGroup?
        /// The state of the same record that was already registered under its id when this one was found under its uid.
        var successor: LiveCell?
    }

    init(kind: ModelKind, objects: LiveObjects, key: RecordKey, presence: Presence, edits: Patch = Patch()) {
        self.kind = kind
        self.objects = objects
        var values = Array(repeating: FieldValue.null, count: kind.schema.fields.count)
        for (name, value) in edits {
            if let position = kind.schema.position(of: name) { values[position] = value }
        }
        state = Guarded(State(key: key, presence: presence, edits: edits, values: values))
    }

    deinit {
        let (key, uid) = state.withLock { ($0.key, $0.shown?.uid ?? .none) }
        objects.forget(collection, key, uid: uid, ObjectIdentifier(self))
    }

    var collection: CollectionName { kind.collection }

    // MARK: Reads

    func value(at position: Int) -> FieldValue {
        let (value, successor) = state.withLock { ($0.values[position], $0.successor) }
        return successor?.value(at: position) ?? value
    }

    var key: RecordKey { read { $0.key } }

    var id: RecordID? {
        if case .id(let id) = key { id } else { nil }
    }

    /// The id of a record that was written and therefore has one.
    var recordID: RecordID {
        guard let id else { preconditionFailure("a receipt without a record") }
        return id
    }

    var uid: UID {
        let (uid, successor) = state.withLock { ($0.shown?.uid ?? .none, $0.successor) }
        return successor?.uid ?? uid
    }

    var presence: Presence {
        let (presence, successor) = state.withLock { ($0.presence, $0.successor) }
        return successor?.presence ?? presence
    }

    var observedState: (presence: Presence, revision: Int) { read { ($0.presence, $0.revision) } }

    var creation: Written? { read { $0.creation } }

    var shown: Record? { read { $0.shown } }

    /// The records that the values refer to, with their collections.
    var references: [(collection: CollectionName, id: RecordID)] {
        let values = read { $0.values }
        return zip(kind.schema.fields, values).compactMap { field, value in
            guard let target = field.target, case .reference(let id) = value else { return nil }
            return (target, id)
        }
    }

    var group: DraftGroup {
        get {
            if let group = state.withLock({ $0.group }) { return group }
            let group = DraftGroup()
            state.withLock { $0.group = group }
            return group
        }
        set { state.withLock { $0.group = newValue } }
    }

    private func read<Value: Sendable>(_ body: (State) -> Value) -> Value {
        let (value, successor) = state.withLock { (body($0), $0.successor) }
        return successor?.read(body) ?? value
    }

    // MARK: Edits

    func set(_ field: ModelField, to value: FieldValue) {
        let successor: LiveCell? = state.withLock { state in
            if let successor = state.successor { return successor }
            state.refusals[field.name] = nil
            if let shown = state.shown, state.presence != .draft, shown.values[field.position] == value {
                state.edits.remove(field.name)
            } else {
                state.edits.set(field.name, to: value)
            }
            if state.values[field.position] != value {
                state.values[field.position] = value
                state.revision += 1
            }
            return nil
        }
        successor?.set(field, to: value)
    }

    func refuse(_ field: ModelField, _ failure: ModelFailure) {
        let successor: LiveCell? = state.withLock { state in
            if state.successor == nil { state.refusals[field.name] = failure }
            return state.successor
        }
        successor?.refuse(field, failure)
    }

    /// Returns an edit with the values that were set and not written, or nil when there is nothing to write. Checks all
    /// rules.
    func edit() throws(ModelFailure) -> ModelEdit? {
        let (key, presence, shown, edits, refusals) = read { ($0.key, $0.presence, $0.shown, $0.edits, $0.refusals) }
        if let refusal = refusals.min(by: { $0.key < $1.key }) { throw refusal.value }
        guard case .id(let id) = key else {
            throw nothingHere
        }
        switch presence {
        case .draft:
            var patch = edits
            for (name, value) in edits where value.isNull { patch.remove(name) }
            try check { () throws(InvalidValue) in try kind.schema.check(creating: patch) }
            return ModelEdit(.create(collection, id, patch), shown: nil)
        case .here:
            guard !edits.isEmpty else { return nil }
            try check { () throws(InvalidValue) in try kind.schema.check(updating: edits) }
            return ModelEdit(.update(collection, id, edits), shown: shown)
        case .awaited, .notHere: throw nothingHere
        case .gone: throw ModelFailure(.gone, "\(label) is gone: it cannot be written")
        }
    }

    private func check(_ body: () throws(InvalidValue) -> Void) throws(ModelFailure) {
        do { try body() } catch { throw ModelFailure(error) }
    }

    // MARK: Updates from the source

    /// Applies the result of a read, unless a read that began later has already been applied: two threads may read at
    /// once.
    ///
    /// - Returns: Whether anything visible changed.
    @discardableResult func show(_ found: LookupResult, _ reading: ReadSequence) -> Bool {
        // Objects must be released outside the lock.
        let (isNew, replaced) = state.withLock { state -> (Bool, Record?) in
            guard reading > state.lastRead, state.successor == nil else { return (false, nil) }
            state.lastRead = reading
            let before = state
            take(found, into: &state)
            let isNew =
                before.presence != state.presence || before.values != state.values
                || before.shown?.uid != state.shown?.uid || before.shown?.version != state.shown?.version
            if isNew { state.revision += 1 }
            return (isNew, before.shown)
        }
        if isNew, case .here(let record) = found, record.uid.isValid, record.uid != replaced?.uid {
            objects.index(collection, record.uid, record.id)
        }
        return isNew
    }

    private func take(_ found: LookupResult, into state: inout State) {
        switch (found, state.presence) {
        case (_, .draft), (.elsewhere, _), (.notHere, .gone): break
        // A deleted record comes back when its deletion is rejected, or when its creation is sent again from the
        // journal.
        case (.here(let record), .awaited), (.here(let record), .notHere), (.here(let record), .here),
            (.here(let record), .gone):
            state.key = .id(record.id)
            state.presence = .here
            state.shown = fitted(record)
            rebase(&state)
        case (.notHere, .here): state.presence = .gone
        case (.notHere, .awaited): state.presence = .notHere
        case (.notHere, .notHere): break
        }
    }

    /// Updates the state after an edit was written, before the source is read again.
    ///
    /// - Parameter reading: A read that began after the write. Results of earlier reads are ignored from now on.
    func written(_ edit: RecordEdit, _ written: Written, _ reading: ReadSequence) {
        state.withLock { state in
            state.lastRead = max(state.lastRead, reading)
            state.revision += 1
            switch edit {
            case .create(_, let id, let patch):
                state.creation = written
                state.presence = .here
                settle(patch, in: &state)
                state.shown = Record(
                    id: id, uid: .none, version: .zero, values: kind.schema.fields.map { patch[$0.name] ?? .null })
                // A null in a draft means that the value is absent, and it has been written that way.
                for (name, value) in state.edits where value.isNull && patch[name] == nil { state.edits.remove(name) }
                rebase(&state)
            case .update(_, _, let patch):
                for (name, value) in patch {
                    if let position = kind.schema.position(of: name) { state.shown?.values[position] = value }
                }
                settle(patch, in: &state)
                rebase(&state)
            case .delete: state.presence = .gone
            }
        }
    }

    /// Discards a draft.
    func drop() {
        state.withLock { state in
            state.presence = .gone
            state.revision += 1
        }
    }

    /// Removes the edits that were written. A value that was set again during the write stays an edit.
    private func settle(_ patch: Patch, in state: inout State) {
        for (name, value) in patch where state.edits[name] == value { state.edits.remove(name) }
    }

    private func rebase(_ state: inout State) {
        guard let shown = state.shown else { return }
        state.values = shown.values
        for (name, value) in state.edits {
            if let position = kind.schema.position(of: name) { state.values[position] = value }
        }
    }

    /// Returns the record with as many values as this build's schema has fields. A source of an older or newer build
    /// may show fewer or more.
    private func fitted(_ record: Record) -> Record {
        let count = kind.schema.fields.count
        guard record.values.count != count else { return record }
        var fitted = record
        fitted.values = Array(record.values.prefix(count))
        fitted.values += Array(repeating: .null, count: count - fitted.values.count)
        fitted.fieldVersions = []
        return fitted
    }

    /// Makes `other` the state of this record from now on.
    func redirect(to other: LiveCell) {
        state.withLock { state in
            state.successor = other
            state.revision += 1
        }
    }

    // MARK: Descriptions

    var label: String {
        switch key {
        case .id(let id): "\(collection) \(id)"
        case .uid(let uid): "\(collection) with uid \(uid)"
        }
    }

    var nothingHere: ModelFailure { ModelFailure(.notHere, "\(label) is not here") }
}
