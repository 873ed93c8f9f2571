public import SyncAuthority
import SyncConcurrency
import SyncCore
public import SyncModel

/// The server's machine: its disk, its clock, and the authority's process, which can die and come back; for a while there
/// may be two, between which a balancer divides the requests.
public final class SimulatedServer: Sendable {
    public let disk: SimulatedDisk
    public let wallClock: VirtualWallClock
    private let simulation: Simulation
    private let wire: @Sendable (WorldBuild) -> any SimulatedWire
    public typealias Opening = @Sendable (DiskProcess, WorldBuild) throws -> any AuthorityService

    private let open: Opening
    /// Finds out what became of a push that failed.
    private let settle: @Sendable (any AuthorityService, DiskProcess) -> Void
    private let witness: any ServerWitness
    private let tally: FaultTally
    private let state: Guarded<State>

    private struct State: Sendable {
        /// The oldest first.
        var instances: [Instance] = []
        /// Which of several instances takes a request.
        var balancer: SeededRandom
        var delay: Duration?
        /// Of the processes that start from now on.
        var build: WorldBuild
        /// How many processes have died.
        var deaths = 0

        mutating func choose() -> Instance? {
            instances.count > 1 ? instances[balancer.below(instances.count)] : instances.first
        }
    }

    /// One process of the authority.
    private struct Instance: Sendable {
        let process: DiskProcess
        let authority: any AuthorityService
        let wire: any SimulatedWire
    }

    /// - Parameters:
    ///   - build: of its first processes.
    ///   - wire: the codec of a build.
    ///   - open: makes the authority over the process's disk; called at each start.
    ///   - witness: is told of every push that arrives, and what became of it.
    init(
        simulation: Simulation, build: WorldBuild, wire: @escaping @Sendable (WorldBuild) -> any SimulatedWire,
        witness: any ServerWitness, tally: FaultTally,
        settle: @escaping @Sendable (any AuthorityService, DiskProcess) -> Void, open: @escaping Opening
    ) {
        self.settle = settle
        self.simulation = simulation
        self.wire = wire
        self.witness = witness
        self.tally = tally
        self.open = open
        state = Guarded(State(balancer: simulation.random("instances"), build: build))
        var random = simulation.random("disk.server")
        disk = SimulatedDisk(seed: random.next())
        wallClock = simulation.makeWallClock()
    }

    public var isUp: Bool { instanceCount > 0 }

    /// How many processes serve.
    public var instanceCount: Int { state.withLock { $0.instances.count } }

    /// How long each request waits for its turn; nil when it has none to wait for.
    var delay: Duration? {
        get { state.withLock { $0.delay } }
        set { state.withLock { $0.delay = newValue } }
    }

    /// The build of the processes that start from now on.
    var build: WorldBuild {
        get { state.withLock { $0.build } }
        set { state.withLock { $0.build = newValue } }
    }

    /// How many processes have died. Who waits for a turn while it grows has lost the connection.
    var deaths: Int { state.withLock { $0.deaths } }

    /// Starts the authority's process. Throws what `open` throws; the server is down then.
    public func start() throws {
        stop()
        try add()
        simulation.note("up", by: "server", as: .up)
    }

    /// Starts another process on the same database. Throws what `open` throws; the first one serves on alone then.
    ///
    /// A store may exclude that with a lock, as the one on SQLite does in its files; here it shows that the authority keeps
    /// nothing in its process.
    public func startSecond() throws {
        // The power of the machine may have failed over its start.
        defer { removeDead() }
        try add()
        simulation.note("has two processes", by: "server", as: .fault)
    }

    private func add() throws {
        let process = disk.makeProcess()
        do {
            let build = build
            let authority = try tally.watch(.serverOpening, on: disk) { try open(process, build) }
            let instance = Instance(process: process, authority: authority, wire: wire(build))
            state.withLock { $0.instances.append(instance) }
        } catch {
            process.kill()
            throw error
        }
    }

    /// Ends all processes as SIGKILL does.
    public func stop() {
        state.withLock { $0.instances }.forEach { $0.process.kill() }
        removeDead()
    }

    /// Ends the process that has served for the longest time, as SIGKILL does.
    func stopOldest() {
        process?.kill()
        removeDead()
    }

    /// Takes away the processes that are dead.
    private func removeDead() {
        let (dead, left) = state.withLock { state in
            let dead = state.instances.filter(\.process.isDead)
            state.instances.removeAll(where: \.process.isDead)
            state.deaths += dead.count
            return (dead, state.instances.first)
        }
        guard !dead.isEmpty else { return }
        for instance in dead { instance.authority.commits.finish() }
        guard let left else { return simulation.note("killed", by: "server", as: .down) }
        simulation.note("one of its processes is killed", by: "server", as: .fault)
        // While it is still known what the dead one has done: a later push to the other may acknowledge it.
        disk.withoutFaults { settle(left.authority, left.process) }
    }

    public func losePower(seed: UInt64) {
        simulation.mark("loses power", by: "server", as: .fault)
        disk.losePower(seed: seed)
        stop()
    }

    /// The process that has served for the longest time; nil when none does.
    var process: DiskProcess? { state.withLock { $0.instances.first?.process } }

    /// The feed of commits of a process: it tells of its own alone. Nil when there is none.
    var commits: Broadcast<SpaceHeads>? { state.withLock { $0.choose() }?.authority.commits }

    /// Asks the authority itself, past the network; nil when it is down.
    public func ask<Answer>(_ body: (any AuthorityService, WallTime) throws -> Answer) rethrows -> Answer? {
        guard let oldest = state.withLock({ $0.instances.first }) else { return nil }
        return try body(oldest.authority, wallClock.now)
    }

