import SyncConcurrency
public import SyncCore
public import SyncModel

/// All live objects of one source. Each record has one live object, however it is reached.
///
/// Objects are held weakly: an object lives as long as the caller keeps it, and is created again when it is requested.
public final class LiveObjects: Sendable {
    public let source: any ModelSource
    let runtime: EngineRuntime

    /// Publishes each change after the live objects show it.
    let changes = Broadcast<StoreChange>()

    private struct Key: Hashable, Sendable {
        let collection: CollectionName
        let key: RecordKey
    }

    private struct Entry: Sendable {
        /// Increases with each registration, so that an entry is only replaced by code that has seen it.
        let serial: Int
        let cellIdentity: ObjectIdentifier
        weak var cell: LiveCell?
        weak var model: (any LiveModel)?
    }

    private struct Registry: Sendable {
        var serial = 0
        var entries: [Key: Entry] = [:]
        /// The ids of live records, by uid.
        var uids: [Key: RecordID] = [:]
        /// The entries whose record is not here and is known only by its uid.
        var placeholders: Set<Key> = []
        var reads = 0
    }

    private let registry = Guarded(Registry())
    private let groups = Guarded(())
    private let writes = AsyncMutex()
    private let watcher = Guarded<Task<Void, Never>?>(nil)

    public init(source: any ModelSource, runtime: EngineRuntime) {
        self.source = source
        self.runtime = runtime
        guard let news = source.changes?.subscribe() else { return }
        let task = runtime.spawn { [weak self] in
            for await change in news {
                guard let self else { return }
                self.absorb(change)
            }
        }
        watcher.withLock { $0 = task }
    }

    deinit {
        watcher.withLock { $0?.cancel() }
        changes.finish()
    }

    // MARK: Objects

    /// Creates a draft. Neither the store nor the server knows it until it is created.
    ///
    /// - Parameter fill: Sets the first values.
    public func make<Model: LiveModel>(_ type: Model.Type, fill: (LiveRecord) -> Void) -> Model {
        var random = runtime.generator
        let id = RecordID.make(at: runtime.now(), random: &random)
        let cell = LiveCell(kind: Model.kind, objects: self, key: .id(id), presence: .draft)
        let record = LiveRecord(cell: cell)
        record.draftGroup.add(cell, id: id)
        fill(record)
        return register(Model(record: record), under: .id(id))
    }

    /// Returns the object with this id, or a placeholder when it is not here.
    public func object<Model: LiveModel>(_ type: Model.Type, id: RecordID) throws(ModelFailure) -> Model {
        let collection = Model.kind.collection
        if let model: Model = registered(.id(id)) { return model }
        let reading = beginRead()
        return adopt(type, .id(id), try source.lookup(collection, .id(id)), reading)
    }

    /// Returns the object with this uid, or a placeholder when it is not here.
    ///
    /// - Throws: `invalidValue` when the uid is negative, or the failure of the source.
    public func object<Model: LiveModel>(_ type: Model.Type, uid: Int) throws(ModelFailure) -> Model {
        let collection = Model.kind.collection
        guard uid >= 0 else {
            throw ModelFailure(.invalidValue, "\(uid) is no uid of a \(collection): uids are 0 or more")
        }
        let key = RecordKey.uid(UID(Int64(uid)))
        if let id = registry.withLock({ $0.uids[Key(collection: collection, key: key)] }),
            let model: Model = registered(.id(id)), model.uid == uid
        {
            return model
        }
        if let model: Model = registered(key) { return model }
        let reading = beginRead()
        return adopt(type, key, try source.lookup(collection, key), reading)
    }

    /// Returns the live objects of all matching records.
    public func objects<Model: LiveModel>(
        _ type: Model.Type, matching query: RecordQuery
    ) async throws(ModelFailure) -> [Model] {
        let reading = beginRead()
        return try await source.records(matching: query).map { adopt(type, .id($0.id), .here($0), reading) }
    }

