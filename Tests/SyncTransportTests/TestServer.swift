import Logging
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncServerHTTP
import SyncSimulation
import SyncTestKit
import SyncTransportHTTP
import SyncWire

/// The parts that the transport tests share: a small model, an in-memory authority, and a server on a free port.
enum TestServer {
    static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "notes", fields: [.text("title", required: true), .text("body"), .integer("stars")])
    ])

    static let good = "a-good-token-for-tests"
    static let bad = "a-bad-token-for-tests"

    static func authority(_ policy: AuthorityPolicy = AuthorityPolicy()) -> Authority {
        Authority(store: InMemoryAuthorityStore(epoch: Epoch(rawValue: "test-epoch")), catalog: catalog, policy: policy)
    }

    static let now: @Sendable () -> WallTime = { WallTime(milliseconds: 1_763_728_464_000) }

    static let principal = Principal(name: "ann")

    static let client = ClientIdentity(
        client: ClientID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7001, low: 0x8000_0000_0000_0001)), incarnation: 0)
    static let record = RecordID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7000, low: 0x8000_0000_0000_0002))

    /// Returns a push of one transaction, which creates `record`.
    static func push() throws -> PushRequest {
        let transaction = Transaction(
            space: .default,
            mutations: [
                Mutation(
                    collection: "notes", record: record, time: HybridTime(wall: now()),
                    intent: .create(["title": .text("a")]))
            ])
        return PushRequest(
            identity: client, epoch: nil, acknowledged: .first,
            transactions: [
                NumberedTransaction(number: .first, hash: try PayloadHash(of: transaction), transaction: transaction)
            ])
    }

    /// Runs a server while `body` runs, and then stops it.
    ///
    /// - Parameter webTokens: JSON Web Tokens that are accepted besides those of `authenticator`.
    static func run<Result: Sendable>(
        _ authority: any AuthorityService, configuration: SyncServerConfiguration = SyncServerConfiguration(port: 0),
        authenticator: any Authenticator = OneToken(token: good, principal: principal),
        webTokens: WebTokens? = nil, logger: Logger = quiet,
        metrics: PrometheusRegistry? = nil, review: (any TransactionReview)? = nil,
        _ body: @Sendable @escaping (_ port: Int) async throws -> Result
    ) async throws -> Result {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        var configuration = configuration
        configuration.port = 0
        let server = SyncServer(
            configuration: configuration, authority: authority, catalog: catalog,
            authentication: webTokens.map { .webTokens($0, or: authenticator) } ?? .blocking(authenticator),
            review: review, metrics: metrics, now: now, logger: logger
        ) { number in
            port.yield(number)
            port.finish()
        }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                defer { port.finish() }
                try await server.run()
                return nil
            }
            group.addTask {
                for await number in ports { return try await body(number) }
                return nil
            }
            while let result = try await group.next() {
                guard let result else { continue }
                group.cancelAll()
                // A cancelled server may throw `CancellationError`.
                while await group.nextResult() != nil {}
                return result
            }
            throw CancellationError()
        }
    }

    /// Runs `body` with a transport to a server, and then shuts the transport down.
    static func withTransport<Result>(
        _ configuration: HTTPTransportConfiguration, token: String? = good,
        _ body: (HTTPTransport) async throws -> Result
    ) async throws -> Result {
        let transport = try HTTPTransport(
            configuration: configuration, catalog: catalog, runtime: runtime, token: { token })
        do {
            let result = try await body(transport)
            try await transport.shutdown()
            return result
        } catch {
            try await transport.shutdown()
            throw error
        }
    }

    static let runtime = EngineRuntime(
        clock: ContinuousClock(), now: now, uptime: { .zero }, random: { 4 })

    static var quiet: Logger {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }

    /// Returns a generator of random numbers that are the same in each run.
    static func random(seed: UInt64) -> @Sendable () -> UInt64 {
        let generator = Guarded(SeededRandom(seed: seed))
        return { generator.withLock { $0.next() } }
    }

    /// Returns bytes of which one to three have been changed, removed, or repeated elsewhere.
    static func changed(_ whole: [UInt8], _ random: () -> UInt64) -> [UInt8] {
        func below(_ bound: Int) -> Int { Int(random() % UInt64(bound)) }
        var bytes = whole
        for _ in 0...below(3) {
            let place = below(bytes.count)
            switch below(3) {
            case 0: bytes[place] = UInt8(below(256))
            case 1: bytes.remove(at: place)
            default: bytes.insert(whole[below(whole.count)], at: place)
            }
        }
        return bytes
    }

    static func subject(_ transport: any RemoteTransport, seed: UInt64 = 1) -> TransportConformance.Subject {
        TransportConformance.Subject(
            transport: transport, space: .default, collection: "notes", textField: "body",
            values: { ["title": .text("note \($0)"), "stars": .integer(Int64($0))] }, random: random(seed: seed))
    }
}

struct OneToken: Authenticator {
    let token: String
    let principal: Principal

    func principal(bearing token: String) -> Principal? {
        token == self.token ? principal : nil
    }
}

/// Accepts the tokens of two accounts: that of `TestServer.principal`, and ben's.
struct TwoTokens: Authenticator {
    static let ben = "the-token-of-ben"

    func principal(bearing token: String) -> Principal? {
        [TestServer.good: TestServer.principal, Self.ben: Principal(name: "ben")][token]
    }
}
