import AuthorityStoreSQLite
import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncSimulation

/// The real authority behind hooks in which a bug can be planted.
///
/// In a world that has a rule for writes, pushes arrive at `plan` and `pushTogether`. Of the hooks for pushes, only
/// `onVerdict` is then called.
struct PlantedAuthority: AuthorityService {
    let base: Authority
    /// The access rules of the world. `base` may enforce different rules.
    var rules = AccessRules([])
    var onHello: @Sendable (ServerHello) -> ServerHello = { $0 }
    var onPush: @Sendable (Authority, PushRequest, Principal, WallTime) throws(AuthorityError) -> PushResponse = {
        (base, request, principal, now) throws(AuthorityError) in
        try base.push(request, by: principal, now: now)
    }
    /// Returns whether the lenient authority performs a push.
    var isLenient: @Sendable (Authority, PushRequest, Principal, WallTime) throws(AuthorityError) -> Bool = {
        (_, _, _, _) in false
    }
    /// Changes the verdicts of the rule in worlds that have one.
    var onVerdict: @Sendable (RuleVerdict) -> RuleVerdict = { $0 }
    var onPull: @Sendable (Authority, PullRequest, Principal, WallTime) throws(AuthorityError) -> PullResponse = {
        (base, request, principal, now) throws(AuthorityError) in
        try base.pull(request, by: principal, now: now)
    }
    var onFetch: @Sendable (Authority, FetchRequest, Principal, WallTime) throws(AuthorityError) -> Record? = {
        (base, request, principal, now) throws(AuthorityError) in
        try base.fetch(request, by: principal, now: now)
    }

    /// An authority over the same store, in whose models a delete wins over edits.
    private let lenient: Authority?

    /// - Parameter histories: names the histories that a lenient push begins; nil if no push is lenient.
    init(_ base: Authority, histories: (any HistoryKeeper)? = nil) {
        self.base = base
        let models = base.catalog.models.map { ModelSchema(collection: $0.collection, fields: $0.fields) }
        lenient = histories.map {
            Authority(store: base.store, catalog: SchemaCatalog(models), policy: base.policy, histories: $0)
        }
    }

    var commits: Broadcast<SpaceHeads> { base.commits }

    func hello(for principal: Principal, now: WallTime) throws(AuthorityError) -> ServerHello {
        onHello(try base.hello(for: principal, now: now))
    }
    func push(
        _ request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PushResponse {
        let isLenient = try isLenient(base, request, principal, now)
        return try onPush(isLenient ? lenient ?? base : base, request, principal, now)
    }
    func plan(_ push: PendingPush, now: WallTime) throws(AuthorityError) -> PushPlan {
        try base.plan(push, now: now)
    }
    func pushTogether(_ pushes: [PendingPush], now: WallTime) -> [Result<PushResponse, AuthorityError>] {
        base.pushTogether(
            pushes.map { push in
                PendingPush(
                    request: push.request, principal: push.principal, verdicts: push.verdicts?.mapValues(onVerdict),
                    start: push.start, received: push.received)
            }, now: now)
    }
    func pull(
        _ request: PullRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PullResponse {
        try onPull(base, request, principal, now)
    }
    func fetch(
        _ request: FetchRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> Record? {
        try onFetch(base, request, principal, now)
    }
    func readable(among spaces: [SpaceID], by principal: Principal) throws(AuthorityError) -> [SpaceID] {
        try base.readable(among: spaces, by: principal)
    }
}

extension WorldParts {
    static func wrappingAuthority(
        _ settings: SQLiteParts = SQLiteParts(), allowing everything: AccessRules? = nil,
        _ plant: @escaping @Sendable (inout PlantedAuthority) -> Void
    ) -> WorldParts {
        var parts = WorldParts.onSQLite(settings)
        let open = parts.openAuthority
        let upkeep = parts.upkeep
        let outcome = parts.outcome
        parts.openAuthority = { process, setting, rules, histories in
            guard let base = try open(process, setting, everything ?? rules, histories) as? Authority else {
                throw UnexpectedAuthorityError()
            }
            var service = PlantedAuthority(base, histories: histories)
            service.rules = rules
            plant(&service)
            return service
        }
        parts.upkeep = { task, service in
            guard let service = service as? PlantedAuthority else { throw UnexpectedAuthorityError() }
            try upkeep?(task, service.base)
        }
        parts.outcome = { service, sender in
            guard let service = service as? PlantedAuthority else { throw UnexpectedAuthorityError() }
            return try outcome?(service.base, sender)
        }
        return parts
    }
}