    /// Returns the matching objects, now and again after each change that may affect them.
    public func observe<Model: LiveModel>(_ type: Model.Type, matching query: RecordQuery) -> QueryUpdates<Model> {
        QueryUpdates(collection: query.collection, changes: changes) { () async throws(ModelFailure) in
            try await self.objects(type, matching: query)
        }
    }

    /// Returns the object of a reference. If the source fails, it is a placeholder whose `load` throws the reason.
    func reach<Model: LiveModel>(_ type: Model.Type, _ id: RecordID) -> Model {
        if let model: Model = registered(.id(id)) { return model }
        do throws(ModelFailure) {
            return try object(type, id: id)
        } catch {
            return placeholder(type, .id(id), presence: .awaited)
        }
    }

    // MARK: Registry: one object per record

    private func registered<Model: LiveModel>(_ key: RecordKey) -> Model? {
        let entry = entry(Model.kind.collection, key)
        if let model = entry?.model as? Model { return model }
        // A draft that another object holds, or a record whose previous object was released.
        guard let cell = entry?.cell else { return nil }
        return register(Model(record: LiveRecord(cell: cell)), under: key)
    }

    private func entry(_ collection: CollectionName, _ key: RecordKey) -> Entry? {
        registry.withLock { $0.entries[Key(collection: collection, key: key)] }
    }

    /// Returns the object of a record that was just read, creating it when it is not in use.
    private func adopt<Model: LiveModel>(
        _ type: Model.Type, _ key: RecordKey, _ found: LookupResult, _ reading: ReadSequence
    ) -> Model {
        switch found {
        case .here(let record):
            if let model: Model = registered(.id(record.id)) {
                model.record.cell.show(found, reading)
                return model
            }
            let cell = LiveCell(kind: Model.kind, objects: self, key: .id(record.id), presence: .awaited)
            cell.show(found, reading)
            return register(Model(record: LiveRecord(cell: cell)), under: .id(record.id))
        case .notHere:
            return placeholder(type, key, presence: .notHere)
        case .elsewhere:
            let model = placeholder(type, key, presence: .awaited)
            _ = runtime.spawn {
                // Ignore the failure: `load` asks again and throws it.
                do throws(ModelFailure) { try await self.load(model.record.cell) } catch {}
            }
            return model
        }
    }

    private func placeholder<Model: LiveModel>(_ type: Model.Type, _ key: RecordKey, presence: Presence) -> Model {
        let cell = LiveCell(kind: Model.kind, objects: self, key: key, presence: presence)
        return register(Model(record: LiveRecord(cell: cell)), under: key)
    }

    /// Registers the object under the key, or returns the one that was registered in the meantime.
    private func register<Model: LiveModel>(_ candidate: Model, under key: RecordKey) -> Model {
        let place = Key(collection: Model.kind.collection, key: key)
        while true {
            let found = registry.withLock { $0.entries[place] }
            if let model = found?.model as? Model { return model }
            let isPlaced = registry.withLock { registry in
                guard registry.entries[place]?.serial == found?.serial else { return false }
                registry.serial += 1
                registry.entries[place] = Entry(
                    serial: registry.serial, cellIdentity: ObjectIdentifier(candidate.record.cell),
                    cell: candidate.record.cell, model: candidate)
                if case .uid = key { registry.placeholders.insert(place) }
                return true
            }
            if isPlaced { return candidate }
        }
    }

    /// Records the uid of a record. Called by a state that has learned its uid.
    func index(_ collection: CollectionName, _ uid: UID, _ id: RecordID) {
        registry.withLock { $0.uids[Key(collection: collection, key: .uid(uid))] = id }
    }

