import SyncAuthority
import SyncCore

/// The parameters for drawing a script: the number of operations, and the probability of each fault at each step.
///
/// The rates are drawn per seed, so that worlds differ in character and many have only a few kinds of faults.
public struct WorldPlan: Hashable, Sendable {
    public var setting: WorldSetting
    /// The number of user operations, over all devices.
    public var steps: Int
    /// The pause between two operations, or between two bursts of operations.
    public var pause: ClosedRange<Duration>
    /// The maximum number of operations at one instant, of one user or of several.
    public var burst = 1
    public var rates = Rates()

    /// The probability of each event at a step.
    public struct Rates: Hashable, Sendable {
        public var killDevice = 0.0
        public var losePowerOfDevice = 0.0
        public var suspendDevice = 0.0
        public var cutDevice = 0.0
        public var dropLink = 0.0
        public var jumpClock = 0.0
        /// An image of the device's disk is kept, or the last one is restored.
        public var rollBackDevice = 0.0
        /// One of the disk's next operations meets a fault: an error, a kill, or a loss of power.
        public var deviceDiskFault = 0.0
        public var killServer = 0.0
        public var losePowerOfServer = 0.0
        public var compactServer = 0.0
        /// The server removes old conflicts, whether or not all devices have fetched them.
        public var trimConflicts = 0.0
        /// A backup of the server's disk is taken, or the last one is restored and a new epoch begins.
        public var restoreServer = 0.0
        public var serverDiskFault = 0.0
        /// A gateway between a device and the server answers instead of the server.
        public var scriptResponse = 0.0
        public var driftClock = 0.0
        /// Another device's disk is copied to this one.
        public var cloneDevice = 0.0
        /// A second engine starts on a device's database.
        public var rivalEngine = 0.0
        /// Other programs fill a disk.
        public var fillDisk = 0.0
        /// A file system is made read-only.
        public var protectDisk = 0.0
        /// An empty server replaces the existing one.
        public var emptyServer = 0.0
        /// A second process serves the same database.
        public var secondServer = 0.0
        /// The server is slow for a while.
        public var slowServer = 0.0
        public var jumpClockOfServer = 0.0
        /// An application is closed properly.
        public var stopDevice = 0.0
        /// Nothing happens for hours.
        public var longPause = 0.0
        /// Another user logs in on a device.
        public var changeUser = 0.0
        /// All devices sleep for days.
        public var sleepForDays = 0.0
        /// A user agrees to the deletions that the mass-delete brake has stopped.
        public var allowDeletes = 0.0
        /// A device's owner loses access to a space, or gets it back.
        public var changeAccess = 0.0
        /// The server's last backup is restored without telling the server.
        public var restoreServerSilently = 0.0
        /// A stranger pushes under another's client id, or with false claims.
        public var forgePush = 0.0
        /// A device's clock is wrong by weeks, until it is corrected.
        public var clockDrift = 0.0
        /// The server lies to a device for a while.
        public var lie = 0.0
        /// The server refuses the identities of a device for a while, possibly more often than a push can name former
        /// ones.
        public var refuseIdentities = 0.0
        /// The server claims a head that it does not have, or gives a cursor of another history.
        public var falseClaim = 0.0
        /// The server's last backup is restored without telling the server. The server then makes commits and trims its
        /// change feed before any device returns.
        public var restoreServerBehindHorizon = 0.0
        /// A device or server with the earlier build is upgraded to the current one.
        public var upgrade = 0.0
        /// The operator changes the limit on what accounts may store.
        public var changeQuota = 0.0
        /// A device or the server recovers from its faults.
        public var recover = 0.3

        public init() {}
    }

    /// Returns the plan of a world without faults.
    public static func calm(seed: UInt64, devices: Int = 2, steps: Int = 100) -> WorldPlan {
        WorldPlan(
            setting: WorldSetting(seed: seed, devices: devices), steps: steps,
            pause: .milliseconds(1)...(.seconds(5)))
    }

