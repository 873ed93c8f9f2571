import SyncAuthority
import SyncConcurrency
public import SyncCore
public import SyncModel
public import SyncSimulation
import SyncTransportInProcess

/// Devices and a server on virtual time, for the tests of an application: nothing waits in real time, and the same
/// seed runs the same way every time.
///
/// Use it from one thread, most simply in a synchronous test:
///
/// ```swift
/// let lab = SyncLab()
/// let phone = try lab.device("phone")
/// try lab.run { try await phone.community.users.make(username: "Ned").create() }
/// try lab.settle()
/// try lab.finish()
/// ```
///
/// The devices keep their records in the real SQLite store, on a disk in memory; the server is the real authority.
public final class SyncLab {
    public let simulation: Simulation
    /// The models of the server, and of devices that have none of their own.
    public private(set) var catalog: SchemaCatalog
    private let policy: SyncPolicy
    private let store: InMemoryAuthorityStore
    private var authority: Authority
    private var devices: [LabDevice] = []

    /// - Parameters:
    ///   - seed: chooses the order of everything that may happen in more than one.
    ///   - catalog: the application's models.
    public init(seed: UInt64 = 1, catalog: SchemaCatalog, policy: SyncPolicy = SyncPolicy()) {
        simulation = Simulation(seed: seed)
        self.catalog = catalog
        self.policy = policy
        store = InMemoryAuthorityStore(epoch: Epoch(rawValue: "lab"))
        authority = Authority(store: store, catalog: catalog)
    }

    /// A new device, which is on, has a link, and keeps the space `default` in step.
    ///
    /// - Parameter models: those of the application on the device, an older or newer build; nil for the lab's.
    /// - Throws: `StoreFailure` when its store cannot be opened, which is a fault of the catalog.
    public func device(_ name: String, models: SchemaCatalog? = nil) throws(StoreFailure) -> LabDevice {
        let device = LabDevice(
            name: name, simulation: simulation, catalog: models ?? catalog, policy: policy, authority: authority,
            serverCatalog: catalog)
        try device.start()
        devices.append(device)
        return device
    }

    /// Puts a server with other models in the place of the present one, over the same data, as an operator does who installs
    /// another build. Open streams of hints end.
    public func replaceServer(models: SchemaCatalog) {
        let former = authority
        catalog = models
        authority = Authority(store: store, catalog: models)
        for device in devices { device.server.replace(authority: authority, catalog: models) }
        former.commits.finish()
    }

    /// Runs a piece of the application to its end, moving virtual time on whenever nothing else is left to do.
    ///
    /// - Parameter limit: how much virtual time it may take.
    /// - Throws: what `body` throws, or a `SimulationFailure`.
    @discardableResult public func run<Value: Sendable>(
        limit: Duration = .seconds(3_600), _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        try simulation.run(limit: limit, body)
    }

    /// Moves virtual time on.
    public func advance(by duration: Duration) throws {
        try simulation.advance(by: duration)
    }

    /// Moves virtual time on until every device that is on and has a link is in step with the server.
    ///
    /// - Throws: `LabFailure`, which says who is not, after so much virtual time.
    public func settle(within limit: Duration = .seconds(1_200)) throws {
        let end = simulation.now + limit
        // A status is only told once the engine has had its turn.
        try simulation.advance(by: .milliseconds(1))
        while let laggard = devices.first(where: { $0.isConnected && !isInStep($0) }) {
            guard simulation.now < end else {
                throw LabFailure("\(laggard.name) is not in step after \(limit): \(laggard.situation)")
            }
            try simulation.advance(by: .milliseconds(500))
        }
    }

    private func isInStep(_ device: LabDevice) -> Bool {
        guard let status = device.status, status.isInSync else { return false }
        return status.spaces.allSatisfy { space in
            let head = try? store.read { (view) throws(AuthorityStoreFailure) in try view.extent(of: space.space).head }
            return head == space.version
        }
    }

    /// Ends the test: nothing may be left that waits for something.
    ///
    /// - Throws: `LabFailure`, when a device still has something to send or something in its journal that nobody has
    ///   seen, or a script has steps that nothing has taken; `SimulationFailure`, when tasks do not end.
    public func finish() throws {
        let left = devices.flatMap(\.leftovers)
        for device in devices { device.stop() }
        try simulation.finish()
        guard left.isEmpty else { throw LabFailure(left.joined(separator: "; ")) }
    }
}

/// The leftovers of a test, or the state that it waited for in vain.
public struct LabFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