    /// Returns the contents of the server's disk, as a copy of it shows.
    func holdings() -> Holdings {
        var holdings = Holdings(isUp: isUp)
        // One that runs without a file keeps what it holds elsewhere.
        guard isUp || !disk.fileNames.isEmpty else {
            holdings.add("disk", "empty")
            return holdings
        }
        let copy = SimulatedDisk(seed: 0)
        copy.restore(disk.image())
        let process = copy.makeProcess()
        defer { process.kill() }
        do {
            try holdings.read(try open(process, build), now: wallClock.now)
        } catch {
            holdings.add("not readable", "\(error)")
        }
        return holdings
    }

    /// A request arrives. Nil: there is nobody, or the process has died over it.
    func receive(_ bytes: [UInt8], from device: String, as caller: Caller) -> [UInt8]? {
        guard let instance = state.withLock({ $0.choose() }) else { return nil }
        let call = try? instance.wire.decodeCall(bytes)
        let phase: OperationPhase = if case .push? = call { .serverCommitting } else { .serverReading }
        let answer = tally.watch(phase, on: disk) {
            self.answer(call, of: bytes.count, instance, device: device, caller)
        }
        removeDead()
        if instance.process.isDead { return nil }
        do {
            return try instance.wire.encode(answer)
        } catch {
            simulation.note("an answer cannot be written: \(error)", by: "server")
            return nil
        }
    }

    private func answer(
        _ call: ServerCall?, of size: Int, _ instance: Instance, device: String, _ caller: Caller
    ) -> ServerAnswer {
        let authority = instance.authority
        let principal = caller.bearer
        guard let call else {
            simulation.note("refused what is no call", by: "server")
            return .failed(TransportFailure(.refused, "this is no call"))
        }
        let now = wallClock.now
        do throws(AuthorityFailure) {
            switch call {
            case .hello: return .hello(try authority.hello(for: principal, now: now))
            case .pull(let request):
                let reply = try authority.pull(request, by: principal, now: now)
                witness.pullAnswered(request, reply, to: device, as: principal)
                if case .page = reply { witness.served(caller, on: device) }
                simulation.note("shows \(device) \(reply.word)", by: "server", detail: reply.detail)
                return .pull(reply)
            case .fetch(let request):
                return .fetch(try authority.fetch(request, by: principal, now: now), of: request.collection)
            case .push(let request):
                witness.pushArrived(request, of: size, from: caller.owner.name, now: now)
                let reply: PushReply
                do throws(AuthorityFailure) {
                    reply = try authority.push(request, by: principal, now: now)
                } catch {
                    witness.pushFailed(request, error)
                    // While it is still known: a later push may acknowledge what this one has done.
                    disk.withoutFaults { settle(authority, instance.process) }
                    throw error
                }
                witness.pushAnswered(request, reply, now: now)
                if case .answered = reply { witness.served(caller, on: device) }
                simulation.note(
                    "answers \(device): \(reply.word)", by: "server",
                    as: simulation.recording.map { reply.kind(to: request, $0) } ?? .note,
                    detail: reply.detail)
                return .push(reply)
            }
        } catch {
            simulation.note("failed \(call.word) of \(device): \(error.code.rawValue)", by: "server")
            return .failed(TransportFailure(error))
        }
    }
}

/// Sees what the server is asked and what it answers, before the network gets hold of it.
protocol ServerWitness: Sendable {
    /// - Parameters:
    ///   - bytes: how long its body was.
    ///   - device: whom the server takes the sender for: a device, or one of which it is a copy.
    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime)
    func pushAnswered(_ request: PushRequest, _ reply: PushReply, now: WallTime)
    /// The authority threw: what was asked may have been done, in part or wholly.
    func pushFailed(_ request: PushRequest, _ failure: AuthorityFailure)
    /// - Parameter principal: whose token came with it.
    func pullAnswered(_ request: PullRequest, _ reply: PullReply, to device: String, as principal: Principal)
    /// The server has taken transactions from a caller, or has shown it a page.
    func served(_ caller: Caller, on device: String)
}

/// On whose behalf a request is made, and whose token comes with it: not always the same, where users change.
struct Caller: Hashable, Sendable {
    /// To whom the database belongs.
    let owner: Principal
    let bearer: Principal
}

extension TransportFailure {
    /// As a client is told over HTTP.
    fileprivate init(_ failure: AuthorityFailure) {
        let code: TransportFailure.Code =
            switch failure.code {
            case .otherAccount: .otherAccount
            case .malformed: .refused
            case .tooLarge: .tooLarge
            case .unavailable: .serverFailed
            }
        self.init(code, failure.message, retryAfter: failure.retryAfter, isDefinite: true)
    }
}

extension PushReply {
    fileprivate var word: String {
        switch self {
        case .answered(let results, _, _):
            results.map { "\($0.number) \($0.outcome.word)" }.joined(separator: ", ")
        case .refused(.gap(let expected)): "gap, expected \(expected)"
        case .refused(.identityConflict(let number)): "identity conflict at \(number)"
        case .refused(.epochChanged): "epoch changed"
        }
    }
}

extension PullReply {
    fileprivate var word: String {
        switch self {
        case .mustReset(let reason): "must reset: \(reason.rawValue)"
        case .noAccess: "no access"
        case .page(let page):
            switch page.content {
            case .snapshot(let rows, _, let isLast):
                "\(rows.reduce(0) { $0 + $1.records.count }) rows at \(page.version)\(isLast ? ", the last" : "")"
            case .commits(let commits): "\(commits.count) commits to \(page.version)"
            }
        }
    }
}
