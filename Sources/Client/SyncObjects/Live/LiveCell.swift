import SyncConcurrency
import SyncCore
import SyncModel
import TomboloModeling

/// The in-memory state of one record: the values that the source last showed, overlaid with local edits that are not
/// written yet.
final class LiveCell: Sendable {
    let schema: ModelSchema
    let objects: LiveObjects
    /// The space in which a draft is to be created; nil for the space of its transaction.
    let space: SpaceID?
    private let state: Guarded<State>
    /// The objects that show this state. They are notified after each visible change, outside the lock.
    private let observers = Guarded<[WeakObserver]>([])

    private struct State: Sendable {
        var key: RecordKey
        var presence: Presence
        /// The record as the source last showed it.
        var shown: Record?
        /// Values that were set here and not written yet.
        var edits: Patch
        /// The fields of `edits` as they were shown when they were first set. What the source has shown since is hidden
        /// by the edits, so their author has not seen it.
        var seen: [FieldName: SeenField] = [:]
        /// The values that this cell has written and that no server has shown yet.
        var own: [FieldName: FieldValue] = [:]
        /// The default values of a draft, to which `revert()` returns.
        let initial: Patch
        /// The values that reads return, one per field: `shown` overlaid with `edits`.
        var values: [FieldValue]
        /// The reasons why values could not be set. They are thrown when the object is written.
        var refusals: [FieldName: ModelError] = [:]
        /// The write that created the record; nil when this cell did not create it.
        var creation: Written?
        /// The last write of this record through this cell.
        var lastWrite: Written?
        /// Increases with each visible change.
        var revision = 0
        /// The latest read of the source that was applied.
        var lastRead = ReadSequence.none
        weak var group: DraftGroup?
        /// Keeps the group of a record that refers to drafts. The objects of a draft keep its group, which holds the
        /// cell.
        var keptGroup: DraftGroup?

        func staged(_ field: FieldName) -> StagedField {
            StagedField(value: edits[field], seen: seen[field], refusal: refusals[field])
        }

        /// Gives a field an edit that it had at an earlier moment, if it was an edit.
        mutating func stage(_ edit: StagedField, _ field: FieldName) {
            if let refusal = edit.refusal { refusals[field] = refusal }
            guard let value = edit.value else { return }
            edits.set(field, to: value)
            seen[field] = edit.seen
        }

        /// The state of a field for a person who edits it now.
        func seenField(_ field: FieldKey) -> SeenField {
            guard let shown else { return SeenField(.null, at: .zero) }
            let value = shown.values[field.slot]
            return SeenField(value, at: shown.version(ofFieldAt: field.slot), isOwn: own[field.name] == value)
        }

        /// Forgets the own values of which a new record has a later version.
        mutating func forgetOwn(shownBy record: Record, in schema: ModelSchema) {
            guard !own.isEmpty else { return }
            own = own.filter { name, _ in
                guard let position = schema.position(of: name), let shown else { return false }
                return record.version(ofFieldAt: position) <= shown.version(ofFieldAt: position)
            }
        }

        /// Removes the edit of a field.
        mutating func unstage(_ field: FieldName) {
            edits.remove(field)
            seen[field] = nil
        }

        /// The cell that replaces this one; nil if there is none. A placeholder that was requested by uid gets a
        /// successor when its record arrives and already has a cell under its id.
        var successor: LiveCell?
    }

    init(
        schema: ModelSchema, objects: LiveObjects, key: RecordKey, presence: Presence, space: SpaceID? = nil
    ) {
        self.schema = schema
        self.objects = objects
        self.space = space
        var values = Array(repeating: FieldValue.null, count: schema.fields.count)
        var edits = Patch()
        // A draft is created with its defaults, so that every client sees the same values.
        if presence == .draft {
            edits = schema.withDefaults(Patch())
            values = schema.fields.map { edits[$0.name] ?? .null }
        }
        state = Guarded(State(key: key, presence: presence, edits: edits, initial: edits, values: values))
    }

    /// Creates the cell of a record that was just read.
    init(schema: ModelSchema, objects: LiveObjects, showing record: Record, _ reading: ReadSequence) {
        self.schema = schema
        self.objects = objects
        space = nil
        let record = Self.fitted(record, to: schema)
        state = Guarded(
            State(
                key: .id(record.id), presence: .here, shown: record, edits: Patch(), initial: Patch(),
                values: record.values, revision: 1, lastRead: reading))
        if record.uid.isValid { objects.index(collection, record.uid, record.id) }
    }

    deinit {
        let (key, uid) = state.withLock { ($0.key, $0.shown?.uid ?? .none) }
        objects.forget(collection, key, uid: uid, ObjectIdentifier(self))
    }

