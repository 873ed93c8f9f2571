public import SyncCore
public import SyncModel

/// All that happens in a world, one thing after the other: drawn from a seed, or read from a file.
///
/// Each happening stands for itself: taking one out shifts none of the others, so that a script which fails can be
/// made smaller.
public struct WorldScript: Hashable, Sendable {
    public var setting: WorldSetting
    /// Faults that wait on disks before anything is opened.
    public var planned: [PlannedFault] = []
    public var moments: [Moment] = []

    public struct PlannedFault: Hashable, Sendable {
        public var party: Party
        public var fault: DiskFault

        public init(_ party: Party, _ fault: DiskFault) {
            self.party = party
            self.fault = fault
        }
    }

    /// Happenings at one instant, in their order, and how long it is until the next.
    public struct Moment: Hashable, Sendable {
        public var happenings: [Happening]
        public var pause: Duration

        public init(_ happenings: [Happening], pause: Duration) {
            self.happenings = happenings
            self.pause = pause
        }
    }

    public init(setting: WorldSetting, planned: [PlannedFault] = [], moments: [Moment] = []) {
        self.setting = setting
        self.planned = planned
        self.moments = moments
    }

    /// How many happenings there are.
    public var size: Int { moments.reduce(planned.count) { $0 + $1.happenings.count } }
}

/// A member of a world.
public enum Party: Hashable, Sendable, CustomStringConvertible {
    case server
    /// By its place, from 0.
    case device(Int)

    public var description: String {
        switch self {
        case .server: "server"
        case .device(let place): "device\(place)"
        }
    }
}

/// The properties of a world from its beginning to its end.
public struct WorldSetting: Hashable, Sendable {
    /// Of everything that is not in the script: the scheduler, the network, the noise on disks.
    public var seed: UInt64
    public var devices: Int
    /// The places of devices that do not flush each commit: a loss of power may take their newest ones.
    public var unflushed: Set<Int> = []
    /// The places of devices on which those who read have connections of their own.
    public var readers: Set<Int> = []
    /// The places of devices whose monotonic clock stands still while they are suspended.
    public var pausing: Set<Int> = []
    /// The places of devices that begin with the build before the current one.
    public var earlierDevices: Set<Int> = []
    /// Whether the server begins with the build before the current one.
    public var isServerEarlier = false
    /// The first so many of `allSpaces` are used.
    public var spaceCount = 1
    public var policy = SyncPolicy()
    public var scheduling = SchedulingPolicy.random
    /// How likely, at each job, a timer fires although work still waits.
    public var slowProcessor = 0.0
    public var network = NetworkConditions.calm

    /// The spaces that there may be in a world.
    public static let allSpaces: [SpaceID] = [.default, "north", "south"]

    /// Where records live: each in one of these, all its life.
    public var spaces: [SpaceID] { Array(Self.allSpaces.prefix(max(spaceCount, 1))) }

    /// Whether anybody begins with the build before the current one.
    public var hasEarlierBuilds: Bool { isServerEarlier || !earlierDevices.isEmpty }

    public init(seed: UInt64, devices: Int) {
        self.seed = seed
        self.devices = devices
    }
}