    /// Returns the plan of a seed's world.
    public static func drawn(seed: UInt64, steps: Int = 500) -> WorldPlan {
        var random = SeededRandom(seed: seed, stream: "plan")
        var plan = WorldPlan.calm(seed: seed, devices: random.within(1...4), steps: steps)
        plan.setting.scheduling = random.chance(0.1) ? .fifo : .random
        plan.setting.slowProcessor = random.rate(upTo: 0.02)
        plan.setting.network = .drawn(&random)
        // Each order of magnitude of the longest pause, from 10 milliseconds to 100 seconds, is equally likely.
        let leisure = [10, 100, 1_000, 10_000][random.below(4)]
        plan.pause = .milliseconds(1)...(.milliseconds(random.within(leisure...leisure * 10)))
        plan.setting.policy.listensForHints = random.chance(0.7)
        plan.setting.policy.batch.transactions = random.within(1...40)
        plan.setting.policy.batch.bytes = random.within(400...20_000)
        plan.setting.policy.pageRows = random.within(2...40)
        plan.setting.policy.smallestPage = 2
        plan.rates.killDevice = random.rate(upTo: 0.05)
        plan.rates.losePowerOfDevice = random.rate(upTo: 0.03)
        plan.rates.suspendDevice = random.rate(upTo: 0.05)
        plan.rates.cutDevice = random.rate(upTo: 0.05)
        plan.rates.dropLink = random.rate(upTo: 0.05)
        plan.rates.jumpClock = random.rate(upTo: 0.05)
        plan.rates.rollBackDevice = random.rate(upTo: 0.02)
        plan.rates.deviceDiskFault = random.rate(upTo: 0.1)
        plan.rates.killServer = random.rate(upTo: 0.03)
        plan.rates.losePowerOfServer = random.rate(upTo: 0.02)
        plan.rates.compactServer = random.rate(upTo: 0.05)
        plan.rates.restoreServer = random.rate(upTo: 0.01)
        plan.rates.serverDiskFault = random.rate(upTo: 0.1)
        plan.rates.recover = 0.05 + random.fraction() * 0.4
        plan.rates.scriptResponse = random.rate(upTo: 0.1)
        plan.rates.driftClock = random.rate(upTo: 0.02)
        plan.rates.cloneDevice = random.chance(0.3) ? random.rate(upTo: 0.02) : 0
        plan.rates.rivalEngine = random.chance(0.3) ? random.rate(upTo: 0.04) : 0
        plan.rates.fillDisk = random.rate(upTo: 0.03)
        plan.rates.emptyServer = random.chance(0.4) ? random.rate(upTo: 0.02) : 0
        plan.rates.longPause = random.rate(upTo: 0.001)
        plan.rates.changeUser = random.rate(upTo: 0.02)
        plan.drawLater()
        plan.drawOutside()
        plan.drawBuilds()
        plan.drawIdentities()
        plan.drawClaims()
        plan.drawHorizon()
        plan.drawTrimming()
        plan.setting.hasForms = true
        plan.drawRule()
        plan.drawJournals()
        plan.drawLimits()
        plan.drawDecisions()
        plan.drawQuotas()
        return plan
    }

    /// Gives all devices and the server the current build from the beginning.
    public mutating func useCurrentBuilds() {
        setting.earlierDevices = []
        setting.isServerEarlier = false
        rates.upgrade = 0
    }

