import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// Devices, a server and a network, and everything that can go wrong between them; watched by oracles that share no
/// code with the parts under test.
///
/// A run has three phases. *Safety*: users write and faults strike, as the script says; promises are checked at every
/// step, but for what takes long to look at: files, and devices with long outboxes, have their turn less often. *Heal*: all
/// faults end. *Liveness*: within bounded time everything must have arrived.
public final class World {
    public let script: WorldScript
    public let simulation: Simulation
    let network: SimulatedNetwork
    let server: SimulatedServer
    let devices: [SimulatedDevice]
    let history: History
    let violations: ViolationLog
    let feed: FeedWitness
    let conduct: DeviceConduct
    let lostHistory: LostHistoryWatch
    let messages: MessageWatch
    let journals: JournalWatch
    let brakes: BrakeWatch
    let access: AccessWatch
    let histories: WorldHistories
    let userOracle: UserOracle
    let parts: WorldParts
    let tally = FaultTally()
    let operations = Guarded(Operations())
    private let recording: WorldRecording?
    var report: WorldReport
    private var step = 0
    /// How often the world was looked at.
    var looks = 0
    /// When each device was last looked at whole, by `looks`.
    var lastLooks: [String: Int] = [:]
    /// How much had been written to each device's disk when it was last found right.
    var checked: [String: Int] = [:]
    /// The last backup of the server, with what was known of it then.
    var backup: (image: DiskImage, memory: History.Memory)?
    /// The latest time that its clock showed before it was set.
    var latestServerTime = Simulation.startTime
    /// Whether the server was ever put back to an earlier state.
    var wasRestored = false
    /// The knowledge of the server when it was new.
    var beginning: History.Memory?
    /// The images of disks that someone has kept.
    var images: [String: KeptImage] = [:]
    /// How often each device had lost power when it was last known what that took.
    var powerLosses: [String: Int] = [:]
    /// The devices that are suspended.
    var asleep: Set<String> = []
    /// How far each device had come in each space when it was last looked at.
    var versions: [String: [SpaceID: (version: Version, setbacks: Int)]] = [:]
    /// Where each record of each device stood when it was last looked at.
    var bases: [String: ReplicaHistory] = [:]
    /// Devices that had the earlier build when the world began, or hold the disk of one that had.
    var hadEarlierBuild: Set<String> = []
    /// How the files of each device are read; empty when the parts cannot look.
    var replicaFiles: [String: ReplicaFiles] = [:]
    /// How those of the server are; nil when the parts cannot look.
    var authorityFiles: Audit<any AuthorityLook>?
    /// Where the world's own readers of the feeds stand.
    var readers: [SpaceID: Cursor] = [:]

    /// An image of a device's disk, with what was known of the device then.
    struct KeptImage {
        let disk: DiskImage
        let debts: History.Debts
        let told: UserOracle.Image
        let owner: Principal
        let build: WorldBuild
    }

    /// The findings of the users' tasks.
    struct Operations: Sendable {
        var done = 0
        var refusals: [String: Int] = [:]
        var failure: (any Error)?
    }

