import SyncAuthority
import SyncCore
public import SyncModel
import SyncRuntimeLive
public import SyncServerRules
public import TomboloModeling

/// A server in the test's process with the models of an application, for tests that open a real client.
///
/// ```swift
/// let server = try TestServer(models: [Todo.self])
/// var options = ClientOptions()
/// options.transport = server.transport(for: "ned")
/// ```
///
/// It is the real authority, in memory, with the clock of this machine, like its clients. A test that needs no real
/// client is faster in a ``SyncTestbed``.
public final class TestServer: Sendable {
    private let catalog: SchemaCatalog
    private let authority: Authority
    private let review: ApplicationReview?
    private let runtime: EngineRuntime

    /// Creates a server without records.
    ///
    /// - Parameters:
    ///   - spaces: the spaces that every account reads and writes, unless `rules` has its own `authorizeSpaces`.
    ///   - rules: sets the server's own rules, as the closure of `SyncServerProgram.main` does.
    /// - Throws: `ModelDeclarationError` when a declaration has an error, or a rule is for a model that is not in the
    ///   list.
    public init(
        models: [any Model.Type], spaces: Set<SpaceID> = [.default],
        rules: (inout ServerApplication) -> Void = { _ in }
    ) throws(ModelDeclarationError) {
        let application = try ServerApplication.configured(models, rules)
        catalog = application.catalog
        authority = Authority(
            store: InMemoryAuthorityStore(epoch: Epoch(rawValue: "test")), catalog: catalog,
            policy: AuthorityPolicy(access: application.access ?? .everyone(in: spaces)))
        runtime = .live(label: "tombolo.test-server")
        review = ApplicationReview(application, runtime, .silent)
    }

    /// Returns the transport to the server for a device of this account. Script it to make calls fail.
    public func transport(for account: String) -> MockServer {
        let runtime = runtime
        return MockServer(
            authority: authority, catalog: catalog, principal: Principal(name: account), now: runtime.now,
            wait: { try await runtime.clock.sleep(for: $0) }, review: review)
    }
}

extension AccessRules {
    /// Returns rules by which every account reads and writes in these spaces.
    static func everyone(in spaces: Set<SpaceID>) -> AccessRules {
        AccessRules([Rule(principals: .everyone, spaces: .only(spaces), access: .readAndWrite)])
    }
}
