import SyncConcurrency
import SyncCore
import SyncModel

/// A check of how a device treats records that only a lost history of the server has shown (I15).
///
/// Records that a restored server does not have must disappear, and the journal must offer the user their complete
/// values. A value gives way to a pending edit only if the user of the device had read the value and replaced it.
final class LostHistoryOracle: PageOracle {

    private let violations: ViolationLog
    private let history: History
    private let users: UserOracle
    /// Each device's records in lost histories, until the current history has shown its own version of the record.
    private let former = Guarded([String: [RecordAddress: Former]]())

    /// A record of a device in a lost history.
    struct Former: Sendable {
        /// The versions of its fields.
        let versions: [Version]
        /// The record without pending edits, and its space; nil when the server had not shown it.
        let shown: Record?
        let space: SpaceID
    }

    /// A record as a server last showed it to a device.
    private struct Known {
        let record: Record
        let space: SpaceID
        /// Whether the current history has shown the record.
        let isCurrent: Bool
        /// The values that pending edits give to its fields.
        var pending: [FieldName: Set<FieldValue>] = [:]
    }

    init(history: History, users: UserOracle, violations: ViolationLog) {
        self.history = history
        self.users = users
        self.violations = violations
    }

    /// Forgets what was observed, because the device's disk was replaced.
    func rolledBack(_ device: String) {
        former.withLock { $0[device] = nil }
    }

    /// Returns all records of a store before it adopts a history; empty when it already follows that history, or none
    /// yet.
    func inspect(at store: SimulatedDevice.Store, before epoch: Epoch) throws(StoreError) -> [RecordAddress: Former] {
        guard let known = try store.session().epoch, known != epoch else { return [:] }
        var former: [RecordAddress: Former] = [:]
        // The trace has every read, so the reads need the same order in every run.
        let records = try Self.addresses(in: store).sorted { $0.key < $1.key }
        for (address, (record, space)) in records where record.version > .zero {
            former[address] = Former(
                versions: record.values.indices.map { record.version(ofFieldAt: $0) },
                shown: try store.shownRecord(address.collection, address.id), space: space)
        }
        return former
    }

    /// Records that the store has adopted another history, and which records it had before.
    func adopted(_ former: [RecordAddress: Former], by device: String) {
        self.former.withLock { $0[device, default: [:]].merge(former) { $1 } }
    }

