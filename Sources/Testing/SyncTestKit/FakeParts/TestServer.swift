import SyncAuthority
import SyncCore
import SyncModel
public import TomboloModeling

/// A server in process for the models of an application, for tests that open a real client.
///
/// ```swift
/// let server = try TestServer(models: [Todo.self])
/// var options = ClientOptions()
/// options.transport = server.transport(for: "ned")
/// ```
///
/// It is the real authority, in memory. A test that needs no real client is faster in a ``SyncTestbed``.
public final class TestServer: Sendable {
    private let catalog: SchemaCatalog
    private let authority: Authority
    private let runtime: EngineRuntime

    /// - Throws: `ModelDeclarationError` when a declaration has an error.
    public init(models: [any Model.Type]) throws(ModelDeclarationError) {
        catalog = try ModelCatalog(models).schemas
        authority = Authority(
            store: InMemoryAuthorityStore(epoch: Epoch(rawValue: "test")), catalog: catalog)
        runtime = .mock()
    }

    /// The way to the server for a device of this account. Its script makes the server fail.
    public func transport(for account: String) -> MockServer {
        let runtime = runtime
        return MockServer(
            authority: authority, catalog: catalog, principal: Principal(name: account), now: runtime.now,
            wait: { try await runtime.clock.sleep(for: $0) })
    }
}
