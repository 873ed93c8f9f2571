import SyncConcurrency
import SyncCore
import SyncModel

/// A check that no snapshot removes a large part of a device's records without its user's consent (I15).
///
/// It compares the readable records before and after a page, regardless of what the engine asks of its store. It also
/// checks losses of access.
final class BrakeOracle: PageOracle {

    private let brake: DeleteBrake?
    private let violations: ViolationLog
    /// The spaces in which each device's user has agreed to deletions that have not happened yet.
    private let agreed = Guarded([String: Set<SpaceID>]())
    /// The bounds on the number of records that each device held when the current snapshot of a space began.
    ///
    /// The brake counts the records that the server had shown. From outside, it is unknown whether that includes a
    /// record with a pending edit.
    private let heldBefore = Guarded([String: [SpaceID: ClosedRange<Int>]]())

    /// - Parameter brake: nil when users are not asked for consent.
    init(brake: DeleteBrake?, violations: ViolationLog) {
        self.brake = brake
        self.violations = violations
    }

    /// Records that the user agrees to the deletions that the brake has stopped.
    func agrees(_ device: String, in space: SpaceID) {
        _ = agreed.withLock { $0[device, default: []].insert(space) }
    }

    /// Forgets the device's snapshots in progress, because its disk was replaced.
    func rolledBack(_ device: String) {
        heldBefore.withLock { $0[device] = nil }
    }

    /// Forgets the user's consents, because a new process does not know of them.
    func reset(_ device: String) {
        agreed.withLock { $0[device] = nil }
    }

    func inspect(
        at store: SimulatedDevice.Store, before page: PullPage, on device: String
    ) throws(StoreError) -> Comparison? {
        guard let brake, case .snapshot(_, let isFirst, let isLast) = page.content, isFirst || isLast else {
            return nil
        }
        if isFirst { heldBefore.withLock { $0[device]?[page.space] = nil } }
        // Most worlds are too small for the brake, and counting the records of all spaces is a cheap way to find out.
        var count = 0
        for schema in store.catalog.models { count += try store.count(matching: RecordQuery(schema.collection)) }
        guard count > brake.records else { return nil }
        let shown = try Self.addresses(in: store, page.space)
        // The server's responses decide about records with pending edits, not the page.
        let pending = try store.outbox(limit: .max).flatMap(\.transaction.mutations).map {
            RecordAddress($0.collection, $0.record)
        }
        let settled = shown.subtracting(pending)
        if isFirst {
            let held = settled.count...shown.union(pending).count
            heldBefore.withLock { $0[device, default: [:]][page.space] = held }
        }
        guard isLast, let held = heldBefore.withLock({ $0[device]?[page.space] }) else { return nil }
        return { [self] store throws(StoreError) in
            let after = try Self.addresses(in: store, page.space)
            compare(settled.subtracting(after).count, of: held, with: brake, on: device, in: page.space)
        }
    }

    /// Checks that a device asks its user before a loss of access removes records that only a lost history has shown.
    ///
    /// A server whose current history has shown nothing of a space does not prove that it may take the records away.
    func inspect(
        at store: SimulatedDevice.Store, beforeVacating space: SpaceID, on device: String
    ) throws(StoreError) -> Comparison? {
        guard brake != nil else { return nil }
        let pending = Set(try store.outbox(limit: .max).flatMap(\.transaction.mutations).map(\.record))
        let former = try Self.records(in: store, space).filter {
            $0.version == .zero && $0.uid.isValid && !pending.contains($0.id)
        }
        guard !former.isEmpty else { return nil }
        return { [self] store throws(StoreError) in
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
    ) throws(StoreError) -> [Record] {
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

    private static func addresses(
        in store: SimulatedDevice.Store, _ space: SpaceID
    ) throws(StoreError) -> Set<RecordAddress> {
        var addresses: Set<RecordAddress> = []
        for (collection, records) in try store.recordsBySpace()[space] ?? [:] {
            for record in records { addresses.insert(RecordAddress(collection, record.id)) }
        }
        return addresses
    }
}
