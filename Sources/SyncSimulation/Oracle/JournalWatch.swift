import SyncConcurrency
import SyncCore
import SyncModel

/// Watches that journals stay within their limit (I19), and forget nothing that nobody has seen (I1).
///
/// A store promises: when an entry is written, those that lie further back than the limit go, unless nobody has dealt with
/// them. So one look at a file says little, and two of them do.
final class JournalWatch: Sendable {
    private struct Device: Sendable {
        /// The entries when the file was last looked at, and whether each was active.
        var entries: [Int64: Bool] = [:]
        /// What the user may have dealt with.
        var dealtWith: Set<Int64> = []
        /// The spaces of those of them that others have written.
        var others: [Int64: SpaceID] = [:]
        /// The newest entry that there ever was.
        var newest: Int64 = 0
        /// What was vacated since the file was last looked at.
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
                devices[device]?.newest = facts.newestJournal
                devices[device]?.vacated = []
            }
            return devices[device] ?? Device()
        }
        let gone = before.others.filter { before.vacated.contains($0.value) }
        // Of all that there ever were: what has taken others' place may have gone itself, with the access to its space.
        let newest = facts.newestJournal
        let last = before.newest
        let bound = newest - Int64(limit)
        for (number, wasActive) in before.entries.sorted(by: { $0.key < $1.key }) {
            switch facts.journal[number] {
            case nil where gone[number] != nil: continue
            case nil where number > bound:
                throw Violation(
                    .I1, "\(device) has forgotten journal entry \(number), of which the newest is \(newest)")
            case nil where wasActive && !before.dealtWith.contains(number):
                throw Violation(.I1, "\(device) has forgotten journal entry \(number), which nobody had seen")
            case false? where !wasActive && newest > last && number <= bound:
                throw Violation(
                    .I19,
                    "\(device) keeps journal entry \(number), dealt with before \(newest) was written; \(limit) are kept"
                )
            default: continue
            }
        }
    }
}
