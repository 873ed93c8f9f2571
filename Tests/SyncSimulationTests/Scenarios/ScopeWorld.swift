import AuthorityStoreSQLite
import Foundation
import SyncAuthority
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import SyncTestKit
import SyncWire

@testable import PlantedBugs

/// Two principals that each have a space of their own, and share a third. The text of each record names its space. All
/// responses of the server are kept as bytes, grouped by the principal that received them.
final class ScopeWorld {
    static let spaces: [String: [SpaceID]] = ["anna": ["north", "shared"], "ben": ["shared", "south"]]
    static let foreign: [String: String] = ["anna": "secret-of-south", "ben": "secret-of-north"]

    let server: any AuthorityService
    private(set) var answers: [String: [UInt8]] = [:]
    let disks: [String: SimulatedDisk]
    private var stores: [String: SQLiteStore] = [:]
    private var processes: [DiskProcess] = []
    private var random: SeededRandom
    private var now = WallTime(milliseconds: 1_767_225_600_000)
    private let wire = WireForm(catalog: WorldCatalog.catalog)

    init(seed: UInt64, access: AccessRules = ScopeWorld.rules, _ plant: (inout PlantedAuthority) -> Void) throws {
        random = SeededRandom(seed: seed)
        let disk = SimulatedDisk(seed: seed)
        let process = disk.makeProcess()
        let store = try SQLiteAuthorityStore(
            singleConnectionTo: process.uri(for: "/authority.sqlite"), newHistory: .fixed(Epoch(rawValue: "first")))
        var planted = PlantedAuthority(
            Authority(store: store, catalog: WorldCatalog.catalog, policy: AuthorityPolicy(access: access)))
        plant(&planted)
        server = planted
        processes.append(process)
        disks = Dictionary(uniqueKeysWithValues: Self.spaces.keys.map { ($0, SimulatedDisk(seed: seed)) })
        for name in Self.spaces.keys.sorted() { stores[name] = try open(name) }
    }

    static let rules = AccessRules([
        AccessRules.Rule(
            principals: .only([Principal(name: "anna")]), spaces: .only(["north"]), access: .readAndWrite),
        AccessRules.Rule(
            principals: .only([Principal(name: "ben")]), spaces: .only(["south"]), access: .readAndWrite),
        AccessRules.Rule(principals: .everyone, spaces: .only(["shared"]), access: .readAndWrite),
    ])

    private func open(_ name: String) throws -> SQLiteStore {
        guard let disk = disks[name] else { throw StoreError(.missingFile, name) }
        let process = disk.makeProcess()
        processes.append(process)
        let store = try process.openStore(now: now, random: &random)
        for space in Self.spaces[name] ?? [] { try store.follow(space) }
        return store
    }

    /// In each round, makes both principals write to their spaces, sync, and try to read and overwrite each other's
    /// data.
    func run(rounds: Int) throws {
        for _ in 0..<rounds {
            for name in stores.keys.sorted() {
                guard let store = stores[name] else { continue }
                try write(name, store)
                try sync(name, store)
            }
            try spy()
        }
    }

    private func write(_ name: String, _ store: SQLiteStore) throws {
        for space in Self.spaces[name] ?? [] {
            now = now.advanced(by: .milliseconds(random.within(1...1_000)))
            let text = FieldValue.text("secret-of-\(space) \(random.below(1_000))")
            let known = try store.records(matching: RecordQuery("customer", limit: 8)).filter { record in
                if case .text(let text) = record.values[0] { text.hasPrefix("secret-of-\(space) ") } else { false }
            }
            if let victim = known.last, random.chance(0.5) {
                let edit: RecordEdit =
                    random.chance(0.3)
                    ? .delete("customer", victim.id) : .update("customer", victim.id, ["name": text])
                _ = try? store.commit([edit], in: space, now: now)
            } else {
                _ = try store.commit(
                    [.create("customer", .make(at: now, random: &random), ["name": text])], in: space, now: now)
            }
        }
    }

