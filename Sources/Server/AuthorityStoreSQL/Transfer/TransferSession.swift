package import SyncAuthority

/// A transaction that copies a whole database, or receives a copy.
package protocol TransferSession: SQLSession {
    /// Inserts a conflict with a given number. The statement differs between the databases, because normally the
    /// database assigns the number.
    static var insertConflict: StaticString { get }

    /// Removes time limits that are shorter than a copy takes, and prefers plans that return their first row at once.
    func prepareForTransfer() throws(AuthorityStoreError)

    /// Lets servers open the database once the transaction has committed the whole copy. Must be called before the
    /// copy, which writes to the table `server`. In SQLite, it does nothing.
    func finishTransfer() throws(AuthorityStoreError)

    /// The number of the last conflict, which may be deleted already; 0 if there has been none.
    func lastConflict() throws(AuthorityStoreError) -> Int64

    /// Sets the number of the last conflict. The next conflict gets the following number.
    func setLastConflict(_ number: Int64) throws(AuthorityStoreError)
}

/// A store that can be copied to another store, or receive a copy.
package protocol TransferableStore: AuthorityStore {
    /// Calls `body` in a transaction that lets no other connection write.
    func transfer<Result: Sendable>(_ body: (any TransferSession) throws -> Result) throws -> Result
}
