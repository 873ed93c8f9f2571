/// Several journal entries that are restored together, in the order of their restores.
///
/// The entries are restored in the given order, except that an entry waits for the entries that create the records to
/// which it refers: it is tried again as long as that may help. The refusal of one entry does not affect the others.
package struct RestoreQueue: Sendable {
    /// An entry that was not restored, and the reason.
    package struct Failure: Sendable {
        package let entry: Int64
        package let error: StoreError
    }

    private var round: ArraySlice<Int64>
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
                // Nothing was restored in this round that another one could need.
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
    /// - Throws: The error, when it is not about the entry, so that the other entries would be refused, too.
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