    /// - Parameters:
    ///   - traceCapacity: how many of the trace's last lines are kept in words.
    ///   - recording: is told of everything that happens, for a report; the run is the same with and without it.
    public init(
        _ script: WorldScript, parts: WorldParts, traceCapacity: Int = 512, recording: WorldRecording? = nil
    ) {
        self.script = script
        self.parts = parts
        let setting = script.setting
        let simulation = Simulation(
            seed: setting.seed, policy: setting.scheduling, slowProcessor: setting.slowProcessor,
            traceCapacity: traceCapacity, recording: recording)
        self.simulation = simulation
        self.recording = recording
        let violations = ViolationLog()
        self.violations = violations
        let access = AccessWatch(
            principals: (0..<setting.devices).map { Principal(name: Party.device($0).description) },
            spaces: WorldSetting.allSpaces, violations: violations)
        self.access = access
        let history = History(
            catalog: WorldCatalog.catalog, spaces: setting.spaces, access: access, violations: violations)
        self.history = history
        let feed = FeedWitness(violations: violations)
        self.feed = feed
        let histories = WorldHistories(simulation: simulation, history: history, violations: violations)
        self.histories = histories
        userOracle = UserOracle(catalog: WorldCatalog.catalog)
        let conduct = DeviceConduct(mayOvertake: setting.isServerEarlier, violations: violations)
        self.conduct = conduct
        let lostHistory = LostHistoryWatch(violations: violations)
        self.lostHistory = lostHistory
        let network = SimulatedNetwork(
            simulation: simulation, tally: tally, wire: parts.wire(.current), spaces: setting.spaces.count,
            isPunctual: setting.slowProcessor == 0, violations: violations,
            refused: { history.wereRefusedByLiar($0) })
        self.network = network
        let messages = MessageWatch(
            bounds: parts.messageBounds, batch: setting.policy.batch, catalog: WorldCatalog.catalog,
            violations: violations)
        self.messages = messages
        let journals = JournalWatch(limit: parts.bounds?.journalEntries)
        self.journals = journals
        let brakes = BrakeWatch(brake: setting.policy.deleteBrake, violations: violations)
        self.brakes = brakes
        let server = SimulatedServer(
            simulation: simulation, build: setting.isServerEarlier ? .earlier : .current, wire: parts.wire,
            witness: ServerWitnesses(all: [history, feed, conduct, messages, access]), tally: tally,
            settle: { [outcome = parts.outcome, operations] authority, process in
                guard let outcome else { return }
                do {
                    try history.settle { try outcome(authority, $0) }
                } catch {
                    // A process that has died over the push is asked when it is up again.
                    if !process.isDead { operations.withLock { $0.failure = $0.failure ?? error } }
                }
            },
            open: { process, build in try parts.openAuthority(process, build, access.rules, histories) })
        self.server = server
        devices = (0..<setting.devices).map { [tally] place in
            var storage = DeviceStorage()
            storage.durability = setting.unflushed.contains(place) ? .normal : .full
            storage.hasReaders = setting.readers.contains(place)
            storage.build = setting.earlierDevices.contains(place) ? .earlier : .current
            return SimulatedDevice(
                name: Party.device(place).description, simulation: simulation, policy: setting.policy,
                storage: storage, pausesClock: setting.pausing.contains(place),
                mayOvertake: setting.isServerEarlier, witness: DeviceWitnesses(all: [history, conduct]), tally: tally,
                lostHistory: lostHistory, brakes: brakes, journals: journals,
                open: { process, runtime, storage in
                    let store = try parts.openStore(process, runtime, storage)
                    let known = Set(try store.session().spaces.map(\.space))
                    for space in setting.spaces where !known.contains(space) { try store.resetCursor(of: space) }
                    return store
                },
                connect: { name, build, owner, bearer in
                    SimulatedTransport(
                        simulation: simulation, network: network, server: server, wire: parts.wire(build),
                        device: name, owner: owner, bearer: bearer)
                }, wrap: parts.wrapTransport, recorder: parts.recorder)
        }
        authorityFiles = parts.auditAuthority.map { Audit($0) }
        if let audit = parts.auditReplica {
            replicaFiles = Dictionary(uniqueKeysWithValues: devices.map { ($0.name, ReplicaFiles(audit)) })
        }
        hadEarlierBuild = Set(setting.earlierDevices.map { Party.device($0).description })
        report = WorldReport(seed: setting.seed)
        recording?.begin(script, devices.map(\.name))
    }

    /// The world of a plan.
    public convenience init(
        _ plan: WorldPlan, parts: WorldParts, traceCapacity: Int = 512, recording: WorldRecording? = nil
    ) {
        self.init(plan.script, parts: parts, traceCapacity: traceCapacity, recording: recording)
    }

    /// Runs all three phases.
    ///
    /// - Throws: `WorldFailure`, whose cause is a `Violation`, a `SimulationFailure`, or an error that no honest part
    ///   throws.
    public func run() throws(WorldFailure) -> WorldReport {
        do {
            try begin()
            for moment in script.moments {
                step += 1
                try live(moment)
            }
            try heal()
            try comeToRest()
            try checkEnd()
            record("everything is in step")
            recording?.close()
            try end()
            recording?.add(report)
            return report
        } catch {
            recording?.fail("\(error)", at: simulation.now)
            record("found in step \(step)")
            let lines = simulation.trace.lines.suffix(SimulationLimits.printedTraceLines)
            tearDown()
            throw WorldFailure(script: script, step: step, cause: error, lastLines: Array(lines))
        }
    }

    private func record(_ step: String) {
        recording?.stepEnded(step, simulation, server, devices)
    }

    // MARK: Safety

    private func begin() throws {
        for planned in script.planned { disk(of: planned.party)?.plan(planned.fault) }
        try startServer()
        history.epoch = try server.disk.withoutFaults {
            if !server.isUp { try server.start() }
            return try server.ask { authority, now in
                try authority.hello(for: AccessWatch.reader, now: now).epoch
            }
        }
        beginning = history.memory
        for device in devices { try startDevice(device) }
        network.conditions = script.setting.network
        record("start")
    }

