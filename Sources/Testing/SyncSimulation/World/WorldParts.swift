public import SyncAuthority
public import SyncCore
public import SyncModel

/// The parts under test, as the world puts them on its disks.
public struct WorldParts: Sendable {
    /// The codec of each build.
    public var wire: @Sendable (WorldBuild) -> any SimulatedWire
    /// Opens a local store of the models of the storage's build in a file of the process's disk, so that what is committed survives what its
    /// durability says. Called for each life of a device's process. The world adds the spaces that are missing.
    public var openStore: @Sendable (DiskProcess, EngineRuntime, DeviceStorage) throws -> SimulatedDevice.Store
    /// Opens the authority over the models of a build, durable like the store. The server takes each device for a principal
    /// with the device's name, who may do in `WorldSetting.allSpaces` what the rules say.
    public var openAuthority: AuthorityOpening

    /// - Parameters:
    ///   - rules: who may do what in which space, until the process ends.
    ///   - build: of the server's program.
    ///   - histories: names the first history of an empty disk, and those that the authority begins by itself.
    public typealias AuthorityOpening =
        @Sendable (_ process: DiskProcess, _ build: WorldBuild, _ rules: AccessRules, _ histories: any HistoryKeeper)
        throws -> any AuthorityService

    /// Carries out an operator's task on the authority that runs; nil when it knows no upkeep.
    public var upkeep: (@Sendable (Upkeep, any AuthorityService) throws -> Void)?

    /// Returns a transaction's entry in the authority's ledger: its outcome, and the hash of its contents. Nil when the parts
    /// cannot tell; a world whose server dies over a commit then knows less.
    public var outcome: (@Sendable (any AuthorityService, Sender) throws -> (hash: PayloadHash, outcome: Outcome)?)?

    /// Whether the authority tells a device which of its values gave way to others, as the protocol has it. Users are asked
    /// for what they were told only then.
    public var tellsLosers = true

    /// Gives each device's engine a flight recorder over the store that `openStore` has made; nil gives none.
    package var recorder: SimulatedDevice.Recorder?

    /// The sender of a transaction, and its number.
    public struct Sender: Hashable, Sendable {
        public let principal: Principal
        public let identity: ClientIdentity
        public let number: TransactionNumber
    }

    public enum Upkeep: Hashable, Sendable {
        /// Keep so many commits in the feed of a space.
        case compact(SpaceID, keeping: Int)
        /// The database is a backup: start a new history.
        case startEpoch(HistoryIdentity)
    }

    /// Makes the transport of a device's engine from the way to the server: the way itself, unless a test puts something
    /// between them.
    public var wrapTransport: @Sendable (any RemoteTransport, EngineRuntime) -> any RemoteTransport = { way, _ in way }

    /// Reads the files of a device, and of the server, past the code under test; nil when they cannot be read so.
    public var auditReplica: (@Sendable (DiskProcess) throws -> any ReplicaLook)?
    public var auditAuthority: (@Sendable (DiskProcess) throws -> any AuthorityLook)?
    public var bounds: ReplicaBounds?
    /// How large pages and pushes may be; nil when the parts state no bounds.
    public var messageBounds: MessageBounds?

    public init(
        wire: @escaping @Sendable (WorldBuild) -> any SimulatedWire,
        openStore: @escaping @Sendable (DiskProcess, EngineRuntime, DeviceStorage) throws -> SimulatedDevice.Store,
        openAuthority: @escaping AuthorityOpening,
        upkeep: (@Sendable (Upkeep, any AuthorityService) throws -> Void)? = nil,
        outcome: (@Sendable (any AuthorityService, Sender) throws -> (hash: PayloadHash, outcome: Outcome)?)? = nil
    ) {
        self.wire = wire
        self.openStore = openStore
        self.openAuthority = openAuthority
        self.upkeep = upkeep
        self.outcome = outcome
    }
}
