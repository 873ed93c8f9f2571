import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// Devices, a server and a network, and everything that can go wrong between them; watched by oracles that share no
/// code with the parts under test.
///
/// A run has three phases. *Safety*: the users write, and whatever the plan knows of faults happens; promises are
/// checked at every step. *Heal*: all faults end. *Liveness*: within bounded time everything must have arrived.
public final class World {
    public let plan: WorldPlan
    public let simulation: Simulation
    private let network: SimulatedNetwork
    private let server: SimulatedServer
    private let devices: [SimulatedDevice]
    private let history: History
    private var workload: Workload
    private var chance: SeededRandom
    private var report: WorldReport
    private var step = 0
    /// How much had been written to each device's disk when it was last found right.
    private var checked: [String: Int] = [:]
    private let upkeep: (@Sendable (WorldParts.Upkeep, any AuthorityService) throws -> Void)?
    /// The last backup of the server, with what was known of it then.
    private var backup: (image: DiskImage, memory: History.Memory)?
    private var epochs = 0
    /// The images of disks that someone has kept.
    private var images: [String: (image: DiskImage, debts: History.Debts)] = [:]
    private var versions: [String: (version: Version, resets: Int)] = [:]
    private let deeds = Guarded(Deeds())

    /// What the users' tasks have found.
    private struct Deeds: Sendable {
        var done = 0
        var refusals: [String: Int] = [:]
        var failure: (any Error)?
    }

    private static let space = SpaceID.default

    /// - Parameter traceCapacity: how many of the trace's last lines are kept in words.
    public init(_ plan: WorldPlan, parts: WorldParts, traceCapacity: Int = 512) {
        self.plan = plan
        let simulation = Simulation(
            seed: plan.seed, policy: plan.scheduling, slowProcessor: plan.slowProcessor,
            traceCapacity: traceCapacity)
        self.simulation = simulation
        let history = History(catalog: WorldCatalog.catalog, spaces: [Self.space])
        self.history = history
        let network = SimulatedNetwork(simulation: simulation)
        self.network = network
        let server = SimulatedServer(
            simulation: simulation, wire: parts.wire, witness: history, open: parts.openAuthority)
        self.server = server
        devices = (0..<plan.devices).map { index in
            SimulatedDevice(
                name: "device\(index)", simulation: simulation, policy: plan.policy, witness: history,
                open: parts.openStore,
                connect: { name in
                    SimulatedTransport(
                        simulation: simulation, network: network, server: server, wire: parts.wire, device: name,
                        principal: name)
                })
        }
        upkeep = parts.upkeep
        workload = Workload(simulation: simulation)
        chance = simulation.random("faults")
        report = WorldReport(seed: plan.seed)
    }

    /// Runs all three phases.
    ///
    /// - Throws: `WorldFailure`, whose cause is a `Violation`, a `SimulationFailure`, or an error that no honest part
    ///   throws.
    public func run() throws(WorldFailure) -> WorldReport {
        do {
            try begin()
            for number in 1...max(plan.steps, 1) {
                step = number
                try live()
            }
            try heal()
            try comeToRest()
            try checkEnd()
            try end()
            return report
        } catch {
            let lines = simulation.trace.lines.suffix(SimulationLimits.printedTraceLines)
            tearDown()
            throw WorldFailure(plan: plan, step: step, cause: error, lastLines: Array(lines))
        }
    }

    // MARK: Safety

    private func begin() throws {
        for planned in plan.planned {
            switch planned.party {
            case .server: server.disk.plan(planned.fault)
            case .device(let index): devices[index].disk.plan(planned.fault)
            }
        }
        try startServer()
        history.epoch = try server.disk.withoutFaults {
            if !server.isUp { try server.start() }
            return try server.ask { authority, now in
                try authority.hello(for: Principal(name: "operator"), now: now).epoch
            }
        }
        for device in devices { try startDevice(device) }
        network.conditions = plan.network
    }

    private func live() throws {
        try strike()
        if let device = chance.pick(devices) { act(on: device) }
        try simulation.advance(by: chance.duration(in: plan.pause))
        for device in devices { device.buryIfDead() }
        try check()
    }

