public import SyncConcurrency
public import SyncModel

/// The server's policy over a store: orders, authorises, merges, remembers outcomes.
///
/// It keeps nothing between two calls: several authorities may serve one store that lets several processes in.
public struct Authority: AuthorityService {
    public let catalog: SchemaCatalog
    public let policy: AuthorityPolicy
    public let commits = Broadcast<SpaceHeads>()
    let store: any AuthorityStore
    let histories: any HistoryKeeper

    /// - Parameter histories: names the next history when the database turns out to be an older copy.
    public init(
        store: any AuthorityStore, catalog: SchemaCatalog, policy: AuthorityPolicy = AuthorityPolicy(),
        histories: any HistoryKeeper
    ) {
        self.store = store
        self.histories = histories
        self.catalog = catalog
        self.policy = policy
    }

    public func hello(for principal: Principal, now: WallTime) throws(AuthorityFailure) -> ServerHello {
        let state = try read { (view) throws(AuthorityStoreFailure) in try view.state() }
        return ServerHello(
            protocolVersions: ProtocolVersion.current...ProtocolVersion.current, epoch: state.epoch,
            account: principal.account, serverTime: state.time(at: now), limits: policy.limits,
            models: ServerModels(catalog))
    }

    public func fetch(
        _ request: FetchRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityFailure) -> Record? {
        guard mayRead(request.space, principal), let schema = catalog[request.collection] else { return nil }
        let stored = try read { (view) throws(AuthorityStoreFailure) -> StoredRecord? in
            switch request.key {
            case .id(let id): try view.record(RecordAddress(request.collection, id))
            case .uid(let uid): try view.record(request.collection, uid)
            }
        }
        guard let stored, stored.isAlive, stored.space == request.space else { return nil }
        return Record(stored, schema: schema)
    }

    public func mayRead(_ space: SpaceID, _ principal: Principal) -> Bool {
        policy.access.mayRead(space, principal)
    }

    /// One read of the store, with its failure in the words of the service.
    func read<Result>(
        _ body: (any AuthorityView) throws(AuthorityStoreFailure) -> Result
    ) throws(AuthorityFailure) -> Result {
        do throws(AuthorityStoreFailure) { return try store.read(body) } catch { throw AuthorityFailure(error) }
    }

    /// One write of the store, with its failure in the words of the service.
    func write<Result>(
        _ body: (any AuthorityTransaction) throws(AuthorityStoreFailure) -> Result
    ) throws(AuthorityFailure) -> Result {
        do throws(AuthorityStoreFailure) { return try store.write(body) } catch { throw AuthorityFailure(error) }
    }
}

extension AuthorityState {
    /// A reading for an answer that writes nothing: it need not be remembered, for only greater ones follow as long
    /// as the wall clock does not go back, and those who hear of it keep the greatest.
    func time(at now: WallTime) -> HybridTime {
        var clock = clock
        _ = clock.heal(now: now, permitting: SchemaLimits.permittedSkew)
        return clock.tick(now: now)
    }
}