    private func live(_ moment: WorldScript.Moment) throws {
        for happening in moment.happenings { try happen(happening) }
        if moment.pause >= SimulationLimits.day {
            for name in asleep { tally.count(.deviceSleptForDays, network.phases(of: name)) }
        }
        try simulation.advance(by: moment.pause)
        for device in devices { device.endIfDead() }
        try check()
        record("step \(step)")
    }

    // MARK: Heal, and liveness

    private func heal() throws {
        simulation.note("healed", by: "world", as: .phase)
        try simulation.settle()
        network.conditions = .calm
        network.repairAll()
        server.disk.clearPlans()
        server.disk.release()
        server.delay = nil
        if server.instanceCount > 1 { server.stopOldest() }
        try upgradeServer()
        if !server.isUp { try server.start() }
        try settle()
        for device in devices {
            device.disk.clearPlans()
            // Nobody tells it that its token is good again: it finds out by itself.
            free(device)
            network.watch.hasReason(toTryAgain: device.name)
            wake(device)
            giveLink(to: device)
            device.endIfDead()
            try upgrade(device)
            if device.needsStart { try startDevice(device) }
        }
        record("healed")
    }

    /// Twice the longest pause that a server can ask for. Devices keep it over restarts by their wall clocks, which may go back
    /// meanwhile.
    private let patience = Duration.seconds(2 * 3_600)

    private func comeToRest() throws {
        let start = simulation.now
        while true {
            try simulation.advance(by: .seconds(1))
            try check()
            record("coming to rest")
            if devices.allSatisfy({ $0.status?.isInSync == true }), try isShownToAll() { break }
            for device in devices { device.allowDeletes() }
            if let device = devices.first(where: { $0.ending != nil }) {
                throw Violation(.I18, "\(device.name) has stopped: \(device.ending ?? "")")
            }
            guard simulation.now - start < patience else {
                try checkRefusalsAreHeeded()
                let states = devices.map { "\($0.name): \($0.status.map { "\($0)" } ?? "down")" }
                throw Violation(
                    .I18, "not at rest \(patience) after the last fault: \(states.joined(separator: "; "))")
            }
        }
        report.timeToRest = simulation.now - start
        // A restore that no device could prove has lost nothing that a device had seen. From here on everybody is compared.
        if history.epoch == WorldHistories.inDoubt {
            history.epoch = try epochOfServer()
            checked = [:]
            try check()
        }
    }

    /// The history that the server follows, as it says.
    func epochOfServer() throws -> Epoch? {
        try server.disk.withoutFaults {
            try server.ask { authority, now in try authority.hello(for: AccessWatch.reader, now: now).epoch }
        }
    }

    /// Whether every device has reached the newest version that the server has.
    private func isShownToAll() throws -> Bool {
        // Asked of the server: of a commit whose sender was rolled back before it heard the answer, the history may not
        // know.
        guard let heads = try headsOfServer(), let epoch = try epochOfServer() else { return false }
        for device in devices {
            guard let session = try device.store?.session(), session.epoch == epoch else { return false }
            let reached = Dictionary(uniqueKeysWithValues: session.spaces.map { ($0.space, $0) })
            let isShown = heads.allSatisfy { space, head in
                guard let stored = reached[space] else { return false }
                let may = access.has(device.owner, accessTo: space)
                return may == stored.hasAccess && (!may || stored.version >= head)
            }
            guard isShown else { return false }
        }
        return true
    }

    /// A device that has had all the time to hear of it knows that it may not read a space (I21).
    private func checkRefusalsAreHeeded() throws {
        for device in devices {
            for stored in try device.store?.session().spaces ?? [] {
                guard stored.hasAccess, !access.has(device.owner, accessTo: stored.space) else { continue }
                throw Violation(
                    .I21, "\(device.name) may not read \(stored.space), and keeps it \(patience) after the last fault")
            }
        }
    }

    // MARK: The end

    private func end() throws {
        let found = operations.withLock { $0 }
        report.operations = found.done
        report.refusals = found.refusals
        report.coverage = tally.coverage
        report.commits = script.setting.spaces.reduce(0) { $0 + Int(history.head(of: $1).rawValue) }
        report.duration = simulation.now
        for device in devices { device.kill() }
        server.stop()
        try simulation.finish()
        var hash = StableHash()
        hash.combine(simulation.trace.hash)
        for disk in devices.map(\.disk) + [server.disk] {
            hash.combine(disk.traceHash)
            report.diskOperations += disk.operationCount
        }
        report.hash = hash.value
        report.jobs = simulation.scheduler.jobCount
    }

    /// After a failure: lets go of everything that can be let go of.
    private func tearDown() {
        for device in devices { device.kill() }
        server.stop()
        do {
            try simulation.finish()
        } catch {
            simulation.note("\(error.kind)", by: "world")
        }
    }
}
