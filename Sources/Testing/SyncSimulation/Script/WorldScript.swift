public import SyncAuthority
public import SyncCore
public import SyncModel

/// All events in a world, in order, drawn from a seed or read from a file.
///
/// Events are independent: removing one does not change the others, so that a failing script can be shrunk.
public struct WorldScript: Hashable, Sendable {
    public var setting: WorldSetting
    /// The disk faults that are set before anything is opened.
    public var planned: [PlannedFault] = []
    public var moments: [Moment] = []

    public struct PlannedFault: Hashable, Sendable {
        public var party: Party
        public var fault: DiskFault
        /// Changes what the party's disk draws when a fault happens: the writes that survive a loss of power, and the
        /// part of a failed write that was done. With 0, they depend on the seed of the world alone.
        public var seed: UInt64

        public init(_ party: Party, _ fault: DiskFault, seed: UInt64 = 0) {
            self.party = party
            self.fault = fault
            self.seed = seed
        }
    }

    /// The events at one instant, in order, and the time until the next instant.
    public struct Moment: Hashable, Sendable {
        public var happenings: [WorldEvent]
        public var pause: Duration

        public init(_ happenings: [WorldEvent], pause: Duration) {
            self.happenings = happenings
            self.pause = pause
        }
    }

    public init(setting: WorldSetting, planned: [PlannedFault] = [], moments: [Moment] = []) {
        self.setting = setting
        self.planned = planned
        self.moments = moments
    }

    /// Returns the combined seeds of the faults that are planned for a party's disk; 0 when there are none.
    func diskSeed(of party: Party) -> UInt64 {
        planned.reduce(0) { $1.party == party ? $0 ^ $1.seed : $0 }
    }

    /// The number of events and planned faults.
    public var size: Int { moments.reduce(planned.count) { $0 + $1.happenings.count } }
}

/// A participant of a world.
public enum Party: Hashable, Sendable, CustomStringConvertible {
    case server
    /// A device by its index, from 0.
    case device(Int)

    public var description: String {
        switch self {
        case .server: "server"
        case .device(let place): "device\(place)"
        }
    }
}

/// The properties of a world that stay the same throughout a run.
public struct WorldSetting: Hashable, Sendable {
    /// The seed of everything that is not in the script: the scheduler, the network, the noise on disks.
    public var seed: UInt64
    public var devices: Int
    /// The indices of devices that do not flush each commit: a loss of power may take their newest commits.
    public var unflushed: Set<Int> = []
    /// The indices of devices on which readers have their own connections.
    public var readers: Set<Int> = []
    /// The indices of devices whose monotonic clock stops while they are suspended.
    public var pausing: Set<Int> = []
    /// The indices of devices that start with the earlier build.
    public var earlierDevices: Set<Int> = []
    /// Whether the server starts with the earlier build.
    public var isServerEarlier = false
    /// Whether users edit in forms that may show old values, edit a record several times, and write berths.
    public var hasForms = false
    /// Whether the server's application has a rule for writes, `WorldRule`.
    public var hasRule = false
    /// Whether the journals of the devices are so small that users must handle entries (`DeviceStorage.smallJournal`).
    public var hasSmallJournals = false
    /// Whether users correct rejected transactions in place of their journal entries, and retry them.
    public var hasCorrections = false
    /// Whether users restore any entry of the journal, even those that they have handled.
    public var restoresAny = false
    /// The first limits on what each account may store.
    public var accounts = AccountLimits.unlimited
    /// The limits of a server that takes less than the devices write; nil for a server that takes everything.
    public var limits: TightLimits?
    /// The number of spaces in use, from the start of `allSpaces`.
    public var spaceCount = 1
    public var policy = SyncPolicy()
    public var scheduling = SchedulingPolicy.random
    /// The probability, at each job, that a timer fires although other work is ready.
    public var slowProcessor = 0.0
    public var network = NetworkConditions.calm

    /// The spaces that a world may use.
    public static let allSpaces: [SpaceID] = [.default, "north", "south"]

    /// The spaces in use. A record stays in one space for its whole life.
    public var spaces: [SpaceID] { Array(Self.allSpaces.prefix(max(spaceCount, 1))) }

    /// The program and configuration with which the server starts.
    var server: ServerSetting {
        var server = ServerSetting()
        server.build = isServerEarlier ? .earlier : .current
        server.limits = limits
        server.accounts = accounts
        return server
    }

    public init(seed: UInt64, devices: Int) {
        self.seed = seed
        self.devices = devices
    }
}
