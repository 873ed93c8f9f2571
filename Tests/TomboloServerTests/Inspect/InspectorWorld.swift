import LoopbackPage
import PageChecks
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncJSON
import SyncModel
import SyncProgram
import SyncSimulation
import SyncTestKit
import SyncWire
import Testing

@testable import TomboloServer

/// An inspector over a store in memory, and devices that push to it.
struct InspectorWorld {
    static let start = Simulation.startTime
    static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "user",
            fields: [.text("name"), .text("bio"), .integer("rank"), .json("data"), .reference("boss", to: "user")]),
        ModelSchema(collection: "note", fields: [.boolean("done"), .reference("author", to: "user")]),
    ])

    let simulation = Simulation(seed: 1)
    let faults: FaultyAuthorityStore
    let authority: Authority
    let inspector: ServerInspector
    let page: ServerPage

    init() throws {
        faults = FaultyAuthorityStore(InMemoryAuthorityStore(epoch: Epoch(rawValue: "e")))
        let everywhere = AccessRules([.init(principals: .everyone, spaces: .all, access: .readAndWrite)])
        authority = Authority(
            store: faults, catalog: Self.catalog, policy: AuthorityPolicy(access: everywhere),
            histories: CountedHistories())
        try faults.write { transaction in try transaction.set(Self.catalog) }
        var runtime = simulation.makeRuntime(device: "page")
        // Most tests do not need the simulation's turns.
        runtime.actorExecutor = nil
        inspector = Self.inspector(authority, runtime)
        page = ServerPage(inspector: inspector, runtime: runtime, command: "syncd inspect")
    }

    static func inspector(_ authority: Authority, _ runtime: EngineRuntime) -> ServerInspector {
        ServerInspector(
            store: authority.store, served: catalog, hasOwnRule: false, isPostgres: true, runtime: runtime,
            command: "syncd inspect"
        ) { .postgres(schema: "tombolo") }
    }

    /// Returns the result of a call.
    func call(_ call: ServerPageCall, _ json: String = "{}") async throws -> JSONValue {
        try JSONValue(try await inspector.answer(call, PageArguments(Array(json.utf8))).bytes)
    }

    /// Returns the reason why a call is refused.
    func refusal(_ call: ServerPageCall, _ json: String) async -> PageError? {
        do throws(PageError) {
            _ = try await inspector.answer(call, PageArguments(Array(json.utf8)))
            return nil
        } catch {
            return error
        }
    }

    static func id(_ number: UInt64) -> RecordID { RecordID(bits: Identifier128(high: 7, low: number)) }

    /// A device, which pushes each list of mutations as one transaction.
    struct Device {
        let principal: Principal
        let client: ClientID
        var next = TransactionNumber.first

        init(_ number: UInt64, _ account: String) {
            principal = Principal(name: account)
            client = ClientID(bits: Identifier128(high: 0, low: number))
        }
    }

    @discardableResult
    func push(
        _ device: inout Device, _ mutations: Mutation..., space: SpaceID = .default, after milliseconds: Int64 = 0
    ) throws -> Outcome {
        try push(&device, mutations, space: space, after: milliseconds)
    }

    @discardableResult
    func push(
        _ device: inout Device, _ mutations: [Mutation], space: SpaceID = .default, after milliseconds: Int64 = 0
    ) throws -> Outcome {
        let transaction = Transaction(space: space, mutations: mutations)
        let request = PushRequest(
            identity: ClientIdentity(client: device.client, incarnation: 0), epoch: Epoch(rawValue: "e"),
            acknowledged: device.next,
            transactions: [
                NumberedTransaction(
                    number: device.next, hash: try PayloadHash(of: transaction), transaction: transaction)
            ])
        let now = WallTime(milliseconds: Self.start.milliseconds + milliseconds)
        guard case .answered(let results, _, _) = try authority.push(request, by: device.principal, now: now) else {
            throw PushRefused()
        }
        device.next = device.next.next
        return try #require(results.first?.outcome)
    }

    struct PushRefused: Error {}

    static func time(_ milliseconds: Int64) -> HybridTime {
        HybridTime(wall: WallTime(milliseconds: start.milliseconds + milliseconds))
    }

    static func create(
        _ number: UInt64, _ patch: Patch, in collection: CollectionName = "user", at milliseconds: Int64 = 0
    ) -> Mutation {
        Mutation(collection: collection, record: id(number), time: time(milliseconds), intent: .create(patch))
    }

    static func update(
        _ number: UInt64, _ field: FieldName, _ value: FieldValue, seen: Int64, at milliseconds: Int64 = 0
    ) -> Mutation {
        Mutation(
            collection: "user", record: id(number), time: time(milliseconds),
            intent: .update([FieldEdit(field: field, value: value, before: .null, seen: Version(seen))]))
    }

    static func delete(_ number: UInt64, seen: Int64) -> Mutation {
        Mutation(collection: "user", record: id(number), time: time(0), intent: .delete(seen: Version(seen)))
    }
}
