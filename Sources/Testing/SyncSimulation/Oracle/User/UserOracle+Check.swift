import SyncConcurrency
import SyncCore
import SyncModel

extension UserOracle {
    /// The values that a device's user finds when the world is at rest.
    struct Findings {
        let device: String
        /// All records that the device shows.
        let records: [RecordAddress: Record]
        /// The values that the user can still restore, or has decided not to.
        let journal: JournalOffer
        /// The values in the outbox.
        let waiting: JournalOffer
        /// The spaces that the device has access to.
        let spaces: Set<SpaceID>
        /// The history that the device follows, and its version of each space.
        let session: StoredSession
        /// The values of all records, and of lost changes in the journal, each with the space in which the device has
        /// it.
        private(set) var placed: [(value: FieldValue, space: SpaceID, place: String)] = []

        /// Reads everything that a store shows through its public interface.
        init(_ device: String, _ store: SimulatedDevice.Store, _ status: SyncStatus?) throws(StoreError) {
            self.device = device
            var records: [RecordAddress: Record] = [:]
            for schema in store.catalog.models {
                for record in try store.records(matching: RecordQuery(schema.collection)) {
                    records[RecordAddress(schema.collection, record.id)] = record
                }
            }
            self.records = records
            journal = JournalOffer(try store.restorableJournal())
            waiting = JournalOffer(waiting: try store.outbox(limit: .max).map(\.transaction))
            spaces = Set((status?.spaces ?? []).filter(\.hasAccess).map(\.space))
            session = try store.session()
            for (address, record) in self.records {
                guard let space = try store.space(of: address.collection, address.id) else { continue }
                placed += record.values.map { ($0, space, "\(address)") }
            }
            for entry in try store.restorableJournal() {
                guard case .lost(let transaction) = entry.event else { continue }
                for mutation in transaction.mutations {
                    placed += mutation.patch.map { ($0.value, transaction.space, "entry \(entry.number)") }
                }
            }
        }
    }

    /// Checks that no text has left the space in which users entered it: its members alone may read it.
    func checkSpaces(_ all: [Findings]) throws(Violation) {
        let homes = state.withLock { $0.homes }
        for found in all {
            for (value, space, place) in found.placed {
                guard let home = homes[value], !home.contains(space) else { continue }
                throw Violation(
                    .I21,
                    "\(found.device) has \(value) in the space \(space) (\(place)); it was entered in \(home.map(\.rawValue).sorted().joined(separator: ", "))"
                )
            }
        }
    }

    /// Checks that every value reported as saved can be found, and every reported deletion holds.
    ///
    /// - Parameters:
    ///   - mayLackNotices: whether the server has removed notices, so that a device may say that some are missing.
    ///   - mayHaveLostAccess: whether a device's user may have lost access to a space since a time.
    func check(
        _ all: [Findings], mayLackNotices: Bool,
        mayHaveLostAccess: (_ device: String, SpaceID, _ since: Duration) -> Bool
    ) throws(Violation) {
        if !mayLackNotices, let found = all.first(where: \.journal.saysThatNoticesAreMissing) {
            throw Violation(
                .I6, "\(found.device) told its user that notices are missing, and the server has removed none")
        }
        try state.withLock { state throws(Violation) in
            let findings = Dictionary(uniqueKeysWithValues: all.map { ($0.device, $0) })
            var lost: [String] = []
            for (saved, claim) in state.values {
                guard claim.mustExist(mayHaveLostAccess), claim.authors.count == 1, !claim.isReported,
                    !saved.value.isNull, !state.replaced.contains(saved)
                else { continue }
                let isFound = all.contains { found in
                    found.records[saved.field.address]?.value(at: saved.field, in: catalog) == saved.value
                        || found.waiting.values.contains(saved)
                }
                let isOffered = claim.holders.union(claim.restorers).contains {
                    guard let journal = findings[$0]?.journal else { return false }
                    return journal.values.contains(saved) || journal.saysThatNoticesAreMissing
                }
                if isFound || isOffered { continue }
                let shown = Set(
                    all.compactMap { $0.records[saved.field.address]?.value(at: saved.field, in: catalog) }
                ).map { "\($0)" }.sorted().joined(separator: ", ")
                lost.append(
                    "\(claim.holders.sorted().joined(separator: " and ")) told its user that \(saved) is saved; devices show \(shown.isEmpty ? "nothing" : shown) instead, no edit that had seen it replaced it, and no journal offers it"
                )
            }
            if let first = lost.min() { throw Violation(.I1, first) }
            var back: [String] = []
            for (address, claim) in state.deletes {
                guard claim.mustExist(mayHaveLostAccess), !claim.isReported,
                    all.contains(where: { $0.records[address] != nil }),
                    !claim.holders.contains(where: { findings[$0]?.journal.deletes.contains(address) == true })
                else { continue }
                back.append(
                    "\(claim.holders.sorted().joined(separator: " and ")) told its user that \(address) is deleted; it is shown, and no journal says why"
                )
            }
            if let first = back.min() { throw Violation(.I12, first) }
            for found in all { try checkVersions(found, told: state.told[found.device] ?? [:]) }
        }
    }

    /// Checks that no space of a device that says it is in sync is older than what its user was told before, unless the
    /// device has learned of another history.
    private func checkVersions(
        _ found: Findings, told: [SpaceID: (epoch: Epoch, version: Version)]
    ) throws(Violation) {
        for space in found.session.spaces where found.spaces.contains(space.space) {
            guard let before = told[space.space], before.epoch == found.session.epoch, space.version < before.version
            else { continue }
            throw Violation(
                .I15,
                "\(found.device) told its user of version \(before.version) of the space \(space.space); it says that it is in sync at version \(space.version), and nothing of another history"
            )
        }
    }

    /// Checks that two devices in sync show the same records in all spaces that both have access to.
    func checkEqual(_ left: Findings, _ right: Findings, space: (RecordAddress) -> SpaceID?) throws(Violation) {
        let addresses = Set(left.records.keys).union(right.records.keys)
        let isPartial = left.spaces != right.spaces
        for address in addresses.sorted() {
            let (here, there) = (left.records[address], right.records[address])
            guard here?.values != there?.values || here?.uid != there?.uid else { continue }
            if isPartial, let home = space(address), !left.spaces.contains(home) || !right.spaces.contains(home) {
                continue
            }
            throw Violation(
                .I4,
                "\(left.device) and \(right.device) told their users that they are in sync, and show \(address) as \(here.map { "\($0.values)" } ?? "nothing") and \(there.map { "\($0.values)" } ?? "nothing")"
            )
        }
    }
}

extension UserOracle.Claim {
    fileprivate func mustExist(_ mayHaveLostAccess: (String, SpaceID, Duration) -> Bool) -> Bool {
        !holders.isEmpty && !isUncertain && !holders.union(restorers).contains { mayHaveLostAccess($0, space, made) }
    }
}