    private func sync(_ name: String, _ store: SQLiteStore) throws {
        let principal = Principal(name: name)
        let hello = try server.hello(for: principal, now: now)
        _ = try store.adopt(hello.epoch, as: hello.account)
        while let batch = try store.takeBatch(BatchLimit(transactions: 10, bytes: 100_000), now: now) {
            let request = PushRequest(
                identity: batch.identity, epoch: hello.epoch, acknowledged: batch.acknowledged,
                transactions: batch.transactions)
            guard case .push(.answered(let results, _, _)) = try ask(.push(request), as: name) else { return }
            _ = try store.record(results, of: batch.identity, now: now)
        }
        for space in Self.spaces[name] ?? [] {
            while true {
                let cursor = try store.session().spaces.first { $0.space == space }?.cursor
                let request = PullRequest(space: space, cursor: cursor, limit: 5)
                guard case .pull(.page(let page)) = try ask(.pull(request), as: name) else { break }
                _ = try store.apply(page, after: cursor, brake: nil, now: now)
                if !page.hasMore { break }
            }
        }
    }

    /// Makes each principal try to pull the other's space, fetch the other's records, and overwrite them.
    private func spy() throws {
        for (name, other) in [("anna", "ben"), ("ben", "anna")] {
            let space: SpaceID = other == "anna" ? "north" : "south"
            try ask(.pull(PullRequest(space: space, cursor: nil, limit: 50)), as: name)
            guard let store = stores[other] else { continue }
            let secret = try store.records(matching: RecordQuery("customer")).filter { record in
                if case .text(let text) = record.values[0] { text.hasPrefix("secret-of-\(space)") } else { false }
            }
            for record in secret.prefix(3) {
                for asked in [space, "shared"] {
                    for key in [RecordKey.id(record.id), .uid(record.uid)] {
                        try ask(.fetch(FetchRequest(space: asked, collection: "customer", key: key)), as: name)
                    }
                    try ask(.push(try intrusion(on: record.id, in: asked)), as: name)
                }
            }
        }
    }

    /// Returns a push from a forged client that updates, creates, and deletes a record which the principal may not
    /// read.
    private func intrusion(on id: RecordID, in space: SpaceID) throws -> PushRequest {
        let identity = ClientIdentity(
            client: ClientID(bits: Identifier128(high: random.next(), low: random.next())), incarnation: 0)
        let time = HybridTime(wall: now.advanced(by: .seconds(1)))
        let intents: [Mutation.Intent] = [
            .update([FieldEdit(field: "name", value: .text("mine"), before: .null, seen: .zero)]),
            .create(["name": .text("mine")]), .delete(seen: .zero),
        ]
        let transactions = try intents.enumerated().map { position, intent in
            let transaction = Transaction(
                space: space,
                mutations: [Mutation(collection: "customer", record: id, time: time, intent: intent)])
            return NumberedTransaction(
                number: TransactionNumber(Int64(position)), hash: try PayloadHash(of: transaction),
                transaction: transaction)
        }
        return PushRequest(identity: identity, epoch: nil, acknowledged: .first, transactions: transactions)
    }

    /// Sends a request to the server, and keeps the bytes of its response. Returns nil if the server throws an error.
    @discardableResult private func ask(_ request: ServerRequest, as name: String) throws -> ServerResponse? {
        let response: ServerResponse
        do throws(AuthorityError) {
            response = try server.respond(to: request, by: Principal(name: name), now: now)
        } catch {
            answers[name, default: []] += wire.encode(TransportError(.refused, error.message))
            return nil
        }
        answers[name, default: []] += try wire.encode(response, to: request)
        return response
    }

    /// The first violation found: a principal has the other's data in its responses or on its disk, or its record was
    /// overwritten by the other. Nil if there is none.
    var leak: Violation? {
        for (name, secret) in Self.foreign.sorted(by: { $0.key < $1.key }) {
            if (answers[name] ?? []).contains(secret) {
                return Violation(.I21, "\(name) was answered with \(secret)")
            }
            for file in disks[name]?.image().files ?? [] where file.bytes.contains(secret) {
                return Violation(.I21, "the disk of \(name) holds \(secret), in \(file.name)")
            }
            let space = name == "anna" ? "north" : "south"
            for record in (try? stores[name]?.records(matching: RecordQuery("customer"))) ?? [] {
                if record.values[0] == .text("mine") {
                    return Violation(.I21, "a record of \(space) was overwritten by a stranger")
                }
            }
        }
        return nil
    }
}

extension [UInt8] {
    fileprivate func contains(_ text: String) -> Bool {
        Data(self).firstRange(of: Data(text.utf8)) != nil
    }
}
