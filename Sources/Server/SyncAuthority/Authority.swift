public import SyncConcurrency
public import SyncModel

/// The server's policy over a store: it orders, authorizes, and merges transactions, and remembers their outcomes.
///
/// An authority keeps nothing between calls but copies of the stored models and members, and of recent pages, and a
/// measure of what each account stores. Several authorities may serve one store, if that store can be shared by several
/// processes. Their models may differ while they are upgraded; see `StoredModels`.
public struct Authority: AuthorityService {
    /// The models that the server accepts.
    public let catalog: SchemaCatalog
    /// The limits and the access rules, which hold for all calls.
    public let policy: AuthorityPolicy
    public let commits = Broadcast<SpaceHeads>()
    package let store: any AuthorityStore
    let histories: any HistoryKeeper
    let models: StoredModels
    let members: StoredMembers
    let usage = AccountUsage()
    let pages = PageCache()

    /// Creates an authority.
    ///
    /// - Parameter histories: provides the next history when the database turns out to be an older copy.
    public init(
        store: any AuthorityStore, catalog: SchemaCatalog, policy: AuthorityPolicy = AuthorityPolicy(),
        histories: any HistoryKeeper
    ) {
        self.store = store
        self.histories = histories
        self.catalog = catalog
        models = StoredModels(served: catalog)
        members = StoredMembers(for: policy.access)
        self.policy = policy
    }

    public func hello(for principal: Principal, now: WallTime) throws(AuthorityError) -> ServerHello {
        let state = try read { view in try view.state() }
        return ServerHello(
            protocolVersions: ProtocolVersion.current...ProtocolVersion.current, epoch: state.epoch,
            account: principal.account, serverTime: state.time(at: now, permitting: policy.permittedSkew),
            clock: HybridTime(wall: now).wall, limits: policy.limits, models: ServerModels(catalog))
    }

    public func fetch(
        _ request: FetchRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> Record? {
        let stored = try read { view -> StoredRecord? in
            guard try members.rights(in: view).mayRead(request.space, principal) else { return nil }
            return switch request.key {
            case .id(let id): try view.record(RecordAddress(request.collection, id))
            case .uid(let uid): try view.record(request.collection, uid)
            }
        }
        guard let stored, stored.isAlive, stored.space == request.space else { return nil }
        return Record(stored, schema: catalog.schemaForReading(request.collection))
    }

    public func readable(
        among spaces: [SpaceID], by principal: Principal
    ) throws(AuthorityError) -> [SpaceID] {
        // Rules without members are in memory, and the streams of hints ask often.
        guard policy.access.membersDecide else { return spaces.filter { policy.access.mayRead($0, principal) } }
        let rights = try read { view in try members.rights(in: view) }
        return spaces.filter { rights.mayRead($0, principal) }
    }

    /// Reads from the store, and converts its failure to a failure of the service.
    func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws(AuthorityError) -> Result {
        do { return try store.read(body) } catch { throw AuthorityError(storeError: error) }
    }

    /// Writes to the store, and converts its failure to a failure of the service.
    func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws(AuthorityError) -> Result {
        do { return try store.write(body) } catch { throw AuthorityError(storeError: error) }
    }
}

extension AuthorityState {
    /// Returns a clock reading for a response to a call that writes nothing.
    ///
    /// The reading need not be stored: later readings are greater as long as the wall clock does not go back, and
    /// clients keep the greatest reading that they have observed.
    func time(at now: WallTime, permitting skew: Duration) -> HybridTime {
        var clock = clock
        _ = clock.correct(now: now, permitting: skew)
        return clock.tick(now: now)
    }
}
