import SyncConcurrency
import SyncCore
import SyncModel

/// Watches that much of what a device shows never goes with a snapshot, unless its user has agreed (I15): whatever the
/// engine asks of its store, it looks at what can be read before and after.
final class BrakeWatch: Sendable {
    private struct State: Sendable {
        /// Whose users have agreed to something that has not been done yet.
        var agreed: Set<String> = []
        var violations: [Violation] = []
    }

    typealias Place = NaiveModel.Place

    /// What a device showed before a page, and what of it its own writes keep or hide.
    struct Shown: Sendable {
        let places: Set<Place>
        let pending: Set<Place>
    }

    private let brake: DeleteBrake?
    private let state = Guarded(State())

    /// - Parameter brake: nil when users are not asked.
    init(brake: DeleteBrake?) {
        self.brake = brake
    }

    func takeViolations() -> [Violation] {
        state.withLock { state in
            defer { state.violations = [] }
            return state.violations
        }
    }

    /// The user agrees to what is held back.
    func agrees(_ device: String) {
        _ = state.withLock { $0.agreed.insert(device) }
    }

    /// Another process starts, which knows nothing of what its user agreed to.
    func beginsAnew(_ device: String) {
        _ = state.withLock { $0.agreed.remove(device) }
    }

    /// What a store shows before it applies a page; nil when the page is none that could delete much.
    func look(at store: any LocalStore, before page: PullPage) throws(StoreFailure) -> Shown? {
        guard let brake, case .snapshot(_, _, isLast: true) = page.content else { return nil }
        var count = 0
        for schema in store.catalog.models { count += try store.count(matching: RecordQuery(schema.collection)) }
        guard count > brake.records else { return nil }
        let entries = try store.outbox(limit: .max)
        return Shown(
            places: try Self.places(in: store),
            pending: Set(
                entries.flatMap(\.transaction.mutations).map { Place(collection: $0.collection, id: $0.record) }))
    }

    /// Compares what a store shows after it has applied a page.
    func compare(_ before: Shown, with store: any LocalStore, on device: String) throws(StoreFailure) {
        guard let brake else { return }
        let after = try Self.places(in: store)
        // What becomes of what waits in the outbox is decided with its answers, not with the page.
        let gone = before.places.subtracting(after).subtracting(before.pending).count
        let total = before.places.union(after).count
        guard gone > brake.records, gone * 100 > total * brake.percent else { return }
        state.withLock { state in
            guard state.agreed.remove(device) == nil else { return }
            state.violations.append(
                Violation(
                    .I15,
                    "\(device) deletes \(gone) of \(total) records with a snapshot, and its user was not asked; more than \(brake.records) and \(brake.percent) % need consent"
                ))
        }
    }

    private static func places(in store: any LocalStore) throws(StoreFailure) -> Set<Place> {
        var places: Set<Place> = []
        for schema in store.catalog.models {
            for record in try store.records(matching: RecordQuery(schema.collection)) {
                places.insert(Place(collection: schema.collection, id: record.id))
            }
        }
        return places
    }
}
