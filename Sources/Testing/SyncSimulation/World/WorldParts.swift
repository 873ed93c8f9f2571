public import SyncAuthority
public import SyncCore
public import SyncModel

/// The parts under test, and the functions that create them on the world's disks.
public struct WorldParts: Sendable {
    /// Returns the codec of a build.
    public var wire: @Sendable (WorldBuild) -> any SimulatedWire
    /// Opens a local store in a file on the process's disk, with the models of the storage's build and its durability.
    ///
    /// Called for each process of a device. The world adds the missing spaces.
    public var openStore: @Sendable (DiskProcess, EngineRuntime, DeviceStorage) throws -> SimulatedDevice.Store
    /// Opens the authority with the models and the limits of a setting, with full durability.
    ///
    /// To the server, each device is a principal with the device's name. The access rules decide what a principal may
    /// do in `WorldSetting.allSpaces`.
    public var openAuthority: AuthorityOpening

    /// Opens the authority in a process of the server.
    ///
    /// - Parameters:
    ///   - setting: the server's program and its configuration.
    ///   - rules: the permissions in each space, fixed until the process ends.
    ///   - histories: names the first history of an empty disk, and those that the authority begins without an
    ///     operator.
    public typealias AuthorityOpening =
        @Sendable (
            _ process: DiskProcess, _ setting: ServerSetting, _ rules: AccessRules, _ histories: any HistoryKeeper
        )
        throws -> any AuthorityService

    /// Performs an operator's task on the running authority; nil when the authority supports none.
    public var upkeep: (@Sendable (Upkeep, any AuthorityService) throws -> Void)?

    /// Returns a transaction's outcome and the hash of its contents from the authority's ledger.
    ///
    /// Returns nil when the ledger does not have the transaction. The property is nil when the parts cannot read the
    /// ledger: a world whose server dies during a commit then cannot determine the outcome of the commit.
    public var outcome: (@Sendable (any AuthorityService, Sender) throws -> (hash: PayloadHash, outcome: Outcome)?)?

    /// Whether the authority notifies a device when a value of the device loses a conflict, as the protocol requires.
    ///
    /// The checks of what users were told run only then.
    public var notifiesLosers = true

    /// Makes the flight recorder of each device's engine over the store from `openStore`; nil for no recorder.
    package var recorder: SimulatedDevice.Recorder?

    /// The sender of a transaction, and its number.
    public struct Sender: Hashable, Sendable {
        public let principal: Principal
        public let identity: ClientIdentity
        public let number: TransactionNumber
    }

    /// A task of the server's operator.
    public enum Upkeep: Hashable, Sendable {
        /// Keeps the given number of commits in the change feed of a space.
        case trimFeed(SpaceID, keeping: Int)
        /// Keeps the given number of conflicts of all spaces.
        case trimConflicts(keeping: Int)
        /// Starts a new history, because the database was restored from a backup.
        case startEpoch(HistoryIdentity)
    }

    /// Wraps the transport of a device's engine. By default, returns the transport unchanged.
    public var wrapTransport: @Sendable (any RemoteTransport, EngineRuntime) -> any RemoteTransport = { way, _ in way }

    /// Reads the files of a device without the code under test; nil when the parts do not support it.
    public var auditReplica: (@Sendable (DiskProcess) throws -> any ReplicaInspector)?
    /// Reads the files of the server without the code under test; nil when the parts do not support it.
    public var auditAuthority: (@Sendable (DiskProcess) throws -> any AuthorityInspector)?
    /// The bounds on the size of a replica; nil when the parts state none.
    public var bounds: ReplicaBounds?
    /// The bounds on the sizes of pages and pushes; nil when the parts state none.
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
