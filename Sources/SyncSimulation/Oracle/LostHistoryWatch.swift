import SyncConcurrency
import SyncCore
import SyncModel

/// Watches what a device does with records that only a lost history of the server has shown: what a restored server does
/// not have goes out of sight, and is offered to the user in the journal, whole (I15).
final class LostHistoryWatch: Sendable {
    private struct State: Sendable {
        /// The versions that the records of each device had in histories that are lost, until the present one has shown
        /// what it knows of them.
        var former: [String: [Place: Version]] = [:]
        var violations: [Violation] = []
    }

    private struct Place: Hashable, Comparable {
        let collection: CollectionName
        let id: RecordID

        static func < (left: Place, right: Place) -> Bool {
            left.collection == right.collection ? left.id < right.id : left.collection < right.collection
        }
    }

    private let state = Guarded(State())

    func takeViolations() -> [Violation] {
        state.withLock { state in
            defer { state.violations = [] }
            return state.violations
        }
    }

    /// Another disk is in the device now: what was seen of it before says nothing.
    func rolledBack(_ device: String) {
        state.withLock { $0.former[device] = nil }
    }

    /// Passes the adoption of a history on to the store.
    func watchAdoption<Result>(
        by device: String, of epoch: Epoch, in store: SimulatedDevice.Store, on disk: SimulatedDisk,
        _ body: () throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        let shown = try disk.withoutFaults { () throws(StoreFailure) -> [Place: Record] in
            guard let known = try store.session().epoch, known != epoch else { return [:] }
            return try Self.records(in: store)
        }
        let result = try body()
        state.withLock { state in
            for (place, record) in shown where record.version > .zero {
                state.former[device, default: [:]][place] = record.version
            }
        }
        return result
    }

    /// Passes a page on to the store.
    func watchPage<Result>(
        _ page: PullPage, on device: String, in store: SimulatedDevice.Store, on disk: SimulatedDisk,
        _ body: () throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        let former = state.withLock { $0.former[device] ?? [:] }
        guard !former.isEmpty, case .snapshot(let groups, _, _) = page.content else { return try body() }
        let before = try disk.withoutFaults { () throws(StoreFailure) in try Self.settledRecords(in: store) }
        let result = try body()
        try disk.withoutFaults { () throws(StoreFailure) in
            let after = try Self.records(in: store)
            var lost: [(place: Place, values: [FieldName: FieldValue])] = []
            for (place, old) in before where old.version == .zero && after[place] == nil {
                lost.append((place, Self.values(of: old, at: place, in: store).filter { !$0.value.isNull }))
            }
            for group in groups {
                for record in group.records {
                    let place = Place(collection: group.collection, id: record.id)
                    guard let old = before[place], old.version == .zero, let new = after[place],
                        new.version == record.version, let version = former[place], version > record.version
                    else { continue }
                    let shown = Self.values(of: new, at: place, in: store)
                    let values = Self.values(of: old, at: place, in: store).filter { shown[$0.key] != $0.value }
                    if !values.isEmpty { lost.append((place, values)) }
                }
            }
            let offered = lost.isEmpty ? [:] : try Self.offers(in: store)
            for (place, values) in lost.sorted(by: { $0.place < $1.place })
            where offered[place]?.contains(values) != true {
                let violation = Violation(
                    .I15,
                    "\(device) had \(values) in \(place.collection) \(place.id), which only a lost history of the server has shown: gone, and not offered in the journal"
                )
                state.withLock { $0.violations.append(violation) }
            }
            state.withLock { state in
                for place in former.keys where after[place]?.version != .zero { state.former[device]?[place] = nil }
            }
        }
        return result
    }

    private static func records(in store: SimulatedDevice.Store) throws(StoreFailure) -> [Place: Record] {
        var records: [Place: Record] = [:]
        for schema in store.catalog.models {
            for record in try store.records(matching: RecordQuery(schema.collection)) {
                records[Place(collection: schema.collection, id: record.id)] = record
            }
        }
        return records
    }

    /// Those that show what a server has shown, and no edit of this device.
    private static func settledRecords(in store: SimulatedDevice.Store) throws(StoreFailure) -> [Place: Record] {
        var records = try records(in: store)
        for mutation in try store.outbox(limit: .max).lazy.flatMap(\.transaction.mutations) {
            records[Place(collection: mutation.collection, id: mutation.record)] = nil
        }
        return records
    }

    private static func values(
        of record: Record, at place: Place, in store: SimulatedDevice.Store
    ) -> [FieldName: FieldValue] {
        let fields = store.catalog[place.collection]?.fields ?? []
        return Dictionary(zip(fields.map(\.name), record.values)) { $1 }
    }

    /// What the journal offers of each record.
    private static func offers(
        in store: SimulatedDevice.Store
    ) throws(StoreFailure) -> [Place: [[FieldName: FieldValue]]] {
        var offers: [Place: [[FieldName: FieldValue]]] = [:]
        for entry in try store.journal(state: nil, limit: .max) {
            guard case .forgotten(let transaction) = entry.event else { continue }
            for mutation in transaction.mutations {
                let values = Dictionary(mutation.patch.map { ($0.field, $0.value) }) { $1 }
                offers[Place(collection: mutation.collection, id: mutation.record), default: []].append(values)
            }
        }
        return offers
    }
}
