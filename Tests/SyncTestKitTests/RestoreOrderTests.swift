import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import SyncTestKit
import TestRings
import Testing

/// Tests that every value and every reference that a user restores from the journal is shown, in whatever order the
/// entries are restored.
///
/// The oracle identifies a record by its name, as a user does. Names are unique and never change. The oracle ignores
/// ids, so a record that was created again under a new id counts as the same record.
@Suite(.ring(.test)) struct RestoreOrderTests {
    @Test(arguments: 0..<TestRing.sample(12, 400)) func `restored values are shown in any order of restores`(seed: Int)
        throws
    {
        var world = try RestoreWorld(seed: UInt64(seed))
        try world.run()
    }
}

/// A device that writes, another one that deletes and edits, and a server that may be restored from a backup.
private struct RestoreWorld {
    static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "person",
            fields: [
                .text("name", required: true), .text("mood"), .reference("friend", to: "person"),
                .reference("home", to: "place"),
            ]),
        ModelSchema(
            collection: "place",
            fields: [
                .text("name", required: true), .text("sign"), .reference("owner", to: "person"),
                .reference("keeper", to: "person", required: true),
            ]),
    ])

    /// A field of the record with this name.
    struct Field: Hashable {
        let record: String
        let name: FieldName
    }

    /// A value as a user sees it. A reference has the name of its record instead of the id.
    enum Shown: Hashable {
        case value(FieldValue)
        case record(String)
    }

    private let testbed: SyncTestbed
    private let writer: TestbedDevice
    private let other: TestbedDevice
    private var random: SeededRandom
    private var names: [RecordID: String] = [:]
    /// The value that the writer's user has restored last, for each field. It must be shown at the end.
    private var wanted: [Field: Shown] = [:]
    /// The records that the writer's user has deleted, or deleted again by restoring an entry.
    private var removed: Set<String> = []
    private var otherHasRestored = false
    /// The records of entries that stay in the journal for a valid reason. See `checkOpenEntries`.
    private var waiting: Set<String> = []
    /// The number of the newest journal entry that `dropValuesInJournal` has processed.
    private var known: Int64 = 0
    private var made = 0
    private var log: [String] = []

    init(seed: UInt64) throws {
        testbed = SyncTestbed(seed: seed, catalog: Self.catalog)
        writer = try testbed.device("writer")
        other = try testbed.device("other")
        random = SeededRandom(seed: seed)
    }

    mutating func run() throws {
        try testbed.settle()
        for _ in 0..<(2 + random.below(4)) { try create(on: writer) }
        try testbed.settle()
        for _ in 0..<(1 + random.below(2)) {
            switch random.below(3) {
            case 0: try rejections(cancelling: false)
            case 1: try rejections(cancelling: true)
            default: try serverRestore()
            }
        }
        try restoreAll()
        try check()
    }

    // MARK: Workload

    private func now() -> WallTime { writer.runtime.now() }

    private mutating func newID() -> RecordID {
        RecordID.make(at: now(), random: &random)
    }

    private func ids(_ collection: CollectionName, on device: TestbedDevice) throws -> [RecordID] {
        try device.store.records(matching: RecordQuery(collection)).map(\.id).sorted()
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[random.below(elements.count)]
    }

    /// Returns values for some fields of a record.
    private mutating func patch(
        for collection: CollectionName, on device: TestbedDevice, people: [RecordID], places: [RecordID]
    ) throws -> Patch {
        var patch = Patch()
        made += 1
        if random.chance(0.5) { patch.set(collection == "person" ? "mood" : "sign", to: .text("v\(made)")) }
        if random.chance(0.7), let person = pick(people) {
            patch.set(collection == "person" ? "friend" : "owner", to: .reference(person))
        }
        if collection == "person", random.chance(0.5), let place = pick(places) {
            patch.set("home", to: .reference(place))
        }
        return patch
    }

    private mutating func create(on device: TestbedDevice) throws {
        let (people, places) = (try ids("person", on: device), try ids("place", on: device))
        let collection: CollectionName = random.chance(0.5) && !people.isEmpty ? "place" : "person"
        try commit([try creation(of: collection, on: device, people, places)], on: device)
    }

    private mutating func creation(
        of collection: CollectionName, on device: TestbedDevice, _ people: [RecordID], _ places: [RecordID]
    ) throws -> RecordEdit {
        let id = newID()
        var patch = try patch(for: collection, on: device, people: people, places: places)
        made += 1
        let name = "\(collection) \(made)"
        patch.set("name", to: .text(name))
        names[id] = name
        if collection == "place", let keeper = pick(people) { patch.set("keeper", to: .reference(keeper)) }
        return .create(collection, id, patch)
    }

    private mutating func commit(_ edits: [RecordEdit], on device: TestbedDevice) throws {
        do {
            let sequence = try device.store.commit(edits, in: .default, now: device.runtime.now())
            log.append("\(device.name) commits \(sequence?.description ?? "nothing"): \(words(edits))")
            for case .delete(_, let id) in edits where device === writer { removed.insert(name(id)) }
        } catch {
            guard error.advice == .changeTheRequest else { throw error }
            log.append("\(device.name) may not commit \(words(edits)): \(error.message)")
        }
    }

    private func words(_ edits: [RecordEdit]) -> String {
        edits.map { edit in
            switch edit {
            case .create(_, let id, let patch): "create \(name(id)) \(words(patch))"
            case .update(_, let id, let patch): "update \(name(id)) \(words(patch))"
            case .delete(_, let id): "delete \(name(id))"
            }
        }.joined(separator: ", ")
    }

    private func words(_ patch: Patch) -> String {
        "{" + patch.map { field, value in "\(field): \(shown(value))" }.joined(separator: ", ") + "}"
    }

    private func name(_ id: RecordID) -> String { names[id] ?? "\(id)" }

    private func shown(_ value: FieldValue) -> Shown {
        if case .reference(let id) = value { return .record(name(id)) }
        return .value(value)
    }

    /// Writes a transaction of up to three edits on a device.
    private mutating func edit(on device: TestbedDevice) throws {
        var (people, places) = (try ids("person", on: device), try ids("place", on: device))
        var edits: [RecordEdit] = []
        for _ in 0..<(1 + random.below(3)) {
            if random.chance(0.3) {
                let collection: CollectionName = random.chance(0.5) && !people.isEmpty ? "place" : "person"
                let creation = try creation(of: collection, on: device, people, places)
                edits.append(creation)
                if collection == "person" { people.append(creation.record) } else { places.append(creation.record) }
            } else if random.chance(0.5), let place = pick(places) {
                edits.append(
                    .update("place", place, try patch(for: "place", on: device, people: people, places: places)))
            } else if let person = pick(people) {
                edits.append(
                    .update("person", person, try patch(for: "person", on: device, people: people, places: places)))
            }
        }
        if device === writer, random.chance(0.15), let person = pick(people) { edits.append(.delete("person", person)) }
        if device === writer, random.chance(0.15), let place = pick(places) { edits.append(.delete("place", place)) }
        edits.removeAll { if case .update(_, _, let patch) = $0 { patch.isEmpty } else { false } }
        if !edits.isEmpty { try commit(edits, on: device) }
    }

    /// Deletes and edits some records on the other device.
    private mutating func interfere() throws {
        for _ in 0..<random.below(3) where random.chance(0.3) { try edit(on: other) }
        for collection: CollectionName in ["place", "person"] {
            for id in try ids(collection, on: other) where random.chance(0.4) {
                try commit([.delete(collection, id)], on: other)
            }
        }
    }

    private mutating func rejections(cancelling: Bool) throws {
        writer.isOnline = false
        for _ in 0..<(1 + random.below(4)) { try edit(on: writer) }
        if random.chance(0.3) { try importTwice() }
        if cancelling {
            let waiting = try writer.store.outbox(limit: .max).filter(\.isUnsent)
            if let entry = pick(waiting) {
                try writer.store.cancel(entry.sequence, now: now())
                log.append("writer cancels \(entry.sequence)")
            }
        }
        try interfere()
        try testbed.settle()
        writer.isOnline = true
        try testbed.settle()
    }

    /// Creates the same two records on both devices, with different values, as if both had imported the same source.
    /// The place refers to the person in the same transaction.
    private mutating func importTwice() throws {
        let (person, place) = (newID(), newID())
        names[person] = "person \(made + 1)"
        names[place] = "place \(made + 1)"
        for device in [other, writer] {
            var edits: [RecordEdit] = [
                .create("person", person, ["name": .text(name(person)), "mood": .text("\(device.name) \(made)")]),
                .create(
                    "place", place,
                    [
                        "name": .text(name(place)), "sign": .text("\(device.name) \(made)"),
                        "keeper": .reference(person),
                    ]),
            ]
            if random.chance(0.5) { edits.append(.update("person", person, ["home": .reference(place)])) }
            try commit(edits, on: device)
        }
        made += 1
        if random.chance(0.7) {
            try testbed.settle()
            try commit([.update("person", person, ["mood": .text("later")])], on: other)
            try commit([.delete("place", place)], on: other)
            try commit([.delete("person", person)], on: other)
        }
    }

    private mutating func serverRestore() throws {
        let backup = testbed.backUpServer()
        for _ in 0..<(1 + random.below(4)) {
            try edit(on: writer)
            if random.chance(0.5) { try testbed.settle() }
        }
        try testbed.settle()
        other.isOnline = false
        testbed.restoreServer(backup)
        log.append("the server is restored")
        try testbed.settle()
        other.isOnline = true
        try testbed.settle()
        // The journal of the other device offers lost values, too, because that device had downloaded them.
        for entry in try other.store.journal(state: .active, limit: .max) where random.chance(0.3) {
            var ids = SeededRandom(seed: random.next())
            let made = (0..<20).map { _ in RecordID.make(at: now(), random: &ids) }
            let next = Guarded(made)
            do {
                _ = try other.store.restore(journal: entry.number, now: now()) {
                    next.withLock { $0.removeLast() }
                }
                otherHasRestored = true
                log.append("other restores \(words(entry))")
            } catch { guard error.advice == .changeTheRequest else { throw error } }
        }
        try learnNames(of: other)
        try testbed.settle()
        try interfere()
        try testbed.settle()
    }

    // MARK: Restores

    private mutating func restoreAll() throws {
        var idle = 0
        var rounds = 0
        known = try newest()
        while idle < 2, rounds < 60 {
            rounds += 1
            let active = try writer.store.journal(state: .active, limit: .max)
            guard !active.isEmpty else { return }
            var progress = false
            for entry in shuffled(active) {
                if try restore(entry) { progress = true }
                if random.chance(0.4) {
                    try testbed.settle()
                    try dropValuesInJournal()
                }
            }
            try testbed.settle()
            try dropValuesInJournal()
            idle = progress ? 0 : idle + 1
        }
        try checkOpenEntries()
    }

    /// Checks that each entry that could not be restored has a valid reason: it needs a record that is missing, or it
    /// deletes a record that others require.
    private mutating func checkOpenEntries() throws {
        // A merged entry may have a reference that the other user wrote. That user may have deleted its target since.
        var open = try writer.store.journal(state: .active, limit: .max).filter { entry in
            if case .merged = entry.event { false } else { true }
        }
        while true {
            // A deletion may stay, because others may require the record. An edit may stay if it changes or refers to a
            // record that the user has deleted, or that another open entry would create.
            let missing = removed.union(waiting)
            let rightly = open.filter { entry in
                !deletes(of: entry).isEmpty
                    || changes(of: entry).contains { change in
                        if case .record(let target) = shown(change.value), missing.contains(target) { return true }
                        return missing.contains(name(change.record))
                    }
            }
            guard !rightly.isEmpty else { break }
            waiting.formUnion(rightly.flatMap { changes(of: $0).map { name($0.record) } })
            open.removeAll { rightly.contains($0) }
        }
        for entry in open {
            Issue.record("entry \(entry.number) stays open: \(words(entry))\n\(log.joined(separator: "\n"))")
        }
    }

    private mutating func shuffled(_ entries: [JournalEntry]) -> [JournalEntry] {
        var rest = entries
        var result: [JournalEntry] = []
        while !rest.isEmpty { result.append(rest.remove(at: random.below(rest.count))) }
        return result
    }

    private func newest() throws -> Int64 { try writer.store.journal(state: nil, limit: 1).first?.number ?? 0 }

    private func words(_ entry: JournalEntry) -> String {
        "\(kind(entry)) \(changes(of: entry).map { "\(name($0.record)).\($0.field) = \(shown($0.value))" }) with \((entry.records?.mutations ?? []).map { name($0.record) + words($0.patch) })"
    }

    private func kind(_ entry: JournalEntry) -> String {
        switch entry.event {
        case .rejected(_, let rejection): "rejected (\(rejection.code.rawValue))"
        case .cancelled: "cancelled"
        case .lost: "lost"
        case .merged: "merged"
        case .overwritten: "overwritten"
        case .noticesRemoved: "notices removed"
        }
    }

    private typealias Change = (record: RecordID, field: FieldName, value: FieldValue)

    private func changes(of entry: JournalEntry) -> [Change] {
        switch entry.event {
        case .rejected(let transaction, _), .cancelled(let transaction), .lost(let transaction):
            transaction.mutations.flatMap { mutation in
                mutation.patch.map { (record: mutation.record, field: $0.field, value: $0.value) }
            }
        case .merged(let conflicts), .overwritten(let conflicts, _):
            conflicts.map { (record: $0.record, field: $0.field, value: $0.loser.value) }
        case .noticesRemoved: []
        }
    }

    /// The names of the records that an entry deletes.
    private func deletes(of entry: JournalEntry) -> [String] {
        switch entry.event {
        case .rejected(let transaction, _), .cancelled(let transaction):
            transaction.mutations.compactMap { if case .delete = $0.intent { name($0.record) } else { nil } }
        case .lost, .merged, .overwritten, .noticesRemoved: []
        }
    }

    private mutating func restore(_ entry: JournalEntry) throws -> Bool {
        let made = Guarded([RecordID]())
        let seed = random.next()
        let generator = Guarded(SeededRandom(seed: seed))
        let now = now()
        do {
            _ = try writer.store.restore(journal: entry.number, now: now) {
                let id = generator.withLock { RecordID.make(at: now, random: &$0) }
                made.withLock { $0.append(id) }
                return id
            }
        } catch {
            guard error.advice == .changeTheRequest else { throw error }
            log.append("entry \(entry.number) cannot be restored: \(words(entry)): \(error.message)")
            return false
        }
        log.append("entry \(entry.number) is restored: \(words(entry))")
        try learnNames(of: writer)
        for change in changes(of: entry) {
            removed.remove(name(change.record))
            guard change.field != "name" else { continue }
            // A merged entry may have a reference that the other user wrote. That user may have deleted its target
            // since.
            if case .merged = entry.event, case .record(let target) = shown(change.value), try !isShown(target) {
                continue
            }
            wanted[Field(record: name(change.record), name: change.field)] = shown(change.value)
        }
        for deleted in deletes(of: entry) {
            removed.insert(deleted)
            wanted = wanted.filter { $0.key.record != deleted }
        }
        try dropValuesInJournal()
        return true
    }

    private func isShown(_ name: String) throws -> Bool {
        for collection: CollectionName in ["person", "place"] {
            let records = try writer.store.records(matching: RecordQuery(collection))
            if records.contains(where: { $0.values[0] == .text(name) }) { return true }
        }
        return false
    }

    /// Reads the names of all records, including those that a restore created under new ids.
    private mutating func learnNames(of device: TestbedDevice) throws {
        for collection: CollectionName in ["person", "place"] {
            for record in try device.store.records(matching: RecordQuery(collection)) {
                if case .text(let name) = record.values[0] { names[record.id] = name }
            }
        }
    }

    /// Stops expecting the values that new journal entries offer again, because these values were not accepted.
    private mutating func dropValuesInJournal() throws {
        let last = try newest()
        defer { known = last }
        for entry in try writer.store.journal(state: .active, limit: .max) where entry.number > known {
            log.append("entry \(entry.number) is new: \(words(entry))")
            for change in changes(of: entry) {
                let field = Field(record: name(change.record), name: change.field)
                if wanted[field] == shown(change.value) { wanted[field] = nil }
            }
        }
    }

    // MARK: Check

    private func check() throws {
        var records: [String: [[FieldName: Shown]]] = [:]
        for schema in Self.catalog.models {
            for record in try writer.store.records(matching: RecordQuery(schema.collection)) {
                guard case .text(let name) = record.values[0] else { continue }
                var values: [FieldName: Shown] = [:]
                for (field, value) in zip(schema.fields, record.values) { values[field.name] = shown(value) }
                records[name, default: []].append(values)
            }
        }
        // If both devices create a deleted record again, there are two records with different ids.
        if !otherHasRestored {
            for (name, found) in records where found.count > 1 {
                Issue.record("\(name) is there \(found.count) times\n\(log.joined(separator: "\n"))")
            }
        }
        for (field, value) in wanted.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            if case .record(let target) = value, records[target] == nil, removed.union(waiting).contains(target) {
                continue
            }
            let found = records[field.record, default: []].map { $0[field.name] }
            #expect(
                found.contains(value),
                "\(field.name) of \(field.record) is \(found), not \(value)\n\(log.joined(separator: "\n"))")
        }
    }
}
