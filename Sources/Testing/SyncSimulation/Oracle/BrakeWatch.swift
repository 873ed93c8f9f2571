import SyncConcurrency
import SyncCore
import SyncModel

/// Watches that much of what a device shows never goes with a snapshot, unless its user has agreed (I15): whatever the
/// engine asks of its store, it looks at what can be read before and after.
final class BrakeWatch: PageWatch {
    typealias Place = NaiveModel.Place

    private let brake: DeleteBrake?
    private let violations: ViolationLog
    /// The devices whose users have agreed to something that has not been done yet, and in which spaces.
    private let agreed = Guarded([String: Set<SpaceID>]())
    /// How many records a device held at least, and at most, when the snapshot in progress of a space began. The brake counts what
    /// the server had shown, and here nobody knows whether that is true of a record with a pending edit.
    private let heldBefore = Guarded([String: [SpaceID: ClosedRange<Int>]]())

    /// - Parameter brake: nil when users are not asked.
    init(brake: DeleteBrake?, violations: ViolationLog) {
        self.brake = brake
        self.violations = violations
    }

    /// The user agrees to what is held back.
    func agrees(_ device: String, in space: SpaceID) {
        _ = agreed.withLock { $0[device, default: []].insert(space) }
    }

    /// Another disk is in the device: nobody knows when its snapshots have begun.
    func rolledBack(_ device: String) {
        heldBefore.withLock { $0[device] = nil }
    }

    /// Another process starts, which knows nothing of what its user agreed to.
    func beginsAnew(_ device: String) {
        agreed.withLock { $0[device] = nil }
    }

    func look(
        at store: SimulatedDevice.Store, before page: PullPage, on device: String
    ) throws(StoreFailure) -> Comparison? {
        guard let brake, case .snapshot(_, let isFirst, let isLast) = page.content, isFirst || isLast else {
            return nil
        }
        if isFirst { heldBefore.withLock { $0[device]?[page.space] = nil } }
        // A cheap upper bound, over all spaces: most worlds are too small for the brake.
        var count = 0
        for schema in store.catalog.models { count += try store.count(matching: RecordQuery(schema.collection)) }
        guard count > brake.records else { return nil }
        let shown = try Self.places(in: store, page.space)
        // The fate of what waits in the outbox is decided with its answers, not with the page.
        let pending = try store.outbox(limit: .max).flatMap(\.transaction.mutations).map {
            Place(collection: $0.collection, id: $0.record)
        }
        let settled = shown.subtracting(pending)
        if isFirst {
            let held = settled.count...shown.union(pending).count
            heldBefore.withLock { $0[device, default: [:]][page.space] = held }
        }
        guard isLast, let held = heldBefore.withLock({ $0[device]?[page.space] }) else { return nil }
        return { [self] store throws(StoreFailure) in
            let after = try Self.places(in: store, page.space)
            compare(settled.subtracting(after).count, of: held, with: brake, on: device, in: page.space)
        }
    }

    /// A server whose history has shown nothing of a space does not prove that it may take it away.
    func look(
        at store: SimulatedDevice.Store, beforeVacating space: SpaceID, on device: String
    ) throws(StoreFailure) -> Comparison? {
        guard brake != nil else { return nil }
        let pending = Set(try store.outbox(limit: .max).flatMap(\.transaction.mutations).map(\.record))
        let former = try Self.records(in: store, space).filter {
            $0.version == .zero && $0.uid.isValid && !pending.contains($0.id)
        }
        guard !former.isEmpty else { return nil }
        return { [self] store throws(StoreFailure) in
            let left = Set(try Self.records(in: store, space).map(\.id))
            let gone = former.count { !left.contains($0.id) }
            guard gone > 0, agreed.withLock({ $0[device]?.remove(space) }) == nil else { return }
            violations.report(
                Violation(
                    .I15,
                    "\(device) vacates \(space) of \(gone) records that only a lost history has shown, and its user was not asked"
                ))
        }
    }

    private static func records(
        in store: SimulatedDevice.Store, _ space: SpaceID
    ) throws(StoreFailure) -> [Record] {
        (try store.recordsBySpace()[space] ?? [:]).values.flatMap { $0 }
    }

    private func compare(
        _ gone: Int, of held: ClosedRange<Int>, with brake: DeleteBrake, on device: String, in space: SpaceID
    ) {
        guard held.lowerBound > brake.records, gone * 100 > held.upperBound * brake.percent else { return }
        guard agreed.withLock({ $0[device]?.remove(space) }) == nil else { return }
        violations.report(
            Violation(
                .I15,
                "\(device) deletes \(gone) of \(held.upperBound) records of \(space), and its user was not asked; on a device with more than \(brake.records), more than \(brake.percent) % need consent"
            ))
    }

    private static func places(
        in store: SimulatedDevice.Store, _ space: SpaceID
    ) throws(StoreFailure) -> Set<Place> {
        var places: Set<Place> = []
        for (collection, records) in try store.recordsBySpace()[space] ?? [:] {
            for record in records { places.insert(Place(collection: collection, id: record.id)) }
        }
        return places
    }
}
