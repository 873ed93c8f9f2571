import Foundation
import Logging
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncRuntimeLive
import SyncTransportHTTP
import SyncWire
import TestRings
import Testing

@testable import SyncProgram
@testable import TomboloServer

/// Tests a complete server with an application's own models and rules, over HTTP.
@Suite(.ring(.test), .timeLimit(.minutes(5))) struct ApplicationRulesTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "todo", fields: [.text("title", required: true), .text("owner")])
    ])

    /// Returns an application in which each token is the name of its principal, except that the token `nobody` is
    /// invalid, and that the lookup of the token `broken` fails.
    private static func application(_ configure: (inout ServerApplication) -> Void) -> ServerApplication {
        var application = ServerApplication(catalog: catalog)
        application.authenticate { request in
            switch request.bearerToken {
            case "nobody": return nil
            case "broken": throw Broken()
            default: return Principal(name: request.bearerToken)
            }
        }
        configure(&application)
        return application
    }

    private struct Broken: Error {}

    /// Runs a server while `body` runs.
    private func serving(
        _ application: ServerApplication, _ body: @escaping @Sendable (_ port: Int) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "tombolo-rules-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let sources = ConfigurationSources(
            ProgramNames("syncd"),
            flags: try ConfigurationFlags(settings: [
                "environment=test", "authority.folder=\(folder)", "authority.durability=normal", "listen.port=0",
            ]), variables: [:], file: nil)
        let settings = try ServerSettings(ResolvedConfiguration(sources))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let server = ServerComposition(
                    settings: settings, application: application, recipes: .live, logger: logger)
                defer {
                    server.close()
                    port.finish()
                }
                try await server.serve { port.yield($0) }
            }
            for await port in ports {
                do {
                    try await body(port)
                } catch {
                    group.cancelAll()
                    throw error
                }
                break
            }
            group.cancelAll()
            while await group.nextResult() != nil {}
        }
    }

    private func withTransport<Result>(
        _ port: Int, token: String, _ body: (HTTPTransport) async throws -> Result
    ) async throws -> Result {
        let transport = try HTTPTransport(
            configuration: HTTPTransportConfiguration(baseURL: "http://127.0.0.1:\(port)"), catalog: Self.catalog,
            runtime: .live(), token: { token })
        do {
            let result = try await body(transport)
            try await transport.shutdown()
            return result
        } catch {
            try? await transport.shutdown()
            throw error
        }
    }

    private static func mutation(_ record: UInt64, _ intent: Mutation.Intent) -> Mutation {
        Mutation(
            collection: "todo", record: RecordID(bits: Identifier128(high: 2, low: record)),
            time: HybridTime(wall: EngineRuntime.live().now(), counter: 0), intent: intent)
    }

    /// Pushes the first transaction of a client, and returns its outcome. Another push for the same client repeats it.
    private func push(
        _ mutations: [Mutation], to port: Int, as name: String, in space: SpaceID = .default, client: UInt64 = 1
    ) async throws -> Outcome? {
        let transaction = Transaction(space: space, mutations: mutations)
        let numbered = NumberedTransaction(
            number: .first, hash: try PayloadHash(of: transaction), transaction: transaction)
        let identity = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: client)), incarnation: 0)
        let request = PushRequest(identity: identity, epoch: nil, acknowledged: .first, transactions: [numbered])
        let response = try await withTransport(port, token: name) { try await $0.push(request) }
        guard case .answered(let results, _, _) = response else { return nil }
        return results.first?.outcome
    }

    private static func rejection(_ outcome: Outcome?) -> Rejection? {
        guard case .rejected(let rejection) = outcome else { return nil }
        return rejection
    }

    @Test func `a server asks the application who holds a token`() async throws {
        try await serving(Self.application { _ in }) { port in
            let hello = try await withTransport(port, token: "ned") { try await $0.hello() }
            #expect(hello.account.rawValue == "ned")
            #expect(hello.models == ServerModels(Self.catalog))
            for (token, code) in [
                ("nobody", TransportError.Code.unauthorized), ("broken", TransportError.Code.serverFailed),
            ] {
                let failure = await #expect(throws: TransportError.self) {
                    try await withTransport(port, token: token) { try await $0.hello() }
                }
                #expect(failure?.code == code, "\(token): \(String(describing: failure))")
            }
        }
    }

    @Test func `a transaction that the application refuses is rejected with its words, and repeats stay rejected`()
        async throws
    {
        let isOpen = Guarded(false)
        let application = Self.application { server in
            server.validate { transaction, principal in
                guard !isOpen.withLock({ $0 }) else { return }
                throw ServerRejection(
                    code: "closed", message: "\(principal.name) is late", mutation: 0, fields: ["title", "owner"])
            }
        }
        try await serving(application) { port in
            let create = Self.mutation(1, .create(["title": .text("a")]))
            let first = Self.rejection(try await push([create], to: port, as: "ned"))
            #expect(first?.code.rawValue == "closed")
            #expect(first?.message == "ned is late")
            #expect(first?.fields == ["title", "owner"])
            #expect(first?.mutation == 0)
            isOpen.withLock { $0 = true }
            #expect(Self.rejection(try await push([create], to: port, as: "ned")) == first)
            guard case .applied = try await push([create], to: port, as: "ned", client: 2) else {
                Issue.record("an accepted transaction was not applied")
                return
            }
        }
    }

    @Test func `authorize sees the current record`() async throws {
        let application = Self.application { server in
            server.authorize("todo") { write in
                guard let record = write.record else { return true }
                return record["owner"] == .text(write.principal.name)
            }
        }
        try await serving(application) { port in
            let create = Self.mutation(1, .create(["title": .text("a"), "owner": .text("ned")]))
            #expect(Self.rejection(try await push([create], to: port, as: "ned")) == nil)
            let edit = FieldEdit(field: "title", value: .text("b"), before: .text("a"), seen: Version(1))
            let update = Self.mutation(1, .update([edit]))
            let refused = Self.rejection(try await push([update], to: port, as: "rob", client: 2))
            #expect(refused?.code == .forbidden)
            #expect(refused?.message == "rob may not change this record of todo")
            #expect(Self.rejection(try await push([update], to: port, as: "ned", client: 3)) == nil)
        }
    }

    @Test func `the application says who reads and writes in which space`() async throws {
        let application = Self.application { server in
            server.authorizeSpaces { principal, space, access in
                space.rawValue == principal.name || access == .read && principal.name == "guest"
            }
        }
        try await serving(application) { port in
            let create = Self.mutation(1, .create(["title": .text("a")]))
            #expect(Self.rejection(try await push([create], to: port, as: "ned", in: "ned")) == nil)
            let refused = try await push([create], to: port, as: "guest", in: "ned", client: 2)
            #expect(Self.rejection(refused)?.code == .forbidden)
            let pull = PullRequest(space: "ned", cursor: nil, limit: 10)
            for (name, mayRead) in [("ned", true), ("guest", true), ("rob", false)] {
                let response = try await withTransport(port, token: name) { try await $0.pull(pull) }
                if case .page = response { #expect(mayRead, "\(name)") } else { #expect(!mayRead, "\(name)") }
            }
        }
    }

    @Test func `rules that fail or take too long reject nothing, and the device is told to come again`() async throws {
        let waiting = Guarded<[CheckedContinuation<Void, Never>]>([])
        defer { for continuation in waiting.withLock({ $0 }) { continuation.resume() } }
        let application = Self.application { server in
            server.timeout = .milliseconds(200)
            server.validate { transaction, principal in
                if principal.name == "rob" { throw Broken() }
                // This wait does not end when its task is cancelled.
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    waiting.withLock { list in list.append(continuation) }
                }
            }
        }
        try await serving(application) { port in
            let create = Self.mutation(1, .create(["title": .text("a")]))
            for (name, client) in [("ned", UInt64(1)), ("rob", 2)] {
                let failure = await #expect(throws: TransportError.self) {
                    try await push([create], to: port, as: name, client: client)
                }
                #expect(failure?.code == .serverFailed, "\(name)")
            }
            let page = try await withTransport(port, token: "ned") {
                try await $0.pull(PullRequest(space: .default, cursor: nil, limit: 10))
            }
            guard case .page(let page) = page else {
                Issue.record("no page")
                return
            }
            #expect(page.head == .zero)
        }
    }

    /// Pushes that wait until all of them have been judged.
    private struct Barrier {
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isOpen = false
    }

    /// Regression test: each of the pushes was judged by the record before all of them, and took effect.
    @Test func `of pushes at once that a rule allows only one after the other, one takes effect`() async throws {
        let count = 4
        let barrier = Guarded(Barrier())
        let application = Self.application { server in
            server.authorize("todo") { write in
                guard let record = write.record else { return true }
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    let ready = barrier.withLock { barrier -> [CheckedContinuation<Void, Never>] in
                        barrier.waiting.append(continuation)
                        guard barrier.isOpen || barrier.waiting.count == count else { return [] }
                        barrier.isOpen = true
                        defer { barrier.waiting = [] }
                        return barrier.waiting
                    }
                    for continuation in ready { continuation.resume() }
                }
                return record["title"] == .text("a")
            }
        }
        try await serving(application) { port in
            let create = Self.mutation(1, .create(["title": .text("a")]))
            #expect(Self.rejection(try await push([create], to: port, as: "ned")) == nil)
            let update = Self.retitled("b", seen: 1)
            let outcomes = try await withThrowingTaskGroup(of: Outcome?.self) { group in
                for client in 2..<UInt64(2 + count) {
                    group.addTask { try await push([update], to: port, as: "ned", client: client) }
                }
                var outcomes: [Outcome?] = []
                for try await outcome in group { outcomes.append(outcome) }
                return outcomes
            }
            #expect(outcomes.compactMap { $0 }.count == count)
            #expect(outcomes.filter { Self.rejection($0)?.code == .forbidden }.count == count - 1)
        }
    }

    private struct Todo: Model {
        static let collection = "todo"
        let title = Field<String>("title", .required)
        let owner = Field<String?>("owner")
    }

    /// Returns an application with typed rules: only the owner may change a record, and a title in capital letters is
    /// rejected.
    private static func typedApplication() throws -> ServerApplication {
        var application = try ServerApplication(models: [Todo.self])
        application.authenticate { Principal(name: $0.bearerToken) }
        application.authorize(Todo.self) { write in
            write.record.map { $0.owner == write.principal.name } ?? (write.kind != .delete)
        }
        application.validate(Todo.self) { write in
            guard let todo = write.proposed, todo.title == todo.title.uppercased() else { return }
            throw ServerRejection(code: "shouting", message: "'\(todo.title)' is too loud", fields: ["title"])
        }
        #expect(application.problem == nil)
        return application
    }

    private static func retitled(_ title: String, seen: Int64 = 0) -> Mutation {
        let edit = FieldEdit(field: "title", value: .text(title), before: .text("a"), seen: Version(seen))
        return mutation(1, .update([edit]))
    }

    @Test func `typed rules see a record as it is, and as the push would leave it`() async throws {
        try await serving(Self.typedApplication()) { port in
            let create = Self.mutation(1, .create(["title": .text("a"), "owner": .text("ned")]))
            #expect(Self.rejection(try await push([create], to: port, as: "ned")) == nil)
            let foreign = Self.rejection(try await push([Self.retitled("b", seen: 1)], to: port, as: "rob", client: 2))
            #expect(foreign?.code == .forbidden)
            #expect(foreign?.mutation == 0)
            let loud = Self.rejection(try await push([Self.retitled("HO", seen: 1)], to: port, as: "ned", client: 3))
            #expect(loud?.code.rawValue == "shouting")
            #expect(loud?.message == "'HO' is too loud")
            #expect(loud?.mutation == 0)
            #expect(loud?.fields == ["title"])
            // The record stays valid when another of its fields changes.
            let owner = FieldEdit(field: "owner", value: .text("rob"), before: .text("ned"), seen: Version(1))
            let handed = try await push([Self.mutation(1, .update([owner]))], to: port, as: "ned", client: 4)
            #expect(Self.rejection(handed) == nil)
            let late = Self.rejection(
                try await push([Self.mutation(1, .delete(seen: Version(2)))], to: port, as: "ned", client: 5))
            #expect(late?.code == .forbidden)
        }
    }

    @Test func `a rule sees the record that an earlier mutation of the same push creates`() async throws {
        try await serving(Self.typedApplication()) { port in
            let create = Self.mutation(1, .create(["title": .text("a")]))
            let other = Self.mutation(2, .create(["title": .text("b")]))
            let outcome = try await push([create, other, Self.retitled("HO")], to: port, as: "ned")
            let rejection = Self.rejection(outcome)
            #expect(rejection?.code.rawValue == "shouting")
            #expect(rejection?.mutation == 2)
        }
    }

    @Test func `a rule for a model that the server does not have is an error of its own`() throws {
        struct Stranger: Model {
            static let collection = "stranger"
            let name = Field<String>("name")
        }
        var application = try ServerApplication(models: [Todo.self])
        application.validate(Stranger.self) { _ in }
        #expect(application.problem?.code == .unknownModel)
        #expect(application.problem?.message.contains("add Stranger.self to it") == true)
    }

    @Test func `a rule for a collection that the server does not have stops the start`() {
        #expect(Self.application { server in server.authorize("todo") { _ in false } }.problemOfRules == nil)
        let error = Self.application { server in server.authorize("tood") { _ in false } }.problemOfRules
        #expect(error?.message.contains("the collection tood") == true && error?.advice == "did you mean todo?")
    }
}