    /// Lets a user do something, as a job among all that are ready.
    private func act(on device: SimulatedDevice) {
        guard let store = device.store else { return }
        let deed: Workload.Deed?
        do {
            deed = try workload.next(store, now: device.wallClock.now)
        } catch {
            note(error, on: device)
            return
        }
        guard let deed else { return }
        simulation.start("user of \(device.name)") { [history, deeds, simulation] in
            let name = device.name
            do {
                try Self.carryOut(deed, on: device, store, history, simulation)
                deeds.withLock { $0.done += 1 }
            } catch let failure as StoreFailure {
                simulation.note("refused: \(failure.code.rawValue)", by: name)
                deeds.withLock { $0.refusals[failure.code.rawValue, default: 0] += 1 }
            } catch {
                deeds.withLock { $0.failure = $0.failure ?? error }
            }
        }
    }

    private static func carryOut(
        _ deed: Workload.Deed, on device: SimulatedDevice, _ store: SimulatedDevice.Store, _ history: History,
        _ simulation: Simulation
    ) throws {
        let now = device.wallClock.now
        switch deed {
        case .write(let edits):
            guard let sequence = try store.commit(edits, in: space, now: now) else { return }
            history.committed(sequence, on: device.name)
            simulation.note("commits \(sequence): \(edits.map(\.words).joined(separator: ", "))", by: device.name)
            try checkReadsItsWrites(edits, on: device, store)
        case .cancelNewest:
            guard let newest = try store.outbox(limit: .max).last, case .waiting = newest.state else { return }
            try store.cancel(newest.sequence, now: now)
            let kept = Set(try store.outbox(limit: .max).map(\.sequence))
            simulation.note("cancels \(newest.sequence)", by: device.name)
            guard !kept.contains(newest.sequence) else {
                throw Violation("I1", "\(device.name) still holds \(newest.sequence) after it was cancelled")
            }
        case .resendNewest:
            guard let entry = try store.journal(state: .active, limit: 1).first else { return }
            if let sequence = try store.resend(journal: entry.number, now: now) {
                history.committed(sequence, on: device.name)
                simulation.note("sends \(entry.sequence) again as \(sequence)", by: device.name)
            }
        case .dismissNewest:
            guard let entry = try store.journal(state: .active, limit: 1).first else { return }
            try store.dismiss(journal: entry.number)
            simulation.note("dismisses \(entry.number)", by: device.name)
        }
    }

    private static func checkReadsItsWrites(
        _ edits: [RecordEdit], on device: SimulatedDevice, _ store: SimulatedDevice.Store
    ) throws {
        for edit in edits {
            let found = try store.record(edit.collection, .id(edit.record))
            switch edit {
            case .delete:
                if found != nil { throw Violation("I6", "\(device.name) reads \(edit.words) after it was deleted") }
            case .create(_, _, let patch), .update(_, _, let patch):
                guard let found, let schema = store.catalog[edit.collection] else {
                    throw Violation("I6", "\(device.name) does not read \(edit.words) that it has written")
                }
                for (field, value) in patch {
                    guard let position = schema.position(of: field), found.values[position] == value else {
                        throw Violation("I6", "\(device.name) reads another \(field) than it wrote to \(edit.words)")
                    }
                }
            }
        }
    }

    /// A store may fail where its disk does; anything else is a finding.
    private func note(_ error: any Error, on device: SimulatedDevice) {
        guard let failure = error as? StoreFailure else {
            deeds.withLock { $0.failure = $0.failure ?? error }
            return
        }
        deeds.withLock { $0.refusals[failure.code.rawValue, default: 0] += 1 }
    }

    // MARK: Faults

