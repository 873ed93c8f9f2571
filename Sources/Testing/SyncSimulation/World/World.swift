import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// A simulated deployment of devices, a server, and a network, with all their faults.
///
/// Oracles that share no code with the parts under test watch it. A run has three phases. *Safety*: users write and
/// faults happen as the script says, and the oracles check the invariants after every step. Slow checks, of files and
/// of long outboxes, run less often. *Heal*: all faults end. *Liveness*: everything must arrive within bounded time,
/// and again after the users have restored everything that the server has lost.
public final class World {
    public let script: WorldScript
    public let simulation: Simulation
    let network: SimulatedNetwork
    let server: SimulatedServer
    let devices: [SimulatedDevice]
    let history: History
    let violations: ViolationLog
    let feed: FeedOracle
    let deviceOracle: DeviceOracle
    let lostHistory: LostHistoryOracle
    let messages: MessageOracle
    let journals: JournalOracle
    let statuses = StatusOracle()
    let brakes: BrakeOracle
    let access: AccessOracle
    let histories: WorldHistories
    let userOracle: UserOracle
    let parts: WorldParts
    let tally = FaultTally()
    let operations = Guarded(Operations())
    /// The forms that the users of the devices have opened.
    let forms = Guarded([String: RecordForm]())
    /// The records that the users of the devices have created in place of rejected ones.
    let corrections = Guarded([String: CorrectedRecords]())
    private let recording: WorldRecording?
    var report: WorldReport
    private var step = 0
    /// The number of checks so far.
    var checkCount = 0
    /// The check, counted by `checkCount`, at which each device was last checked in full.
    var lastReads: [String: Int] = [:]
    /// The check, counted by `checkCount`, at which the file of each device was last read.
    var lastFileReads: [String: Int] = [:]
    /// The number of changes of each device's disk when its store was last found correct.
    var checked: [String: Int] = [:]
    /// The number of changes of each device's disk, and of the server's, when its file was last found correct.
    var checkedFiles: [String: Int] = [:]
    /// The last backup of the server, with the oracles' knowledge of it at that time.
    var backup: (image: DiskImage, memory: History.Memory)?
    /// The latest time that the server's clock showed before it was set back or forward.
    var latestServerTime = Simulation.startTime
    /// Whether the server was ever restored to an earlier state.
    var wasRestored = false
    /// The oracles' knowledge of the server when it was new.
    var beginning: History.Memory?
    /// The kept images of devices' disks.
    var images: [String: KeptImage] = [:]
    /// The number of power losses of each device whose effects are already accounted for.
    var powerLosses: [String: Int] = [:]
    /// The devices that are suspended.
    var asleep: Set<String> = []
    /// Whether the server has removed conflicts that devices may not have fetched.
    var hasTrimmedConflicts = false
    /// The version of each space that each device had at the last check.
    var versions: [String: [SpaceID: (version: Version, setbacks: Int)]] = [:]
    /// The versions of each device's records at the last check.
    var bases: [String: ReplicaHistory] = [:]
    /// The devices that started with the earlier build, or hold a copy of the disk of one that did.
    var hadEarlierBuild: Set<String> = []
    /// The readers of each device's files; empty when the parts do not provide them.
    var replicaFiles: [String: ReplicaFiles] = [:]
    /// The reader of the server's files; nil when the parts do not provide it.
    var authorityFiles: Audit<any AuthorityInspector>?
    /// The cursors of the world's own readers of the change feeds.
    var readers: [SpaceID: Cursor] = [:]

    /// A copy of a device's disk, with what was known of the device at that time.
    struct KeptImage {
        let disk: DiskImage
        let expectations: History.Expectations
        let told: UserOracle.Image
        let owner: Principal
        let build: WorldBuild
    }

    /// The results of the users' operations.
    struct Operations: Sendable {
        var done = 0
        var refusals: [String: Int] = [:]
        var failure: (any Error)?
    }

