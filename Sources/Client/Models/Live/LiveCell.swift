import SyncConcurrency
import SyncCore
import SyncModel

/// The state of one record in memory: what the source last showed, under what was set here and not written yet.
final class LiveCell: Sendable {
    let kind: ModelKind
    let objects: LiveObjects
    private let state: Guarded<State>

    private struct State: Sendable {
        var key: RecordKey
        var presence: Presence
        /// As the source last showed it.
        var shown: Record?
        /// Set here, and not written yet.
        var edits = Patch()
        /// The values that reads return, one per field: `shown` under `edits`.
        var values: [FieldValue]
        /// Why a value could not be set; told when it is to be written.
        var refusals: [FieldName: ModelFailure] = [:]
        /// The write that created the record, when that was done here.
        var creation: Written?
        /// Counts visible changes.
        var revision = 0
        /// The last look at the source that was taken in.
        var lastRead = ReadSequence.none
        weak var group: DraftGroup?
        /// The state of the same record, which was reached under its id before this one was found under its uid.
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

    /// The id of something that was written, and so has one.
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

    // MARK: Sets

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

    /// Returns the values that were set and not written, when they keep all rules; nil when there is nothing to write.
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

    // MARK: What the source says

    /// Takes in what was seen, unless a look that was begun later has been taken in: two threads may look at once.
    /// - Returns: whether anything visible changed.
    @discardableResult func show(_ found: LookupResult, _ reading: ReadSequence) -> Bool {
        // Objects must be released outside of the lock.
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
        // A deleted record comes back when its deletion is refused, or its creation is sent again from the journal.
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

    /// Takes note that what was set has been written, before the source is looked at again.
    ///
    /// - Parameter look: begun after the write; what was looked up before it shows nothing any more.
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
                // A draft's null is the absence of a value, and has been written as such.
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

    /// A draft that is not wanted any more.
    func drop() {
        state.withLock { state in
            state.presence = .gone
            state.revision += 1
        }
    }

    /// A value that is set again while it is being written stays set.
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

    /// A source of an older or newer build may show fewer or more fields than this one reads.
    private func fitted(_ record: Record) -> Record {
        let count = kind.schema.fields.count
        guard record.values.count != count else { return record }
        var fitted = record
        fitted.values = Array(record.values.prefix(count))
        fitted.values += Array(repeating: .null, count: count - fitted.values.count)
        fitted.fieldVersions = []
        return fitted
    }

    /// Lets `other` speak for this record from now on.
    func redirect(to other: LiveCell) {
        state.withLock { state in
            state.successor = other
            state.revision += 1
        }
    }

    // MARK: Words

    var label: String {
        switch key {
        case .id(let id): "\(collection) \(id)"
        case .uid(let uid): "\(collection) with uid \(uid)"
        }
    }

    var nothingHere: ModelFailure { ModelFailure(.notHere, "\(label) is not here") }
}
