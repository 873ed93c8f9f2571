/// The store in which the authority keeps all its data.
///
/// Each call is one synchronous database transaction and may be made from any thread. It may wait for a disk or for
/// other writers, but only for a bounded time.
///
/// `body` sees a consistent snapshot of the database. It must not call the store again, and it is executed only once.
/// Both calls throw an `AuthorityStoreError`, and convert any other error of `body` to one.
public protocol AuthorityStore: Sendable {
    /// Reads from one snapshot of the database. Readers and writers do not wait for each other.
    func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result

    /// Commits everything that `body` writes, durably. If `body` throws, nothing is written. A commit that fails may
    /// have taken effect: see `AuthorityStoreError`.
    ///
    /// Everything that `body` has read must stay true until its end. An implementation that runs writers concurrently
    /// must lock the ledger and the records that are read, or throw `busy` when it cannot guarantee this.
    func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result

    /// Looks for damage in the whole store, which may take long. Throws `corrupt` when it finds some.
    ///
    /// A store without a check of its own only reads its state.
    func check() throws

    /// Returns whether the store takes writes, as far as a read can tell.
    func takesWrites() throws -> Bool
}

extension AuthorityStore {
    public func check() throws {
        _ = try read { view in try view.state() }
    }

    public func takesWrites() throws -> Bool { true }
}