    /// Removes a state. Called when the state is released.
    func forget(_ collection: CollectionName, _ key: RecordKey, uid: UID, _ identity: ObjectIdentifier) {
        let place = Key(collection: collection, key: key)
        registry.withLock { registry in
            guard registry.entries[place]?.cellIdentity == identity else { return }
            registry.entries[place] = nil
            registry.placeholders.remove(place)
            registry.uids[Key(collection: collection, key: .uid(uid))] = nil
        }
    }

    /// Handles a record that was found under its uid: its placeholder becomes the object of the id, or redirects to it.
    private func settle(_ cell: LiveCell, uid key: RecordKey, as record: Record, _ reading: ReadSequence) -> Bool {
        let collection = cell.collection
        let (old, new) = (Key(collection: collection, key: key), Key(collection: collection, key: .id(record.id)))
        while true {
            let found = registry.withLock { $0.entries[new] }
            if let other = found?.cell, other !== cell {
                cell.redirect(to: other)
                registry.withLock { registry in
                    registry.entries[old] = nil
                    registry.placeholders.remove(old)
                }
                other.show(.here(record), reading)
                return true
            }
            let model = registry.withLock { $0.entries[old] }?.model
            let isPlaced = registry.withLock { registry in
                guard registry.entries[new]?.serial == found?.serial else { return false }
                registry.serial += 1
                registry.entries[new] = Entry(
                    serial: registry.serial, cellIdentity: ObjectIdentifier(cell), cell: cell, model: model)
                registry.entries[old] = nil
                registry.placeholders.remove(old)
                return true
            }
            if isPlaced { return cell.show(.here(record), reading) }
        }
    }

    // MARK: Drafts

    /// Joins two draft groups. From then on, holding one of the two objects keeps the drafts of both alive.
    func join(_ one: LiveRecord, with other: LiveRecord) {
        groups.withLock { _ in
            let (first, second) = (one.draftGroup.root, other.draftGroup.root)
            guard first !== second else { return }
            second.move(into: first)
        }
    }

    /// Returns the draft and all drafts that can be reached from it.
    private func drafts(from root: LiveCell) -> [LiveCell] {
        var found = [root]
        var seen: Set<RecordID> = []
        if let id = root.id { seen.insert(id) }
        var next = 0
        while next < found.count {
            for reference in found[next].references where seen.insert(reference.id).inserted {
                guard let cell = entry(reference.collection, .id(reference.id))?.cell, cell.presence == .draft else {
                    continue
                }
                found.append(cell)
            }
            next += 1
        }
        return found
    }

    // MARK: Writes

    func create(_ cell: LiveCell) async throws(ModelFailure) -> Receipt {
        try await writes.pass { () async throws(ModelFailure) in
            switch cell.presence {
            case .draft:
                guard let receipt = try await write(cell) else { throw cell.nothingHere }
                return receipt
            case .here, .gone:
                // Created before, perhaps together with another object.
                guard let creation = cell.creation else {
                    throw ModelFailure(.alreadyExists, "\(cell.label) exists already: save() writes its changes")
                }
                return Receipt(cell: cell, written: creation)
            case .awaited, .notHere: throw cell.nothingHere
            }
        }
    }

    func save(_ cell: LiveCell) async throws(ModelFailure) -> Receipt? {
        try await writes.pass { () async throws(ModelFailure) in try await write(cell) }
    }

    func delete(_ cell: LiveCell) async throws(ModelFailure) -> Receipt? {
        try await writes.pass { () async throws(ModelFailure) in
            switch cell.presence {
            case .draft:
                cell.drop()
                cell.group.root.remove(cell.recordID)
                return nil
            case .here:
                let edit = ModelEdit(.delete(cell.collection, cell.recordID), shown: cell.shown)
                return try await commit([(cell, edit)])
            case .awaited, .notHere: throw cell.nothingHere
            case .gone: return nil
            }
        }
    }

