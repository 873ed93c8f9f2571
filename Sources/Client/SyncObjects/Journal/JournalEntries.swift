import SyncConcurrency
import SyncCore

/// The entries of the journal that await a decision: those that exist now, oldest first, and then each new one.
///
/// An iteration returns each entry once. Entries survive restarts: a new iteration begins with all undecided entries. A
/// client without a journal has none.
public struct JournalEntries<Entry: Identifiable & Sendable>: AsyncSequence, Sendable where Entry.ID == Int64 {
    public typealias Element = Entry
    public typealias Failure = ModelError

    let objects: LiveObjects
    let entry: @Sendable (JournalEntry) throws(StoreError) -> Entry?

    init(_ objects: LiveObjects, _ entry: @escaping @Sendable (JournalEntry) throws(StoreError) -> Entry?) {
        self.objects = objects
        self.entry = entry
    }

    /// Returns the entries that are undecided now, oldest first.
    public func all() throws(ModelError) -> [Entry] {
        try newer(than: 0).entries
    }

    /// Returns the undecided entries with numbers greater than `number`, oldest first, and the number of the newest
    /// undecided entry of any kind.
    func newer(than number: Int64) throws(ModelError) -> (entries: [Entry], newest: Int64) {
        guard let journal = objects.source.journal else { return ([], number) }
        var found: [Entry] = []
        var newest = number
        do throws(StoreError) {
            try journal.forEachJournalEntry(state: .active) { (item) throws(StoreError) in
                if item.number <= number { return false }
                newest = Swift.max(newest, item.number)
                if let entry = try entry(item) { found.append(entry) }
                return true
            }
        } catch {
            throw ModelError(error)
        }
        return (found.reversed(), newest)
    }

    public func makeAsyncIterator() -> Iterator {
        // Subscribe before the first read, so that no change is missed in between.
        Iterator(entries: self, changes: objects.changes.subscribe().makeAsyncIterator())
    }

    /// The iterator, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        let entries: JournalEntries
        var changes: Broadcast<StoreChange>.Subscription.Iterator
        var ready: [Entry] = []
        /// The number of the newest entry that was read.
        var newest: Int64 = 0
        /// Whether entries may have been added since the last read that succeeded.
        var needsRead = true

        init(entries: JournalEntries, changes: Broadcast<StoreChange>.Subscription.Iterator) {
            self.entries = entries
            self.changes = changes
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ModelError) -> Entry? {
            while true {
                if !ready.isEmpty { return ready.removeFirst() }
                if !needsRead {
                    guard let change = await changes.next(isolation: actor), !entries.objects.isEnded else {
                        return nil
                    }
                    guard change.touchesOutbox else { continue }
                }
                needsRead = true
                do throws(ModelError) {
                    (ready, newest) = try entries.newer(than: newest)
                } catch {
                    // The store may have been closed during the read.
                    if entries.objects.isEnded { return nil }
                    throw error
                }
                needsRead = false
            }
        }

        public mutating func next() async throws(ModelError) -> Entry? {
            try await next(isolation: #isolation)
        }
    }
}
