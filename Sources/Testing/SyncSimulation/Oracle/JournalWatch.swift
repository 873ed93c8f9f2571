import SyncConcurrency
import SyncCore
import SyncModel

/// Watches that journals stay within their limit (I19), and forget nothing that nobody has seen (I1).
///
/// A store promises: while the journal holds more entries than its limit, the oldest handled ones are deleted; unhandled ones
/// never are. So two looks at a file say more than one.
final class JournalWatch: Sendable {
    private struct Device: Sendable {
        /// The entries when the file was last looked at, and whether each was active.
        var entries: [Int64: Bool] = [:]
        /// The entries that the user may have dealt with.
        var dealtWith: Set<Int64> = []
        /// The spaces of those of them that others have written.
        var others: [Int64: SpaceID] = [:]
        /// The spaces that were vacated since the file was last looked at.
        var vacated: Set<SpaceID> = []
    }

    private let limit: Int?
    private let devices = Guarded([String: Device]())

    /// - Parameter limit: of entries; nil when the parts state none.
    init(limit: Int?) {
        self.limit = limit
    }

    /// The user is about to dismiss an entry, or to send it again.
    func dealsWith(_ entry: Int64, on device: String) {
        _ = devices.withLock { $0[device, default: Device()].dealtWith.insert(entry) }
    }

    /// The device has vacated a space: what others have written there went out of its journal, too.
    func hasVacated(_ space: SpaceID, on device: String) {
        _ = devices.withLock { $0[device, default: Device()].vacated.insert(space) }
    }

    /// The file is another one now, or an older one.
    func beginsAnew(_ device: String) {
        devices.withLock { $0[device] = nil }
    }

    func check(_ facts: ReplicaFacts, of device: String) throws(Violation) {
        if facts.strayConflicts > 0 {
            throw Violation(
                .I19, "\(device) keeps \(facts.strayConflicts) conflicts of entries that its journal has forgotten")
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
