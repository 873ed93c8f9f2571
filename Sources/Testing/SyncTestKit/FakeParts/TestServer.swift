import SyncAuthority
import SyncCore
public import SyncModel
import SyncRuntimeLive
public import TomboloModeling

/// A server in the test's process with the models of an application, for tests that open a real client.
///
/// ```swift
/// let server = try TestServer(models: [Todo.self])
/// var options = ClientOptions()
/// options.transport = server.transport(for: "ned")
/// ```
///
/// It is the real authority, in memory, with the clock of this machine, like its clients. A test that needs no real client is faster in a ``SyncTestbed``.
public final class TestServer: Sendable {
    private let catalog: SchemaCatalog
    private let authority: Authority
    private let runtime: EngineRuntime

    /// Creates a server without records.
    ///
    /// - Parameter spaces: the spaces that every account reads and writes.
    /// - Throws: `ModelDeclarationError` when a declaration has an error.
    public init(models: [any Model.Type], spaces: Set<SpaceID> = [.default]) throws(ModelDeclarationError) {
        catalog = try ModelCatalog(models).schemas
        authority = Authority(
            store: InMemoryAuthorityStore(epoch: Epoch(rawValue: "test")), catalog: catalog,
            policy: AuthorityPolicy(access: .everyone(in: spaces)))
        runtime = .live(label: "tombolo.test-server")
    }

    /// Returns the transport to the server for a device of this account. Script it to make calls fail.
    public func transport(for account: String) -> MockServer {
        let runtime = runtime
        return MockServer(
            authority: authority, catalog: catalog, principal: Principal(name: account), now: runtime.now,
            wait: { try await runtime.clock.sleep(for: $0) })
    }
}

extension AccessRules {
    /// Returns rules by which every account reads and writes in these spaces.
    static func everyone(in spaces: Set<SpaceID>) -> AccessRules {
        AccessRules([Rule(principals: .everyone, spaces: .only(spaces), access: .readAndWrite)])
    }
}
