import SyncConcurrency
import SyncCore
import SyncModel

/// Watches what a device does with records that only a lost history of the server has shown: what a restored server does
/// not have goes out of sight, and is offered to the user in the journal, whole (I15).
final class LostHistoryWatch: Sendable {
    private struct State: Sendable {
        /// The versions that the fields of each device's records had in histories that are lost, until the present one has
        /// shown what it knows of them.
        var former: [String: [Place: [Version]]] = [:]
        var violations: [Violation] = []
    }

    private typealias Place = NaiveModel.Place

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
                state.former[device, default: [:]][place] = record.values.indices.map { record.version(ofFieldAt: $0) }
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
        let (before, told) = try disk.withoutFaults { () throws(StoreFailure) in
            (try Self.settledRecords(in: store), try store.journal(state: nil, limit: 1).first?.number ?? 0)
        }
        let result = try body()
        try disk.withoutFaults { () throws(StoreFailure) in
            let after = try Self.records(in: store)
            var lost: [Place: [FieldName: FieldValue]] = [:]
            for (place, old) in before where old.version == .zero && after[place] == nil {
                lost[place] = Self.values(of: old, at: place, in: store).filter { !$0.value.isNull }
            }
            for group in groups {
                for record in group.records {
                    let place = Place(collection: group.collection, id: record.id)
                    // A page that does not continue what is stored changes nothing.
                    guard let old = before[place], old.version == .zero, after[place]?.version == record.version,
                        let versions = former[place]
                    else { continue }
                    let fields = store.catalog[place.collection]?.fields ?? []
                    var values: [FieldName: FieldValue] = [:]
                    for (position, field) in fields.enumerated()
                    where versions[position] > record.version(ofFieldAt: position)
                        && old.values[position] != record.values[position]
                    {
                        values[field.name] = old.values[position]
                    }
                    if !values.isEmpty { lost[place] = values }
                }
            }
            let offered = try Self.offers(in: store, after: told).filter { place, _ in
                // What an older image of the disk knew of histories before it, nobody has seen.
                guard let old = before[place] else { return false }
                return old.version > .zero || after[place] == nil || former[place] != nil
            }
            for place in Set(lost.keys).union(offered.keys).sorted() where lost[place] != offered[place] {
                let violation = Violation(
                    .I15,
                    "\(device) has lost \(Self.words(lost[place])) of \(place), which only a lost history of the server had, and offers \(Self.words(offered[place]))"
                )
                state.withLock { $0.violations.append(violation) }
            }
            state.withLock { state in
                for place in former.keys where after[place]?.version != .zero { state.former[device]?[place] = nil }
            }
        }
        return result
    }

    private static func words(_ values: [FieldName: FieldValue]?) -> String {
        guard let values else { return "nothing" }
        return values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
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

    /// What the journal offers of each record, in the entries behind this one.
    private static func offers(
        in store: SimulatedDevice.Store, after number: Int64
    ) throws(StoreFailure) -> [Place: [FieldName: FieldValue]] {
        var offers: [Place: [FieldName: FieldValue]] = [:]
        for entry in try store.journal(state: nil, limit: .max) where entry.number > number {
            guard case .forgotten(let transaction) = entry.event else { continue }
            for mutation in transaction.mutations {
                let place = Place(collection: mutation.collection, id: mutation.record)
                offers[place] = Dictionary(mutation.patch.map { ($0.field, $0.value) }) { $1 }
            }
        }
        return offers
    }
}