    func inspect(
        at store: SimulatedDevice.Store, before page: PullPage, on device: String
    ) throws(StoreError) -> Comparison? {
        let former = former.withLock { $0[device] ?? [:] }
        guard !former.isEmpty else { return nil }
        let told = Self.records(of: page, in: store.catalog)
        let before = try Self.knownRecords(in: store, former)
        let newest = try store.journal(state: nil, limit: 1).first?.number ?? 0
        return { [self] store throws(StoreError) in
            let after = try Self.addresses(in: store)
            var lost: [RecordAddress: [FieldName: FieldValue]] = [:]
            // Values that the device may offer: the current history, or its user, has replaced them.
            var replaced: [RecordAddress: [FieldName: FieldValue]] = [:]
            // A pending edit of the same id in another space may have become visible instead.
            for (address, known) in before
            where !known.isCurrent && after[address]?.space != known.space && told[address] == nil {
                lost[address] = [:]
                for (field, value) in Self.values(of: known.record, at: address, in: store) where !value.isNull {
                    if hasReplaced(value, in: field, of: known, at: address, on: device) {
                        replaced[address, default: [:]][field] = value
                    } else {
                        lost[address]?[field] = value
                    }
                }
            }
            for (address, record) in told {
                // A page that does not continue the stored state changes nothing.
                guard let known = before[address], !known.isCurrent, after[address]?.record.version != .zero,
                    let versions = former[address]?.versions
                else { continue }
                let (old, space) = (known.record, known.space)
                let fields = store.catalog[address.collection]?.fields ?? []
                var values: [FieldName: FieldValue] = [:]
                for (position, field) in fields.enumerated() {
                    // An earlier build had never seen a field that it did not know.
                    guard versions.indices.contains(position), old.values.indices.contains(position),
                        old.values[position] != record.values[position]
                    else { continue }
                    // Versions of two spaces cannot be compared.
                    let isLost =
                        space == page.space
                        ? versions[position] >= record.version(ofFieldAt: position)
                            || record.isEmptySinceCreation(position)
                        : !old.values[position].isNull
                    let saved = UserOracle.Saved(
                        field: UserOracle.FieldAddress(address, field.name), value: old.values[position])
                    let pending = known.pending[field.name] ?? []
                    if hasReplaced(saved.value, in: field.name, of: known, at: address, on: device) {
                        // The user does not want the value any more, if the edit that has replaced it is not undone.
                        // Only of texts, which are unique, is it certain which edit has replaced them.
                        if space == page.space, let last = users.replacement(of: saved, on: device),
                            case .text = last, case .text = saved.value, pending.contains(last)
                        {
                            continue
                        }
                        replaced[address, default: [:]][field.name] = saved.value
                    } else if isLost {
                        values[field.name] = saved.value
                    } else if space == page.space {
                        switch duty(to: saved, replacedBy: page, on: device) {
                        case .offer where try !Self.isOffered(saved, in: store, upTo: newest):
                            values[field.name] = saved.value
                        case .offer, .free: replaced[address, default: [:]][field.name] = saved.value
                        case .keepQuiet: break
                        }
                    }
                }
                if !values.isEmpty { lost[address] = values }
            }
            let offered = try Self.offers(in: store, after: newest).filter { address, _ in
                // Records that a rolled-back disk holds from earlier lost histories were not observed.
                guard let known = before[address] else { return false }
                return known.isCurrent || after[address] == nil || former[address] != nil
            }
            // With two histories in turn, an entry that nobody has handled may still offer a value.
            let waiting = JournalOffer(
                try store.wholeJournal().filter { $0.number <= newest && $0.state == .active })
            for address in Set(lost.keys).union(offered.keys).sorted() {
                let (needed, allowed) = (lost[address] ?? [:], replaced[address] ?? [:])
                let found = offered[address] ?? [:]
                let missing = needed.filter { field, value in
                    let saved = UserOracle.Saved(field: UserOracle.FieldAddress(address, field), value: value)
                    return found[field] != value && !waiting.values.contains(saved)
                }
                let isExact = missing.isEmpty && found.allSatisfy { needed[$0] == $1 || allowed[$0] == $1 }
                guard !isExact else { continue }
                let violation = Violation(
                    .I15,
                    "\(device) has lost \(Self.words(lost[address])) of \(address), which only a lost history of the server had, and offers \(Self.words(offered[address]))"
                )
                violations.report(violation)
            }
            self.former.withLock { all in
                for address in former.keys where after[address]?.record.version != .zero { all[device]?[address] = nil }
            }
        }
    }

    /// How a device must treat a value that the history of a page has replaced by another.
    private enum Duty {
        /// The history never had the value. The device's user was told that it is saved.
        case offer
        /// The history never had the value, and the device's user was not told that it is saved. Or the history had the
        /// value, and the device's user entered it: the device cannot know that, because it does not know where its
        /// former history ended. Or it is unknown whether the history had the value.
        case free
        /// The history had the value, and others entered it.
        case keepQuiet
    }

    private func duty(to saved: UserOracle.Saved, replacedBy page: PullPage, on device: String) -> Duty {
        switch history.hasShown(saved.value, in: saved.field, of: page) {
        case false?: users.holds(saved, on: device) ? .offer : .free
        case nil: .free
        case true?: users.hasEntered(saved, on: device) ? .free : .keepQuiet
        }
    }

    /// Returns whether a pending edit has changed a field, and the device's user had read this value there and replaced
    /// it, or the device still sends the value.
    private func hasReplaced(
        _ value: FieldValue, in field: FieldName, of known: Known, at address: RecordAddress, on device: String
    ) -> Bool {
        let saved = UserOracle.Saved(field: UserOracle.FieldAddress(address, field), value: value)
        guard let pending = known.pending[field] else { return false }
        return pending.contains(value) || users.hasReplaced(saved, on: device)
    }