    var collection: CollectionName { schema.collection }

    // MARK: Observers

    private struct WeakObserver: Sendable {
        weak var object: (any CellObserver)?
    }

    func attach(_ observer: any CellObserver) {
        observers.withLock { list in
            list.removeAll { $0.object == nil }
            list.append(WeakObserver(object: observer))
        }
    }

    private func announce() {
        let list = observers.withLock { $0 }
        for observer in list { observer.object?.cellChanged() }
    }

    // MARK: Reads

    func value(at position: Int) -> FieldValue {
        let (value, successor) = state.withLock { state in
            (state.values.indices.contains(position) ? state.values[position] : .null, state.successor)
        }
        return successor?.value(at: position) ?? value
    }

    var key: RecordKey { read { $0.key } }

    var id: RecordID? {
        if case .id(let id) = key { id } else { nil }
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

    var lastWrite: Written? { read { $0.lastWrite } }

    /// The cell that shows the record: this one, unless it was redirected. A cell with an id is never redirected, so a
    /// cell whose edits were collected stays the same during its write.
    var current: LiveCell { state.withLock { $0.successor } ?? self }

    var shown: Record? { read { $0.shown } }

    /// The record as the source last showed it, and the fields that were set and not written yet as they were shown
    /// when they were first set.
    var shownToAuthors: (record: Record?, seen: [FieldName: SeenField]) { read { ($0.shown, $0.seen) } }

    /// Whether a record to which this one refers is deleted.
    ///
    /// - Parameter presence: the presence of the other record. If nobody has held its object since before the delete,
    ///   its object is a placeholder.
    func isDeleted(_ presence: Presence) -> Bool {
        switch presence {
        case .gone: true
        case .notHere: id.flatMap { try? objects.source.hasSpace(of: collection, $0) } ?? false
        case .draft, .here, .awaited: false
        }
    }

    /// The records that the values refer to.
    var references: [RecordAddress] {
        let values = read { $0.values }
        return zip(schema.fields, values).compactMap { field, value in
            guard let target = field.target, case .reference(let id) = value else { return nil }
            return RecordAddress(target, id)
        }
    }

    /// The group of a draft, or of a record that refers to drafts; nil until `madeGroup()` makes it.
    var group: DraftGroup? {
        get { state.withLock { $0.group } }
        set { state.withLock { $0.group = newValue } }
    }

    /// Returns the group, which is made on first use.
    func madeGroup() -> DraftGroup {
        state.withLock { state in
            let group = state.group ?? DraftGroup()
            state.group = group
            if state.presence != .draft { state.keptGroup = group }
            return group
        }
    }

    private func read<Value: Sendable>(_ body: (State) -> Value) -> Value {
        let (value, successor) = state.withLock { (body($0), $0.successor) }
        return successor?.read(body) ?? value
    }

    // MARK: Edits

    /// Stages a value, or drops the edit of the field if the record shows this value.
    ///
    /// - Parameter missing: The value as which a missing one is shown; null if it is shown as missing.
    func set(_ field: FieldKey, to value: FieldValue, missing: FieldValue = .null) {
        let log = EditLog.current
        let (successor, isNew): (LiveCell?, Bool) = state.withLock { state in
            if let successor = state.successor { return (successor, false) }
            let before = log.map { _ in state.staged(field.name) }
            defer { if let before { log?.note(self, field.name, from: before, to: state.staged(field.name)) } }
            state.refusals[field.name] = nil
            var next = value
            if let shown = state.shown?.values[field.slot], state.presence != .draft,
                shown == value || shown.isNull && missing == value
            {
                state.unstage(field.name)
                next = shown
            } else {
                if state.edits[field.name] == nil {
                    state.seen[field.name] = state.seenField(field)
                }
                state.edits.set(field.name, to: value)
            }
            guard state.values[field.slot] != next else { return (nil, false) }
            state.values[field.slot] = next
            state.revision += 1
            return (nil, true)
        }
        successor?.set(field, to: value, missing: missing)
        if isNew { announce() }
    }

    func refuse(_ field: FieldName, _ failure: ModelError) {
        let log = EditLog.current
        let successor: LiveCell? = state.withLock { state in
            guard state.successor == nil else { return state.successor }
            let before = state.staged(field)
            state.refusals[field] = failure
            log?.note(self, field, from: before, to: state.staged(field))
            return nil
        }
        successor?.refuse(field, failure)
    }

    /// The edit of one field at one moment; without a value if there is none.
    struct StagedField: Sendable {
        fileprivate let value: FieldValue?
        fileprivate let seen: SeenField?
        fileprivate let refusal: ModelError?

        var isEmpty: Bool { value == nil && refusal == nil }

        fileprivate func isSame(as other: StagedField) -> Bool {
            value == other.value && (refusal == nil) == (other.refusal == nil)
        }
    }

    /// Gives a field the edit of an earlier moment, unless its edit is no longer `later`.
    func restage(_ field: FieldName, _ earlier: StagedField, replacing later: StagedField) {
        change { state in
            guard state.staged(field).isSame(as: later) else { return }
            if let value = earlier.value { state.edits.set(field, to: value) } else { state.edits.remove(field) }
            state.seen[field] = earlier.seen
            state.refusals[field] = earlier.refusal
        }
    }

    /// Stages edits again that others have replaced and written, in fields that have no edit. Their author has seen the
    /// written values.
    func stageAgain(_ replaced: [FieldName: StagedField]) {
        change { state in
            guard let shown = state.shown, state.presence == .here else { return }
            for (name, edit) in replaced where state.staged(name).isEmpty {
                guard let position = schema.position(of: name) else { continue }
                state.refusals[name] = edit.refusal
                guard let value = edit.value, value != shown.values[position] else { continue }
                state.edits.set(name, to: value)
                state.seen[name] = SeenField(
                    shown.values[position], at: edit.seen?.version ?? .zero, isOwn: true)
            }
        }
    }

    /// Drops the values that were set and not written. A draft gets its default values.
    func revert() {
        change { state in
            state.refusals = [:]
            state.seen = [:]
            state.edits = state.presence == .draft ? state.initial : Patch()
        }
    }

    /// Changes the edits of the cell that shows the record.
    private func change(_ edits: @Sendable (inout State) -> Void) {
        let log = EditLog.current
        let (successor, isNew): (LiveCell?, Bool) = state.withLock { state in
            if let successor = state.successor { return (successor, false) }
            let before = state
            edits(&state)
            rebase(&state)
            let changed = schema.fields.map(\.name).filter { !before.staged($0).isSame(as: state.staged($0)) }
            // An observer that reverts an object must not be told of its own call again and again.
            guard !changed.isEmpty else { return (nil, false) }
            for name in changed { log?.note(self, name, from: before.staged(name), to: state.staged(name)) }
            state.revision += 1
            return (nil, true)
        }
        successor?.change(edits)
        if isNew { announce() }
    }

    /// The fields that were set and not written, each with the value that the source last showed (null if none) and the
    /// new value.
    var staged: [(field: FieldName, before: FieldValue, after: FieldValue)] {
        let (shown, edits) = read { ($0.shown, $0.edits) }
        return edits.map { name, value in
            let before = schema.position(of: name).flatMap { shown?.values[$0] } ?? .null
            return (name, before, value)
        }
    }

    /// All values at one moment.
    var values: [FieldValue] { read { $0.values } }

    /// Returns an edit with the values that were set and not written, or nil when there is nothing to write.
    ///
    /// - Parameter own: Edits of the caller that count in any case.
    /// - Throws: The first refusal, the first rule that a value breaks, `notHere` for a placeholder, or `gone`.
    func edit(_ own: [FieldName: StagedField] = [:]) throws(ModelError) -> ModelEdit? {
        let (key, presence, shown, edits, seen, refusals) = read { state in
            var state = state
            for (name, edit) in own { state.stage(edit, name) }
            return (state.key, state.presence, state.shown, state.edits, state.seen, state.refusals)
        }
        if let refusal = refusals.min(by: { $0.key < $1.key }) { throw refusal.value }
        guard case .id(let id) = key else {
            throw nothingHere
        }
        switch presence {
        case .draft:
            var patch = edits
            for (name, value) in edits where value.isNull { patch.remove(name) }
            try check { () throws(InvalidValueError) in try schema.check(creating: patch) }
            return ModelEdit(.create(collection, id, patch), shown: nil, space: space)
        case .here:
            guard !edits.isEmpty else { return nil }
            try check { () throws(InvalidValueError) in try schema.check(updating: edits) }
            return ModelEdit(.update(collection, id, edits), shown: shown, seen: seen)
        case .awaited, .notHere: throw nothingHere
        case .gone: throw ModelError(.gone, "\(label) is gone: it cannot be written")
        }
    }

    private func check(_ body: () throws(InvalidValueError) -> Void) throws(ModelError) {
        do { try body() } catch { throw ModelError(error) }
    }

    // MARK: Updates from the source

    /// Applies the result of a read, unless a read that began later has already been applied: two threads may read at
    /// once.
    ///
    /// - Returns: Whether anything visible changed.
    @discardableResult func show(_ found: LookupResult, _ reading: ReadSequence) -> Bool {
        // Nothing was read, so a read that began earlier and waits for the server still counts.
        if found == .elsewhere { return false }
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
        if isNew { announce() }
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
            let record = Self.fitted(record, to: schema)
            state.key = .id(record.id)
            state.presence = .here
            state.forgetOwn(shownBy: record, in: schema)
            state.shown = record
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
            state.lastWrite = written
            switch edit {
            case .create(_, let id, let patch):
                state.creation = written
                state.presence = .here
                settle(patch, in: &state)
                state.shown = Record(
                    id: id, uid: .none, version: .zero, values: schema.fields.map { patch[$0.name] ?? .null })
                // A null in a draft means that the value is absent. It is not part of the patch, and has been written
                // by leaving it out.
                for (name, value) in state.edits where value.isNull && patch[name] == nil { state.unstage(name) }
                rebase(&state)
            case .update(_, _, let patch):
                for (name, value) in patch {
                    if let position = schema.position(of: name) { state.shown?.values[position] = value }
                }
                settle(patch, in: &state)
                rebase(&state)
            case .delete: state.presence = .gone
            }
        }
        announce()
    }

