import AuthorityStoreSQLite
import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncSimulation

/// The real authority behind hooks in which a bug can be planted.
struct PlantedAuthority: AuthorityService {
    let base: Authority
    /// The access rules of the world. `base` may enforce different rules.
    var rules = AccessRules([])
    var onHello: @Sendable (ServerHello) -> ServerHello = { $0 }
    var onPush: @Sendable (Authority, PushRequest, Principal, WallTime) throws(AuthorityError) -> PushResponse = {
        (base, request, principal, now) throws(AuthorityError) in
        try base.push(request, by: principal, now: now)
    }
    var onPull: @Sendable (Authority, PullRequest, Principal, WallTime) throws(AuthorityError) -> PullResponse = {
        (base, request, principal, now) throws(AuthorityError) in
        try base.pull(request, by: principal, now: now)
    }
    var onFetch: @Sendable (Authority, FetchRequest, Principal, WallTime) throws(AuthorityError) -> Record? = {
        (base, request, principal, now) throws(AuthorityError) in
        try base.fetch(request, by: principal, now: now)
    }

    init(_ base: Authority) {
        self.base = base
    }

    var commits: Broadcast<SpaceHeads> { base.commits }

    func hello(for principal: Principal, now: WallTime) throws(AuthorityError) -> ServerHello {
        onHello(try base.hello(for: principal, now: now))
    }
    func push(
        _ request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PushResponse {
        try onPush(base, request, principal, now)
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
        parts.openAuthority = { process, build, rules, histories in
            guard let base = try open(process, build, everything ?? rules, histories) as? Authority else {
                throw UnexpectedAuthorityError()
            }
            var service = PlantedAuthority(base)
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