    /// Draws for every kind of fault, whether it is on or not, so that one rate does not shift the others.
    private func strike() throws {
        for device in devices {
            if chance.chance(plan.rates.recover) { try recover(device) }
            if happens(plan.rates.killDevice, "device killed", device.isUp) {
                simulation.start("kill \(device.name)") { device.kill() }
            }
            let seed = chance.next()
            if happens(plan.rates.losePowerOfDevice, "device lost power", device.isUp) {
                simulation.start("power of \(device.name)") { device.losePower(seed: seed) }
            }
            if happens(plan.rates.suspendDevice, "device suspended", device.isUp) { simulation.suspend(device.name) }
            let direction: SimulatedNetwork.Direction = chance.chance(0.5) ? .toServer : .toDevice
            if happens(plan.rates.cutDevice, "device cut off \(direction.rawValue)", true) {
                network.cut(device.name, direction)
            }
            if happens(plan.rates.dropLink, "link down", true) { device.reachability.set(.down("no carrier")) }
            let error = Duration.milliseconds(chance.within(-50_000...50_000))
            if happens(plan.rates.jumpClock, "clock jumped", true) {
                // The server clamps stamps from the future to its time. When it may die over a commit, the oracle cannot
                // know which of its tries that was, so clocks are then only as wrong as is let through.
                let error = plan.serverMayDie ? error : error * 40
                device.wallClock.set(to: Simulation.dawn.advanced(by: simulation.now + error))
            }
            let fault = drawDiskFault()
            if happens(plan.rates.deviceDiskFault, "device disk planned", device.isUp) { device.disk.plan(fault) }
        }
        try travelInTime()
        try keepServer()
        if chance.chance(plan.rates.recover), !server.isUp { try startServer() }
        if happens(plan.rates.killServer, "server killed", server.isUp) {
            simulation.start("kill server") { [server] in server.stop() }
        }
        let seed = chance.next()
        if happens(plan.rates.losePowerOfServer, "server lost power", server.isUp) {
            simulation.start("power of server") { [server] in server.losePower(seed: seed) }
        }
        let fault = drawDiskFault()
        if happens(plan.rates.serverDiskFault, "server disk planned", server.isUp) { server.disk.plan(fault) }
    }

    /// Rolls disks of devices back to what they were.
    private func travelInTime() throws {
        for device in devices {
            let keeps = chance.chance(2 * plan.rates.rollBackDevice)
            if happens(plan.rates.rollBackDevice, "device rolled back", images[device.name] != nil) {
                guard let (image, debts) = images[device.name] else { continue }
                device.kill()
                device.disk.restore(image)
                history.rollBack(device.name, to: debts)
                versions[device.name] = nil
                checked[device.name] = nil
                simulation.note("rolled back", by: device.name)
                try startDevice(device)
            }
            if keeps, device.isUp {
                images[device.name] = (device.disk.image(), history.debts(of: device.name))
                simulation.note("kept an image", by: device.name)
            }
        }
    }

    /// What operators do to the server: compaction, backups, and the restoring of backups.
    private func keepServer() throws {
        let kept = chance.below(30)
        if happens(plan.rates.compactServer, "server compacted", server.isUp && upkeep != nil) {
            simulation.note("keeps \(kept) commits", by: "server")
            try doUpkeep(.compact(keeping: kept))
        }
        let makesBackup = chance.chance(2 * plan.rates.restoreServer)
        if happens(plan.rates.restoreServer, "server restored", backup != nil && upkeep != nil) {
            guard let (image, memory) = backup else { return }
            server.stop()
            server.disk.restore(image)
            server.disk.clearPlans()
            epochs += 1
            history.rollBack(to: memory)
            checked = [:]
            try server.start()
            try doUpkeep(.startEpoch(Epoch(rawValue: "restored-\(epochs)")))
            history.epoch = Epoch(rawValue: "restored-\(epochs)")
            simulation.note("restored from a backup", by: "server")
        }
        if makesBackup, server.isUp, upkeep != nil {
            backup = (server.disk.image(), history.memory)
            simulation.note("backed up", by: "server")
        }
    }

    private func doUpkeep(_ task: WorldParts.Upkeep) throws {
        guard let upkeep else { return }
        try server.disk.withoutFaults {
            _ = try server.ask { authority, _ in try upkeep(task, authority) }
        }
    }

    private func happens(_ rate: Double, _ name: String, _ isPossible: Bool) -> Bool {
        guard chance.chance(rate), isPossible else { return false }
        report.faults[name, default: 0] += 1
        return true
    }

