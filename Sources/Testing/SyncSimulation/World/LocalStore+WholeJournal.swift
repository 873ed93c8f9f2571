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

    /// Returns whether an open entry of the journal is about changes that the server has lost.
    func hasLostEntries() throws(StoreError) -> Bool {
        var isFound = false
        try forEachJournalEntry(state: .active) { entry in
            if case .lost = entry.event { isFound = true }
            return !isFound
        }
        return isFound
    }

    /// Returns the entries of the journal that were not restored. Each can be restored, even if it was dismissed.
    func restorableJournal() throws(StoreError) -> [JournalEntry] {
        try wholeJournal().filter { $0.state != .restored }
    }
}