    /// Draws the builds. In one of five worlds, some participants start with the earlier build. Those that no event
    /// upgrades are upgraded when all faults end.
    private mutating func drawBuilds() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.builds")
        let isMixed = random.chance(0.2)
        let earlier = Set((0..<4).filter { _ in random.chance(0.5) })
        let isServerEarlier = random.chance(0.4)
        let upgrade = random.fraction() * 0.02
        guard isMixed else { return }
        setting.earlierDevices = earlier.filter { $0 < setting.devices }
        setting.isServerEarlier = isServerEarlier
        rates.upgrade = upgrade
    }

    /// Draws how often the server refuses identities. In one of ten worlds, it does.
    private mutating func drawIdentities() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.identities")
        let refuse = random.fraction() * 0.02
        if random.chance(0.1) { rates.refuseIdentities = refuse }
    }

    /// Draws how often the server makes false claims. In one of ten worlds, it does.
    private mutating func drawClaims() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.claims")
        let claim = random.fraction() * 0.03
        if random.chance(0.1) { rates.falseClaim = claim }
    }

    /// Draws how often the server is restored behind its horizon. In one of ten worlds, it is.
    private mutating func drawHorizon() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.horizon")
        let restore = random.fraction() * 0.01
        if random.chance(0.1) { rates.restoreServerBehindHorizon = restore }
    }

    /// Draws the removal of conflicts. It is rare, because a user who was told that notices are missing may miss
    /// values.
    private mutating func drawTrimming() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.trimming")
        let trim = random.fraction() * 0.02
        if random.chance(0.1) { rates.trimConflicts = trim }
    }

    /// Draws whether the server's application has a rule for writes. In three of ten worlds, it does.
    private mutating func drawRule() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.rule")
        setting.hasRule = random.chance(0.3)
    }

    /// Draws whether the journals are small. In one of five worlds, they are.
    private mutating func drawJournals() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.journals")
        setting.hasSmallJournals = random.chance(0.2)
    }

    /// Draws the limits of the server. In one of five worlds, they are smaller than those of the devices.
    private mutating func drawLimits() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.limits")
        let isTight = random.chance(0.2)
        let limits = TightLimits.drawn(&random)
        if isTight { setting.limits = limits }
    }

    /// Draws what users do with their journals besides handling the newest entries. In three of ten worlds, they
    /// correct and retry, and in as many, they restore any entry.
    private mutating func drawDecisions() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.decisions")
        setting.hasCorrections = random.chance(0.3)
        setting.restoresAny = random.chance(0.3)
    }

    /// Draws the limits of accounts. In one of five worlds, there are some.
    private mutating func drawQuotas() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.quotas")
        let isLimited = random.chance(0.2)
        let (bytes, clients) = (random.within(500...15_000), random.within(1...3))
        let limitsClients = random.chance(0.5)
        let change = random.fraction() * 0.02
        guard isLimited else { return }
        setting.accounts = AccountLimits(bytes: bytes, clients: limitsClients ? clients : .max)
        rates.changeQuota = change
    }

    /// Draws the faults that come from outside (silent restores, forged pushes, clocks wrong by weeks, lies), each with
    /// its own probability.
    private mutating func drawOutside() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.outside")
        let restore = random.fraction() * 0.01
        if random.chance(0.2) { rates.restoreServerSilently = restore }
        let forge = random.fraction() * 0.04
        if random.chance(0.2) { rates.forgePush = forge }
        let drift = random.fraction() * 0.01
        if random.chance(0.2) { rates.clockDrift = drift }
        let lie = random.fraction() * 0.04
        if random.chance(0.2) { rates.lie = lie }
    }

    /// Draws faults that were added later, each with its own probability, so that the worlds of existing seeds stay the
    /// same except for these faults.
    private mutating func drawLater() {
        var random = SeededRandom(seed: setting.seed, stream: "plan.later")
        let brake = DeleteBrake(records: random.below(20), percent: random.within(5...60))
        if random.chance(0.5) { setting.policy.deleteBrake = brake }
        rates.allowDeletes = random.rate(upTo: 0.05)
        let isMixed = random.chance(0.35)
        for place in 0..<4 where random.chance(0.6) && isMixed && place < setting.devices {
            setting.unflushed.insert(place)
        }
        let sleep = random.rate(upTo: 0.01)
        if random.chance(0.3) { rates.sleepForDays = sleep }
        // The largest burst ranges from two simultaneous operations to the many of an import or a script. Each of these
        // sizes is equally likely.
        let most = [2, 4, 8, 16][random.below(4)]
        if random.chance(0.4) { burst = most }
        let pauses = random.chance(0.4)
        for place in 0..<4 where random.chance(0.6) && pauses && place < setting.devices {
            setting.pausing.insert(place)
        }
        let spaces = random.within(2...WorldSetting.allSpaces.count)
        if random.chance(0.3) { setting.spaceCount = spaces }
        let second = random.rate(upTo: 0.03)
        if random.chance(0.3) { rates.secondServer = second }
        let slow = random.rate(upTo: 0.02)
        if random.chance(0.3) { rates.slowServer = slow }
        let jump = random.rate(upTo: 0.02)
        if random.chance(0.4) { rates.jumpClockOfServer = jump }
        rates.stopDevice = random.rate(upTo: 0.05)
        let reads = random.chance(0.4)
        for place in 0..<4 where random.chance(0.6) && reads && place < setting.devices {
            setting.readers.insert(place)
        }
        let protect = random.rate(upTo: 0.02)
        if random.chance(0.4) { rates.protectDisk = protect }
        let change = random.rate(upTo: 0.02)
        if random.chance(0.4) { rates.changeAccess = change }
    }
}

extension SeededRandom {
    /// Draws a rate that is 0 in half of all cases. Every call draws the same count of numbers.
    mutating func rate(upTo most: Double) -> Double {
        let isOn = chance(0.5)
        let value = fraction() * most
        return isOn ? value : 0
    }
}