    private func drawDiskFault() -> DiskFault {
        let skip = chance.below(60)
        let times = chance.chance(0.8) ? 1 : chance.within(2...30)
        return switch chance.below(6) {
        case 0: DiskFault(.changes, skip: skip, effect: .losePower)
        case 1: DiskFault(.changes, skip: skip, effect: .kill)
        case 2: DiskFault(.write, skip: skip, times: times, effect: .fail(.full))
        case 3: DiskFault([.lock, .sharedMemoryLock], skip: skip, times: times, effect: .fail(.busy))
        case 4: DiskFault([.sync, .truncate, .delete], skip: skip / 4, times: times, effect: .fail(.inputOutput))
        default: DiskFault([.read, .write], skip: skip, times: times, effect: .fail(.inputOutput))
        }
    }

    private func recover(_ device: SimulatedDevice) throws {
        simulation.resume(device.name)
        network.mend(device.name)
        device.reachability.set(.up)
        if !device.isUp || device.ending != nil { try startDevice(device) }
    }

    /// A start may fail where the disk does, and only there.
    private func startDevice(_ device: SimulatedDevice) throws {
        do {
            try device.start()
        } catch let failure as StoreFailure {
            try checkHonest(failure, where: device.name)
        }
        device.buryIfDead()
    }

    private func startServer() throws {
        do {
            try server.start()
        } catch {
            simulation.note("does not start: \(error)", by: "server")
        }
    }

    private func checkHonest(_ failure: StoreFailure, where name: String) throws {
        switch failure.code {
        case .inputOutput, .diskFull, .busy, .readOnly, .missingFile: return
        default: throw Violation("I25", "\(name) does not open: \(failure)")
        }
    }

    // MARK: Checks

    private func check() throws {
        let failure = deeds.withLock { deeds in
            defer { deeds.failure = nil }
            return deeds.failure
        }
        if let failure { throw failure }
        if let violation = history.takeViolations().first { throw violation }
        for device in devices {
            guard let store = device.store else { continue }
            // What has not been written to since it was found right is still right.
            let changes = device.disk.count(of: .changes)
            guard checked[device.name] != changes else { continue }
            do {
                try device.disk.withoutFaults {
                    try checkVersions(of: device, store)
                    let isCertain = try history.check(device.name, store)
                    checked[device.name] = isCertain ? changes : nil
                }
            } catch let failure as StoreFailure {
                throw Violation("I25", "\(device.name) cannot be read although its disk works: \(failure)")
            }
        }
    }

