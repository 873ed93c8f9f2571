public import SyncAuthority
public import SyncCore
public import SyncModel

/// What a world is made of, and how hard its life is. Rates are drawn per seed, so that each world has another
/// character and many know only a few faults.
public struct WorldPlan: Hashable, Sendable {
    public var seed: UInt64
    public var devices: Int
    /// What the users do, over all devices.
    public var steps: Int
    public var policy: SyncPolicy
    public var scheduling: SchedulingPolicy
    public var slowProcessor: Double
    public var network: NetworkConditions
    /// How long users think between two deeds.
    public var pause: ClosedRange<Duration>
    /// How likely each of these happens at a step.
    public var rates: Rates
    /// Faults of disks that are waiting from the beginning.
    public var planned: [PlannedFault] = []

    public struct PlannedFault: Hashable, Sendable {
        public var party: Party
        public var fault: DiskFault

        public enum Party: Hashable, Sendable {
            case server
            /// By its place, from 0.
            case device(Int)
        }

        public init(_ party: Party, _ fault: DiskFault) {
            self.party = party
            self.fault = fault
        }
    }

    public struct Rates: Hashable, Sendable {
        public var killDevice = 0.0
        public var losePowerOfDevice = 0.0
        public var suspendDevice = 0.0
        public var cutDevice = 0.0
        public var dropLink = 0.0
        public var jumpClock = 0.0
        public var killServer = 0.0
        public var losePowerOfServer = 0.0
        /// The server forgets how it came to the older part of what it holds.
        public var compactServer = 0.0
        /// Someone keeps a backup of the server's disk, or restores the last one and starts a new epoch.
        public var restoreServer = 0.0
        /// A fault of the disk somewhere among the next operations: an error, a kill, or a loss of power.
        public var deviceDiskFault = 0.0
        public var serverDiskFault = 0.0
        /// Someone keeps an image of the device's disk, or puts the last one back.
        public var rollBackDevice = 0.0
        /// What is down comes back, what sleeps wakes, and what is cut off is connected again.
        public var recover = 0.3

        public init() {}
    }

    /// Whether the server may end in the middle of something.
    var serverMayDie: Bool {
        rates.killServer + rates.losePowerOfServer + rates.serverDiskFault + rates.restoreServer > 0
            || planned.contains { $0.party == .server }
    }

    /// A world without faults.
    public static func calm(seed: UInt64, devices: Int = 2, steps: Int = 100) -> WorldPlan {
        WorldPlan(
            seed: seed, devices: devices, steps: steps, policy: SyncPolicy(), scheduling: .random, slowProcessor: 0,
            network: .calm, pause: .milliseconds(1)...(.seconds(5)), rates: Rates())
    }

    /// The world of a seed.
    public static func drawn(seed: UInt64, steps: Int = 500) -> WorldPlan {
        var random = SeededRandom(seed: seed, stream: "plan")
        func rate(upTo most: Double) -> Double {
            let isOn = random.chance(0.5)
            let value = random.fraction() * most
            return isOn ? value : 0
        }
        var plan = WorldPlan.calm(seed: seed, devices: random.within(1...4), steps: steps)
        plan.scheduling = random.chance(0.1) ? .fifo : .random
        plan.slowProcessor = rate(upTo: 0.02)
        plan.network = .drawn(&random)
        plan.pause = .milliseconds(1)...(.milliseconds(random.within(10...20_000)))
        plan.policy.listensForHints = random.chance(0.7)
        plan.policy.batch = BatchLimit(transactions: random.within(1...40), bytes: random.within(400...20_000))
        plan.policy.pageRows = random.within(2...40)
        plan.policy.smallestPage = 2
        plan.rates.killDevice = rate(upTo: 0.05)
        plan.rates.losePowerOfDevice = rate(upTo: 0.03)
        plan.rates.suspendDevice = rate(upTo: 0.05)
        plan.rates.cutDevice = rate(upTo: 0.05)
        plan.rates.dropLink = rate(upTo: 0.05)
        plan.rates.jumpClock = rate(upTo: 0.05)
        plan.rates.rollBackDevice = rate(upTo: 0.02)
        plan.rates.killServer = rate(upTo: 0.03)
        plan.rates.losePowerOfServer = rate(upTo: 0.02)
        plan.rates.compactServer = rate(upTo: 0.05)
        plan.rates.restoreServer = rate(upTo: 0.01)
        plan.rates.deviceDiskFault = rate(upTo: 0.1)
        plan.rates.serverDiskFault = rate(upTo: 0.1)
        plan.rates.recover = 0.05 + random.fraction() * 0.4
        return plan
    }
}

/// The parts under test, as the world puts them on its disks.
public struct WorldParts: Sendable {
    /// The codec.
    public var wire: any SimulatedWire
    /// Opens a local store of `WorldCatalog` with the space `default`, in a file of the process's disk, so that what
    /// is committed survives a loss of power. Called for each life of a device's process.
    public var openStore: @Sendable (DiskProcess, EngineRuntime) throws -> SimulatedDevice.Store
    /// Opens the authority over `WorldCatalog`, durable like the store. The server takes each device for a principal
    /// with the device's name.
    public var openAuthority: SimulatedServer.Opening

    /// What an operator does to the authority that runs; nil when it knows no upkeep.
    public var upkeep: (@Sendable (Upkeep, any AuthorityService) throws -> Void)?

    public enum Upkeep: Hashable, Sendable {
        /// Keep so many commits in the feed of the space `default`.
        case compact(keeping: Int)
        /// The database is a backup: start a new history.
        case startEpoch(Epoch)
    }

    public init(
        wire: any SimulatedWire,
        openStore: @escaping @Sendable (DiskProcess, EngineRuntime) throws -> SimulatedDevice.Store,
        openAuthority: @escaping SimulatedServer.Opening,
        upkeep: (@Sendable (Upkeep, any AuthorityService) throws -> Void)? = nil
    ) {
        self.wire = wire
        self.openStore = openStore
        self.openAuthority = openAuthority
        self.upkeep = upkeep
    }
}