    /// Writes the edits of an object, and all drafts that it refers to, in one transaction.
    private func write(_ root: LiveCell) async throws(ModelFailure) -> Receipt? {
        var edits: [(LiveCell, ModelEdit)] = []
        for cell in drafts(from: root) {
            if let edit = try cell.edit() { edits.append((cell, edit)) }
        }
        return edits.isEmpty ? nil : try await commit(edits)
    }

    private func commit(_ edits: [(cell: LiveCell, edit: ModelEdit)]) async throws(ModelFailure) -> Receipt? {
        let ticket = try await source.write(edits.map(\.edit), now: runtime.now())
        let written = Written(ticket: ticket, edits: edits.map(\.edit.edit))
        for (cell, edit) in edits {
            cell.written(edit.edit, written, beginRead())
            cell.group.root.remove(cell.recordID)
            if let record = ticket.shown[cell.recordID] { cell.show(.here(record), beginRead()) }
        }
        refresh(edits.map(\.cell))
        var change = StoreChange()
        for (cell, _) in edits { change.touch(cell.collection, cell.recordID) }
        changes.publish(change)
        return edits.first.map { Receipt(cell: $0.cell, written: written) }
    }

    /// Waits for the server, and then shows the outcome on all records of the transaction.
    func confirm(_ written: Written) async throws(ModelFailure) {
        try await source.confirm(written.ticket)
        refresh(written.records.compactMap { entry($0.collection, .id($0.id))?.cell })
    }

    // MARK: Reads

    /// Begins a read. Call it before reading the source, and pass the result along with the record that was read.
    private func beginRead() -> ReadSequence {
        registry.withLock { registry in
            registry.reads += 1
            return ReadSequence(number: registry.reads)
        }
    }

    func load(_ cell: LiveCell) async throws(ModelFailure) {
        switch cell.presence {
        case .draft: return
        case .here, .awaited, .notHere:
            let reading = beginRead()
            var found = try source.lookup(cell.collection, cell.key)
            if found == .elsewhere {
                let record = try await source.fetch(cell.collection, cell.key)
                found = record.map { .here($0) } ?? .notHere
            }
            if take(found, into: cell, reading) { publish(cell) }
        case .gone: break
        }
        switch cell.presence {
        case .here, .draft: return
        case .gone: throw ModelFailure(.gone, "\(cell.label) is gone")
        case .awaited, .notHere: throw cell.nothingHere
        }
    }

    /// Updates states from the source. A state that the source cannot read right now is left alone.
    @discardableResult func refresh(_ cells: [LiveCell]) -> Bool {
        var isNew = false
        for cell in cells {
            let reading = beginRead()
            do throws(ModelFailure) {
                let found = try source.lookup(cell.collection, cell.key)
                if take(found, into: cell, reading) { isNew = true }
            } catch {
                continue
            }
        }
        return isNew
    }

    private func take(_ found: LookupResult, into cell: LiveCell, _ reading: ReadSequence) -> Bool {
        if case .here(let record) = found, case .uid = cell.key {
            return settle(cell, uid: cell.key, as: record, reading)
        }
        return cell.show(found, reading)
    }

    private func publish(_ cell: LiveCell) {
        var change = StoreChange()
        switch cell.key {
        case .id(let id): change.touch(cell.collection, id)
        case .uid: change.extents[cell.collection] = .all
        }
        changes.publish(change)
    }

    /// Updates the live objects among the records that the source reports as changed.
    private func absorb(_ change: StoreChange) {
        let touched = registry.withLock { registry -> [Entry] in
            var keys = registry.placeholders.filter { change.extents[$0.collection] != nil }
            for (collection, extent) in change.extents {
                switch extent {
                case .all: keys.formUnion(registry.entries.keys.filter { $0.collection == collection })
                case .records(let ids): for id in ids { keys.insert(Key(collection: collection, key: .id(id))) }
                }
            }
            return keys.compactMap { registry.entries[$0] }
        }
        refresh(touched.compactMap(\.cell))
        changes.publish(change)
    }
}
