import SyncCore

extension LocalStore {
    /// Returns all entries of the journal, newest first.
    func wholeJournal() throws(StoreError) -> [JournalEntry] {
        var entries: [JournalEntry] = []
        try forEachJournalEntry { entry in
            entries.append(entry)
            return true
        }
        return entries
    }
}
