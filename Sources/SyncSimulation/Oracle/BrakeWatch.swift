import SyncConcurrency
import SyncCore
import SyncModel

/// Watches that much of what a device shows never goes with a snapshot, unless its user has agreed (I15): whatever the
/// engine asks of its store, it looks at what can be read before and after.
final class BrakeWatch: PageWatch {
    typealias Place = NaiveModel.Place

    private let brake: DeleteBrake?
    private let violations: ViolationLog
    /// Whose users have agreed to something that has not been done yet.
    private let agreed = Guarded(Set<String>())

    /// - Parameter brake: nil when users are not asked.
    init(brake: DeleteBrake?, violations: ViolationLog) {
        self.brake = brake
        self.violations = violations
    }

    /// The user agrees to what is held back.
    func agrees(_ device: String) {
        _ = agreed.withLock { $0.insert(device) }
    }

    /// Another process starts, which knows nothing of what its user agreed to.
    func beginsAnew(_ device: String) {
        _ = agreed.withLock { $0.remove(device) }
    }

    func look(
        at store: SimulatedDevice.Store, before page: PullPage, on device: String
    ) throws(StoreFailure) -> Comparison? {
        guard let brake, case .snapshot(_, _, isLast: true) = page.content else { return nil }
        var count = 0
        for schema in store.catalog.models { count += try store.count(matching: RecordQuery(schema.collection)) }
        guard count > brake.records else { return nil }
        let shown = try Self.places(in: store)
        // What becomes of what waits in the outbox is decided with its answers, not with the page.
        let pending = try store.outbox(limit: .max).flatMap(\.transaction.mutations).map {
            Place(collection: $0.collection, id: $0.record)
        }
        return { [self] store throws(StoreFailure) in
            let after = try Self.places(in: store)
            let gone = shown.subtracting(after).subtracting(pending).count
            compare(gone, of: shown.union(after).count, with: brake, on: device)
        }
    }

    private func compare(_ gone: Int, of total: Int, with brake: DeleteBrake, on device: String) {
        guard gone > brake.records, gone * 100 > total * brake.percent else { return }
        guard agreed.withLock({ $0.remove(device) }) == nil else { return }
        violations.report(
            Violation(
                .I15,
                "\(device) deletes \(gone) of \(total) records with a snapshot, and its user was not asked; more than \(brake.records) and \(brake.percent) % need consent"
            ))
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
