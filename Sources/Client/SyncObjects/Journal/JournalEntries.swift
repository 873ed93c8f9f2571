import SyncConcurrency
import SyncCore

/// The entries of the journal that await a decision: those that are there now, oldest first, and each new one when it comes.
///
/// An iteration gives each entry once. Entries survive restarts: a new iteration begins with all that are undecided. A
/// client without a journal has none.
public struct JournalEntries<Entry: Identifiable & Sendable>: AsyncSequence, Sendable where Entry.ID == Int64 {
    public typealias Element = Entry
    public typealias Failure = ModelError

    let objects: LiveObjects
    let entry: @Sendable (JournalEntry) -> Entry?

    init(_ objects: LiveObjects, _ entry: @escaping @Sendable (JournalEntry) -> Entry?) {
        self.objects = objects
        self.entry = entry
    }

    /// Returns the entries that are undecided now, oldest first.
    public func all() throws(ModelError) -> [Entry] {
        try newer(than: nil)
    }

    /// Returns the undecided entries after a number, oldest first.
    func newer(than number: Int64?) throws(ModelError) -> [Entry] {
        guard let journal = objects.source.journal else { return [] }
        var found: [Entry] = []
        do throws(StoreError) {
            try journal.forEachJournalEntry(state: .active) { (item) throws(StoreError) in
                if let number, item.number <= number { return false }
                if let entry = entry(item) { found.append(entry) }
                return true
            }
        } catch {
            throw ModelError(error)
        }
        return found.reversed()
    }

    public func makeAsyncIterator() -> Iterator {
        // Subscribe before the first read, so that no change is missed in between.
        Iterator(entries: self, changes: objects.changes.subscribe().makeAsyncIterator())
    }

    public struct Iterator: AsyncIteratorProtocol {
        let entries: JournalEntries
        var changes: Broadcast<StoreChange>.Subscription.Iterator
        var ready: [Entry] = []
        var last: Int64?
        var hasBegun = false

        init(entries: JournalEntries, changes: Broadcast<StoreChange>.Subscription.Iterator) {
            self.entries = entries
            self.changes = changes
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ModelError) -> Entry? {
            while true {
                if !ready.isEmpty {
                    let entry = ready.removeFirst()
                    last = entry.id
                    return entry
                }
                if hasBegun {
                    guard let change = await changes.next(isolation: actor), !entries.objects.isEnded else {
                        return nil
                    }
                    guard change.touchesOutbox else { continue }
                }
                hasBegun = true
                ready = try entries.newer(than: last)
            }
        }

        public mutating func next() async throws(ModelError) -> Entry? {
            try await next(isolation: #isolation)
        }
    }
}