    /// Discards a draft.
    func drop() {
        state.withLock { state in
            state.presence = .gone
            state.revision += 1
        }
        announce()
    }

    /// Removes the edits that were written. A value that was set again during the write stays an edit, whose author has
    /// seen the written value.
    private func settle(_ patch: Patch, in state: inout State) {
        for (name, value) in patch {
            state.own[name] = value
            if state.edits[name] == value {
                state.unstage(name)
            } else if state.edits[name] != nil {
                // The defaults of a draft are edits that nobody has set, so there may be no version yet.
                state.seen[name] = SeenField(value, at: state.seen[name]?.version ?? .zero, isOwn: true)
            }
        }
    }

    private func rebase(_ state: inout State) {
        state.values = state.shown?.values ?? Array(repeating: .null, count: schema.fields.count)
        for (name, value) in state.edits {
            if let position = schema.position(of: name) { state.values[position] = value }
        }
    }

    /// Returns the record with as many values as this build's schema has fields. A source of an older or newer build
    /// may show fewer or more.
    private static func fitted(_ record: Record, to schema: ModelSchema) -> Record {
        let count = schema.fields.count
        guard record.values.count != count else { return record }
        var fitted = record
        fitted.values = Array(record.values.prefix(count))
        fitted.values += Array(repeating: .null, count: count - fitted.values.count)
        fitted.fieldVersions = []
        return fitted
    }

