import SyncConcurrency
import SyncCore
import SyncModel

/// A check that journals stay within their limit (I19) and lose no entry that the user has not handled (I1).
///
/// While the journal holds more entries than its limit, a store deletes the oldest handled entries, and never an
/// unhandled one. The check compares the file with its state at the previous check.
final class JournalOracle: Sendable {
    private struct Device: Sendable {
        /// The entries at the previous check, and whether each was active.
        var entries: [Int64: Bool] = [:]
        /// The entries that the user may have handled.
        var dealtWith: Set<Int64> = []
        /// The spaces of the entries that hold other devices' values.
        var others: [Int64: SpaceID] = [:]
        /// The spaces that were vacated since the previous check.
        var vacated: Set<SpaceID> = []
    }

    private let limit: Int?
    private let devices = Guarded([String: Device]())

    /// - Parameter limit: the maximum number of entries; nil when the parts state none.
    init(limit: Int?) {
        self.limit = limit
    }

    /// Records that the user is about to dismiss or restore an entry.
    func dealsWith(_ entry: Int64, on device: String) {
        _ = devices.withLock { $0[device, default: Device()].dealtWith.insert(entry) }
    }

    /// Records that the device has vacated a space, which also removes other devices' values there from its journal.
    func hasVacated(_ space: SpaceID, on device: String) {
        _ = devices.withLock { $0[device, default: Device()].vacated.insert(space) }
    }

    /// Forgets the device's entries, because its file was replaced or has lost commits.
    func reset(_ device: String) {
        devices.withLock { $0[device] = nil }
    }

    func check(_ facts: ReplicaFacts, of device: String) throws(Violation) {
        if facts.unexpectedConflicts > 0 {
            throw Violation(
                .I19, "\(device) keeps \(facts.unexpectedConflicts) conflicts of entries that its journal has forgotten"
            )
        }
        guard let limit else { return }
        let before = devices.withLock { devices in
            defer {
                devices[device, default: Device()].entries = facts.journal
                devices[device]?.others = facts.journalOfOthers
                devices[device]?.vacated = []
            }
            return devices[device] ?? Device()
        }
        let gone = before.others.filter { before.vacated.contains($0.value) }
        for (number, wasActive) in before.entries.sorted(by: { $0.key < $1.key })
        where facts.journal[number] == nil && gone[number] == nil {
            guard !wasActive || before.dealtWith.contains(number) else {
                throw Violation(.I1, "\(device) has deleted journal entry \(number), which nobody had handled")
            }
            guard facts.journal.count >= limit || !before.vacated.isEmpty else {
                throw Violation(
                    .I1, "\(device) has deleted journal entry \(number), with \(facts.journal.count) of \(limit) left")
            }
        }
        if facts.journal.count > limit, let handled = facts.journal.filter({ !$0.value }).keys.min() {
            throw Violation(
                .I19,
                "\(device) keeps the handled journal entry \(handled) among \(facts.journal.count); \(limit) are allowed"
            )
        }
    }
}