    private static func words(_ values: [FieldName: FieldValue]?) -> String {
        guard let values else { return "nothing" }
        return values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
    }

    /// Returns all records that a store shows, with their spaces.
    private static func addresses(
        in store: SimulatedDevice.Store
    ) throws(StoreError) -> [RecordAddress: (record: Record, space: SpaceID)] {
        var records: [RecordAddress: (record: Record, space: SpaceID)] = [:]
        for (space, collections) in try store.recordsBySpace() {
            for (collection, found) in collections {
                for record in found { records[RecordAddress(collection, record.id)] = (record, space) }
            }
        }
        return records
    }

    /// Returns the records that a page contains in full: the rows of a snapshot, or the creations in a feed.
    private static func records(of page: PullPage, in catalog: SchemaCatalog) -> [RecordAddress: Record] {
        var records: [RecordAddress: Record] = [:]
        switch page.content {
        case .snapshot(let groups, _, _):
            for group in groups {
                for record in group.records { records[RecordAddress(group.collection, record.id)] = record }
            }
        case .commits(let commits):
            for commit in commits {
                for change in commit.changes {
                    guard case .created(let uid, let patch) = change.effect, let schema = catalog[change.collection]
                    else { continue }
                    records[RecordAddress(change.collection, change.id)] = Record(
                        id: change.id, uid: uid, version: commit.version, creating: patch, schema: schema)
                }
            }
        }
        return records
    }

    /// Returns the records of a store as a server last showed them, except those that the device creates or deletes, or
    /// edits in another space.
    private static func knownRecords(
        in store: SimulatedDevice.Store, _ former: [RecordAddress: Former]
    ) throws(StoreError) -> [RecordAddress: Known] {
        let shown = try addresses(in: store)
        var records = shown.mapValues { record, space in
            Known(record: record, space: space, isCurrent: record.version > .zero)
        }
        var edited: [RecordAddress: Set<SpaceID>] = [:]
        for transaction in try store.outbox(limit: .max).map(\.transaction) {
            for mutation in transaction.mutations {
                let address = mutation.address
                edited[address, default: []].insert(transaction.space)
                // A pending edit in another space does not affect the record shown in this one.
                guard shown[address]?.space == transaction.space else { continue }
                guard case .update(let edits) = mutation.intent else {
                    records[address] = nil
                    continue
                }
                for edit in edits { records[address]?.pending[edit.field, default: []].insert(edit.value) }
            }
        }
        for (address, known) in records.sorted(by: { $0.key < $1.key }) where !known.pending.isEmpty {
            let current = try store.shownRecord(address.collection, address.id)
            guard edited[address] == [known.space], let record = current ?? former[address]?.shown,
                current != nil || former[address]?.space == known.space
            else {
                records[address] = nil
                continue
            }
            records[address] = Known(
                record: record, space: known.space, isCurrent: current != nil, pending: known.pending)
        }
        return records
    }

    private static func values(
        of record: Record, at address: RecordAddress, in store: SimulatedDevice.Store
    ) -> [FieldName: FieldValue] {
        let fields = store.catalog[address.collection]?.fields ?? []
        return Dictionary(zip(fields.map(\.name), record.values)) { $1 }
    }

    /// Returns whether the journal offers a value, in entries up to the given number.
    private static func isOffered(
        _ saved: UserOracle.Saved, in store: SimulatedDevice.Store, upTo number: Int64
    ) throws(StoreError) -> Bool {
        JournalOffer(try store.wholeJournal().filter { $0.number <= number }).values.contains(saved)
    }

    /// Returns the values that the journal offers for each record, in entries after the given number.
    private static func offers(
        in store: SimulatedDevice.Store, after number: Int64
    ) throws(StoreError) -> [RecordAddress: [FieldName: FieldValue]] {
        var offers: [RecordAddress: [FieldName: FieldValue]] = [:]
        for entry in try store.wholeJournal() where entry.number > number {
            guard case .lost(let transaction) = entry.event else { continue }
            for mutation in transaction.mutations {
                // Values of this device and those of others are offered separately.
                for (name, value) in mutation.patch { offers[mutation.address, default: [:]][name] = value }
            }
        }
        return offers
    }
}