    /// Makes `other` the cell of this record from now on. Edits that are staged in this cell move to it.
    ///
    /// - Parameter other: The cell that is registered under the record's id, which is never redirected itself.
    func redirect(to other: LiveCell) {
        let (edits, seen, refusals, revision) = state.withLock { state in
            defer {
                state.successor = other
                state.edits = Patch()
                state.seen = [:]
                state.refusals = [:]
            }
            return (state.edits, state.seen, state.refusals, state.revision)
        }
        other.inherit(edits, seen, refusals, revision)
        for observer in observers.withLock({ $0 }) {
            if let object = observer.object { other.attach(object) }
        }
        other.announce()
    }

    /// Adds the edits of a cell that was redirected to this one. A field that has an edit here keeps it.
    ///
    /// - Parameter revision: The revision of the other cell. The new one is greater than both, because a reader of the
    ///   other cell must notice that it sees another state.
    private func inherit(
        _ edits: Patch, _ seen: [FieldName: SeenField], _ refusals: [FieldName: ModelError], _ revision: Int
    ) {
        state.withLock { state in
            let own = Set(state.edits.map { name, _ in name }).union(state.refusals.keys)
            for (name, value) in edits where !own.contains(name) {
                state.edits.set(name, to: value)
                state.seen[name] = seen[name]
            }
            for (name, refusal) in refusals where !own.contains(name) { state.refusals[name] = refusal }
            rebase(&state)
            state.revision = max(state.revision, revision) + 1
        }
    }

    // MARK: Descriptions

    var label: String {
        switch key {
        case .id(let id): "\(collection) \(id)"
        case .uid(let uid): "\(collection) with uid \(uid)"
        }
    }

    var nothingHere: ModelError { ModelError(.notHere, "\(label) is not here") }
}

/// An object that shows the state of a cell.
protocol CellObserver: AnyObject, Sendable {
    /// Called after each visible change, outside of all locks.
    func cellChanged()
}
