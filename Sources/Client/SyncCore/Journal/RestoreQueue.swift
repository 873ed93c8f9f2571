/// A queue of journal entries that are restored together.
///
/// The entries are restored in the given order, in rounds. An entry that needs a record which is not on this device is
/// tried again in the next round, because another entry may have created the record by then. Rounds end when one
/// restores nothing. The refusal of one entry does not affect the others.
package struct RestoreQueue: Sendable {
    /// An entry that was not restored, and the reason.
    package struct Failure: Sendable {
        package let entry: Int64
        package let error: StoreError
    }

    /// The entries that are left of this round.
    private var round: ArraySlice<Int64>
    /// The number of entries with which this round began.
    private var roundCount: Int
    private var current: Int64?
    /// The entries of this round that change, or refer to, a record which is not on this device.
    private var waiting: [Failure] = []
    /// The entries that cannot be restored.
    package private(set) var failures: [Failure] = []

    /// Creates the queue of entries with these numbers.
    package init(_ entries: [Int64]) {
        round = entries[...]
        roundCount = entries.count
    }

    /// Returns the number of the entry to restore next, or nil after the last one.
    ///
    /// A caller that cannot restore the entry reports the error to `refused` before the next call.
    package mutating func next() -> Int64? {
        if round.isEmpty {
            if waiting.count == roundCount {
                // This round restored nothing, so another round would not, either.
                failures += waiting
                waiting = []
            }
            round = waiting.map(\.entry)[...]
            roundCount = round.count
            waiting = []
        }
        current = round.popFirst()
        return current
    }

    /// Decides what follows the refusal of the entry that `next` returned last.
    ///
    /// - Throws: The error, when it is not about this entry and would therefore stop the other entries, too.
    package mutating func refused(_ error: StoreError) throws(StoreError) {
        guard let entry = current else { throw error }
        let failure = Failure(entry: entry, error: error)
        switch error.code {
        case .danglingReference, .missingRecord: waiting.append(failure)
        case .duplicateRecord, .invalidValue, .tooLarge: failures.append(failure)
        default: throw error
        }
    }
}