    /// - Parameters:
    ///   - traceCapacity: the number of the trace's last lines to keep as text.
    ///   - recording: records all events for a report. It does not affect the run.
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
        let access = AccessOracle(
            principals: (0..<setting.devices).map { Principal(name: Party.device($0).description) },
            spaces: WorldSetting.allSpaces, violations: violations)
        self.access = access
        let history = History(
            catalog: WorldCatalog.catalog, spaces: setting.spaces, hasRule: setting.hasRule, limits: setting.limits,
            accounts: setting.accounts, access: access,
            violations: violations)
        self.history = history
        let feed = FeedOracle(violations: violations)
        self.feed = feed
        let histories = WorldHistories(simulation: simulation, history: history, violations: violations)
        self.histories = histories
        let userOracle = UserOracle(catalog: WorldCatalog.catalog, now: { simulation.now })
        self.userOracle = userOracle
        let deviceOracle = DeviceOracle(mayOvertake: setting.isServerEarlier, violations: violations)
        self.deviceOracle = deviceOracle
        let lostHistory = LostHistoryOracle(history: history, users: userOracle, violations: violations)
        self.lostHistory = lostHistory
        let network = SimulatedNetwork(
            simulation: simulation, tally: tally, wire: parts.wire(.current), spaces: setting.spaces.count,
            isPunctual: setting.slowProcessor == 0, violations: violations,
            refused: { history.wereRefusedByLiar($0) })
        self.network = network
        let messages = MessageOracle(
            bounds: parts.messageBounds.map { setting.limits?.limiting($0) ?? $0 },
            batch: setting.limits?.limiting(setting.policy.batch) ?? setting.policy.batch,
            catalog: WorldCatalog.catalog,
            violations: violations)
        self.messages = messages
        let journals = JournalOracle(limit: parts.bounds?.journalEntries)
        self.journals = journals
        let brakes = BrakeOracle(brake: setting.policy.deleteBrake, violations: violations)
        self.brakes = brakes
        let server = SimulatedServer(
            simulation: simulation, setting: setting.server, hasRule: setting.hasRule,
            diskSeed: script.diskSeed(of: .server), wire: parts.wire,
            observer: ServerObservers(all: [history, feed, deviceOracle, messages, access]), tally: tally,
            settle: { [outcome = parts.outcome, operations] authority, process in
                guard let outcome else { return }
                do {
                    try history.settle { try outcome(authority, $0) }
                } catch {
                    // If the process died during the push, the outcome is determined after its restart.
                    if !process.isDead { operations.withLock { $0.failure = $0.failure ?? error } }
                }
            },
            open: { process, setting in try parts.openAuthority(process, setting, access.rules, histories) })
        self.server = server
        devices = (0..<setting.devices).map { [tally, statuses] place in
            let name = Party.device(place).description
            var storage = DeviceStorage()
            storage.durability = setting.unflushed.contains(place) ? .normal : .full
            storage.hasReaders = setting.readers.contains(place)
            storage.hasSmallJournal = setting.hasSmallJournals
            storage.build = setting.earlierDevices.contains(place) ? .earlier : .current
            return SimulatedDevice(
                name: name, simulation: simulation, policy: setting.policy,
                storage: storage, diskSeed: script.diskSeed(of: .device(place)),
                pausesClock: setting.pausing.contains(place), mayOvertake: setting.isServerEarlier,
                observer: DeviceObservers(all: [history, deviceOracle]), tally: tally,
                lostHistory: lostHistory, brakes: brakes, journals: journals, statuses: statuses,
                open: { process, runtime, storage in
                    let store = try parts.openStore(process, runtime, storage)
                    let known = Set(try store.session().spaces.map(\.space))
                    for space in setting.spaces where !known.contains(space) { try store.follow(space) }
                    return store
                },
                connect: { process, build, owner, bearer in
                    SimulatedTransport(
                        simulation: simulation, network: network, server: server, wire: parts.wire(build),
                        device: name, process: process, owner: owner, bearer: bearer)
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

    /// Creates the world of a plan.
    public convenience init(
        _ plan: WorldPlan, parts: WorldParts, traceCapacity: Int = 512, recording: WorldRecording? = nil
    ) {
        self.init(plan.script, parts: parts, traceCapacity: traceCapacity, recording: recording)
    }

    /// Runs all three phases.
    ///
    /// - Throws: `WorldError`, whose cause is a `Violation`, a `SimulationError`, or another error that correct
    ///   parts never throw.
    public func run() throws(WorldError) -> WorldReport {
        do {
            try begin()
            for moment in script.moments {
                step += 1
                try live(moment)
            }
            try endFaults()
            report.timeToRest = try comeToRest()
            try checkEnd()
            record("everything is in sync")
            if try restoreLost() {
                _ = try comeToRest()
                try checkEnd()
                record("everything that was lost is restored")
            }
            recording?.close()
            try end()
            recording?.add(report)
            return report
        } catch {
            recording?.fail("\(error)", at: simulation.now)
            record("found in step \(step)")
            let lines = simulation.trace.lines.suffix(SimulationLimits.printedTraceLines)
            tearDown()
            throw WorldError(script: script, step: step, cause: error, lastLines: Array(lines))
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
                try authority.hello(for: AccessOracle.reader, now: now).epoch
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

    private func endFaults() throws {
        simulation.note("healed", by: "world", as: .phase)
        try simulation.settle()
        network.conditions = .calm
        network.repairAll()
        server.disk.clearPlans()
        server.disk.release()
        server.delay = nil
        if server.instanceCount > 1 { server.stopOldest() }
        try upgradeServer()
        if server.setting.accounts != .unlimited { try changeQuota(.unlimited) }
        if !server.isUp { try server.start() }
        try settle()
        for device in devices {
            device.disk.clearPlans()
            // The device is not notified that its token is valid again, and must find out without help.
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

    /// The longest time to rest after the last fault. It allows for backoffs and polls, and for the longest pause that
    /// a device has a reason for.
    private var timeout: Duration {
        var pause = network.watch.longestPause
        for case .device(_, .receivesFalseResponses) in script.moments.flatMap(\.happenings) {
            // A device pauses by itself when responses contradict its state again and again.
            pause = max(pause, PullMachine.longestRestAfterContradictions)
        }
        return pause * 2 + .seconds(1_200)
    }

    /// - Returns: the time that it took.
    private func comeToRest() throws -> Duration {
        let start = simulation.now
        while true {
            try simulation.advance(by: .seconds(1))
            try check()
            record("coming to rest")
            if devices.allSatisfy(isAtRest), try isShownToAll() { break }
            for device in devices {
                device.allowDeletes()
                try makeRoomInJournal(of: device)
            }
            if let device = devices.first(where: { $0.engineEnd != nil }) {
                throw Violation(.I18, "\(device.name) has stopped: \(device.engineEnd ?? "")")
            }
            guard simulation.now - start < timeout else {
                try checkRefusalsAreHeeded()
                let states = devices.map { "\($0.name): \($0.status.map { "\($0)" } ?? "down")" }
                throw Violation(
                    .I18, "not at rest \(timeout) after the last fault: \(states.joined(separator: "; "))")
            }
        }
        let time = simulation.now - start
        // A restore that no device could prove has lost nothing that a device had seen. From here on all devices are
        // checked against the server's history.
        if history.epoch == WorldHistories.inDoubt {
            history.epoch = try epochOfServer()
            forgetChecks()
            try check()
        }
        return time
    }

    /// Returns the epoch that the server reports; nil when the server is down.
    func epochOfServer() throws -> Epoch? {
        try server.disk.withoutFaults {
            try server.ask { authority, now in try authority.hello(for: AccessOracle.reader, now: now).epoch }
        }
    }

    /// Returns whether a device says that it is in sync, and no notices wait for room in its journal.
    private func isAtRest(_ device: SimulatedDevice) -> Bool {
        guard let status = device.status else { return false }
        return status.isInSync && !status.spaces.contains(where: \.noticesWait)
    }

    /// Returns whether every device has reached the server's newest version of each space.
    private func isShownToAll() throws -> Bool {
        // The heads come from the server: the oracle may not know of a commit whose sender was rolled back before the
        // response arrived.
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

    /// Checks that every device knows that it has lost access to a space, after ample time to learn of it (I21).
    private func checkRefusalsAreHeeded() throws {
        for device in devices {
            for stored in try device.store?.session().spaces ?? [] {
                guard stored.hasAccess, !access.has(device.owner, accessTo: stored.space) else { continue }
                throw Violation(
                    .I21, "\(device.name) may not read \(stored.space), and keeps it \(timeout) after the last fault")
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

    /// Releases everything that can be released after a failure.
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
