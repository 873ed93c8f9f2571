import SyncConcurrency
import SyncModel

/// The models with which the records of the store were written, which may be more than those that this server serves.
///
/// While several servers of one database are upgraded, a new one has already stored collections and fields that an old
/// one does not know. An old server refuses writes to them, and its clients keep these writes. But its snapshots must
/// contain their records, and it must not delete a record that they require.
final class StoredModels: Sendable {
    private let served: SchemaCatalog
    /// The models that were read last, and their revision. They are read again only when the revision has changed.
    private let known: Guarded<(revision: Int64, stored: SchemaCatalog)>
    /// The revision at which the stored models contained all that this server serves.
    private let complete = Guarded(Int64(0))

    init(served: SchemaCatalog) {
        self.served = served
        known = Guarded((0, served))
    }

    /// Returns the models that the store holds at the moment of a database transaction with this state.
    func catalog(at state: AuthorityState, in view: some AuthorityView) throws(AuthorityStoreError) -> SchemaCatalog {
        let last = known.withLock { $0 }
        guard state.catalogRevision != last.revision else { return last.stored }
        let stored = try view.catalog() ?? served
        known.withLock { $0 = (state.catalogRevision, stored) }
        return stored
    }

    /// Stores the models that this server serves and the store lacks. Called before each write.
    ///
    /// A server stores its models when it starts. But a restore or a failover under running servers can put the
    /// database back to an earlier state. Records of a collection that is not stored would then be missing in
    /// snapshots.
    func storeMissing(
        at state: inout AuthorityState, in transaction: some AuthorityTransaction
    ) throws(AuthorityStoreError) {
        guard complete.withLock({ $0 }) != state.catalogRevision else { return }
        let stored = try catalog(at: state, in: transaction)
        let all: SchemaCatalog
        do { all = try stored.adding(served) } catch {
            throw AuthorityStoreError(
                .otherSchema,
                "the database has other models than this server: \(error.name) differs; start a server with the models of this database, or give that collection or field another name"
            )
        }
        if all != stored {
            try transaction.set(all)
            state.catalogRevision = try transaction.state().catalogRevision
        }
        // If this transaction fails, the database has the former revision, and the next one compares again.
        let revision = state.catalogRevision
        complete.withLock { $0 = revision }
    }
}

extension SchemaCatalog {
    /// Returns the schema with which this server reads records of a collection.
    ///
    /// In a collection that this server does not know, every field is an unknown one, and is passed on by its name.
    func schemaForReading(_ collection: CollectionName) -> ModelSchema {
        self[collection] ?? ModelSchema(collection: collection, fields: [])
    }
}