    /// A device's version of a space only grows, unless it was told to begin again (I7, I8).
    private func checkVersions(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws {
        let resets = device.resetCount
        for stored in try store.session().spaces where stored.space == Self.space {
            if let last = versions[device.name], last.resets == resets, stored.version < last.version, stored.isComplete
            {
                throw Violation("I8", "\(device.name) went back from version \(last.version) to \(stored.version)")
            }
            versions[device.name] = (stored.version, resets)
        }
    }

    // MARK: Heal, and liveness

    private func heal() throws {
        simulation.note("healed", by: "world")
        try simulation.settle()
        network.conditions = .calm
        network.mendAll()
        server.disk.clearPlans()
        if !server.isUp { try server.start() }
        for device in devices {
            device.disk.clearPlans()
            simulation.resume(device.name)
            device.reachability.set(.up)
            device.buryIfDead()
            if !device.isUp || device.ending != nil { try device.start() }
        }
    }

    /// Longer than the longest wait that the policy knows, twice: a busy server may have asked for patience.
    private static let patience = Duration.seconds(1_200)

    private func comeToRest() throws {
        let start = simulation.now
        while true {
            try simulation.advance(by: .seconds(1))
            try check()
            if devices.allSatisfy({ $0.status?.isInSync == true }), try isShownToAll() { break }
            for device in devices { device.allowDeletes(in: Self.space) }
            if let device = devices.first(where: { $0.ending != nil }) {
                throw Violation("I18", "\(device.name) has stopped: \(device.ending ?? "")")
            }
            guard simulation.now - start < Self.patience else {
                let states = devices.map { "\($0.name): \($0.status.map { "\($0)" } ?? "down")" }
                throw Violation(
                    "I18", "not at rest \(Self.patience) after the last fault: \(states.joined(separator: "; "))")
            }
        }
        report.timeToRest = simulation.now - start
    }

    /// Whether every device has reached the newest version that the server has.
    private func isShownToAll() throws -> Bool {
        let head = history.head(of: Self.space)
        for device in devices {
            guard let session = try device.store?.session(), let stored = session.spaces.first, stored.version >= head,
                session.epoch == history.epoch
            else { return false }
        }
        return true
    }

    private func checkEnd() throws {
        let (records, version) = try readServer()
        // Of a commit whose answer was lost nothing is known here until its sender asks again. One that was rolled back
        // asks under another identity, and one whose server was restored may not ask at all.
        let mayHaveForgotten = report.faults["device rolled back"] != nil || report.faults["server restored"] != nil
        if mayHaveForgotten, version > history.head(of: Self.space) {
            report.unaccounted = Int(version.rawValue - history.head(of: Self.space).rawValue)
        } else {
            try history.check(server: records, of: Self.space, at: version)
        }
        try history.checkNothingIsOwed()
        for device in devices {
            guard let store = device.store else { continue }
            let outbox = try store.outbox(limit: .max)
            guard outbox.isEmpty else { throw Violation("I4", "\(device.name) still has \(outbox.count) to send") }
            for schema in WorldCatalog.catalog.models {
                let here = try store.records(matching: RecordQuery(schema.collection)).map(Comparison.init)
                let there = (records[schema.collection] ?? []).map(Comparison.init)
                guard here == there else {
                    throw Violation(
                        "I4",
                        "\(device.name) holds \(here.count) of \(schema.collection), the server \(there.count), and they differ"
                    )
                }
            }
        }
    }

    /// What must be the same on every replica.
    private struct Comparison: Hashable {
        let id: RecordID
        let uid: UID
        let values: [FieldValue]

        init(_ record: Record) {
            id = record.id
            uid = record.uid
            values = record.values
        }
    }

    /// Everything that the server shows of the space, as a fresh client would get it.
    private func readServer() throws -> ([CollectionName: [Record]], Version) {
        var records: [CollectionName: [Record]] = [:]
        var cursor: Cursor?
        for _ in 0..<100_000 {
            let reply = try server.ask { authority, now in
                try authority.pull(
                    PullRequest(space: Self.space, cursor: cursor, limit: 50), by: Principal(name: "device0"), now: now)
            }
            guard case .page(let page)? = reply else {
                throw Violation(
                    "I9", "a fresh client gets no snapshot: \(reply.map { "\($0)" } ?? "the server is down")")
            }
            switch page.content {
            case .snapshot(let rows, _, _):
                for part in rows { records[part.collection, default: []].append(contentsOf: part.records) }
            case .commits(let commits):
                guard commits.isEmpty else { throw Violation("I9", "a quiet server shows commits after its snapshot") }
            }
            cursor = page.cursor
            if !page.hasMore { return (records.mapValues { $0.sorted { $0.id < $1.id } }, page.version) }
        }
        throw Violation("I18", "the server's snapshot does not end")
    }

    // MARK: The end

    private func end() throws {
        let found = deeds.withLock { $0 }
        report.deeds = found.done
        report.refusals = found.refusals
        for (name, count) in network.counts { report.faults[name, default: 0] += count }
        report.faults["disk faults", default: 0] += devices.reduce(server.disk.faultCount) { $0 + $1.disk.faultCount }
        report.commits = Int(history.head(of: Self.space).rawValue)
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

extension RecordEdit {
    fileprivate var words: String {
        switch self {
        case .create(let collection, let id, _): "create \(collection) \(id)"
        case .update(let collection, let id, let patch):
            "update \(collection) \(id) \(patch)"
        case .delete(let collection, let id): "delete \(collection) \(id)"
        }
    }
}
