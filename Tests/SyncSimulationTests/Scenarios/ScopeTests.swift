import SyncAuthority
import SyncModel
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

/// Tests that no principal receives or overwrites data that it may not read (I21).
@Suite(.ring(.test), .onWorldThreads)
struct ScopeTests {
    static let seeds = 0..<(Soak.isOn ? 40 : TestRing.sample(1, 4)) as Range<UInt64>

    @Test(arguments: seeds)
    func `no data of a space without access reaches a device`(seed: UInt64) throws {
        let world = try ScopeWorld(seed: seed) { _ in }
        try world.run(rounds: 12)
        #expect(world.leak == nil)
    }

    enum Planted: String, CaseIterable, Sendable {
        case rulesForAll, pullOfAnotherSpace, fetchWithoutRules, pushAsOther
    }

    @Test(arguments: Planted.allCases)
    func `the test finds each planted leak`(planted: Planted) throws {
        let everywhere = AccessRules([AccessRules.Rule(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let world = try ScopeWorld(seed: 0, access: planted == .rulesForAll ? everywhere : ScopeWorld.rules) { server in
            switch planted {
            case .rulesForAll: break
            case .pullOfAnotherSpace:
                server.onPull = { (base, request, principal, now) throws(AuthorityError) in
                    try base.pull(request, by: request.space == "north" ? Principal(name: "anna") : principal, now: now)
                }
            case .fetchWithoutRules:
                server.onFetch = { (base, request, _, now) throws(AuthorityError) in
                    let found = try base.fetch(request, by: Principal(name: "anna"), now: now)
                    if let found { return found }
                    return try base.fetch(request, by: Principal(name: "ben"), now: now)
                }
            case .pushAsOther:
                server.onPush = { (base, request, principal, now) throws(AuthorityError) in
                    let space = request.transactions.first?.transaction.space
                    let name = space == "north" ? "anna" : space == "south" ? "ben" : principal.name
                    return try base.push(request, by: Principal(name: name), now: now)
                }
            }
        }
        try? world.run(rounds: 12)
        #expect(world.leak != nil)
    }
}
