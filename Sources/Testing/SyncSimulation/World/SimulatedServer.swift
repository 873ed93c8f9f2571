public import SyncAuthority
import SyncConcurrency
import SyncCore
public import SyncModel

/// The server's machine: its disk, its clock, and the authority's process, which can die and restart.
///
/// Two processes may run for a while. A load balancer then divides the requests between them.
public final class SimulatedServer: Sendable {
    public let disk: SimulatedDisk
    public let wallClock: VirtualWallClock
    private let simulation: Simulation
    private let wire: @Sendable (WorldBuild) -> any SimulatedWire
    public typealias Opening = @Sendable (DiskProcess, ServerSetting) throws -> any AuthorityService

    private let open: Opening
    /// Whether the server's application has a rule for writes (`WorldRule`).
    private let hasRule: Bool
    /// Determines the outcome of a push that failed.
    private let settle: @Sendable (any AuthorityService, DiskProcess) -> Void
    private let observer: any ServerObserver
    private let tally: FaultTally
    private let state: Guarded<State>

    private struct State: Sendable {
        /// The running processes, oldest first.
        var instances: [Instance] = []
        /// Chooses the process that handles a request.
        var balancer: SeededRandom
        var delay: Duration?
        /// The program and configuration of the processes that start from now on.
        var setting: ServerSetting
        /// The number of processes that have died.
        var deaths = 0

        mutating func choose() -> Instance? {
            instances.count > 1 ? instances[balancer.below(instances.count)] : instances.first
        }
    }

    /// A process of the authority.
    private struct Instance: Sendable {
        let process: DiskProcess
        let authority: any AuthorityService
        let wire: any SimulatedWire
        /// Maximum length of a request's body, in bytes.
        let bodyBytes: Int
    }

    /// - Parameters:
    ///   - setting: the program and configuration of the first processes.
    ///   - hasRule: whether the server's application has a rule for writes (`WorldRule`).
    ///   - diskSeed: changes the seed of the disk.
    ///   - wire: returns the codec of a build.
    ///   - settle: determines the outcome of a push that failed.
    ///   - open: opens the authority on the process's disk. Called at each start.
    ///   - observer: observes the requests and the responses of the server.
    init(
        simulation: Simulation, setting: ServerSetting, hasRule: Bool, diskSeed: UInt64,
        wire: @escaping @Sendable (WorldBuild) -> any SimulatedWire, observer: any ServerObserver, tally: FaultTally,
        settle: @escaping @Sendable (any AuthorityService, DiskProcess) -> Void, open: @escaping Opening
    ) {
        self.settle = settle
        self.hasRule = hasRule
        self.simulation = simulation
        self.wire = wire
        self.observer = observer
        self.tally = tally
        self.open = open
        state = Guarded(State(balancer: simulation.random("instances"), setting: setting))
        var random = simulation.random("disk.server")
        disk = SimulatedDisk(seed: random.next() ^ diskSeed)
        wallClock = simulation.makeWallClock()
    }

    public var isUp: Bool { instanceCount > 0 }

    /// The number of running processes.
    public var instanceCount: Int { state.withLock { $0.instances.count } }

    /// The time that each request waits before it is handled; nil for no wait.
    var delay: Duration? {
        get { state.withLock { $0.delay } }
        set { state.withLock { $0.delay = newValue } }
    }

    /// The program and configuration of the processes that start from now on.
    var setting: ServerSetting {
        get { state.withLock { $0.setting } }
        set { state.withLock { $0.setting = newValue } }
    }

    /// The number of processes that have died. A request that is waiting while the number grows has lost its
    /// connection.
    var deaths: Int { state.withLock { $0.deaths } }

    /// Starts the authority's process. Throws any error from `open`; the server is then down.
    public func start() throws {
        stop()
        try add()
        simulation.note("up", by: "server", as: .up)
    }

    /// Starts a second process on the same database. Throws any error from `open`; the first process then continues
    /// alone.
    ///
    /// A store may prevent a second process with a lock, as the SQLite store does in its files. Here, the second
    /// process shows that the authority keeps no state in its process.
    public func startSecond() throws {
        // The machine may have lost power during the start.
        defer { removeDead() }
        try add()
        simulation.note("has two processes", by: "server", as: .fault)
    }

    private func add() throws {
        let process = disk.makeProcess()
        do {
            let setting = setting
            let authority = try tally.watch(.serverOpening, on: disk) { try open(process, setting) }
            let instance = Instance(
                process: process, authority: authority, wire: wire(setting.build),
                bodyBytes: setting.limits?.bodyBytes ?? .max)
            state.withLock { $0.instances.append(instance) }
        } catch {
            process.kill()
            throw error
        }
    }

    /// Kills all processes as SIGKILL does.
    public func stop() {
        state.withLock { $0.instances }.forEach { $0.process.kill() }
        removeDead()
    }

    /// Kills the oldest process as SIGKILL does.
    func stopOldest() {
        process?.kill()
        removeDead()
    }

    /// Removes the dead processes.
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
        // The outcomes must be read now: a later push to the other process may acknowledge them, and the server then
        // erases them.
        disk.withoutFaults { settle(left.authority, left.process) }
    }

    public func losePower(seed: UInt64) {
        simulation.mark("loses power", by: "server", as: .fault)
        disk.losePower(seed: seed)
        stop()
    }

    /// The oldest running process; nil when none is running.
    var process: DiskProcess? { state.withLock { $0.instances.first?.process } }

    /// The commits that one of the processes announces; nil when none is running. A process announces its own commits
    /// only.
    var commits: Broadcast<SpaceHeads>? { state.withLock { $0.choose() }?.authority.commits }

    /// Calls the authority directly, without the network. Returns nil when the server is down.
    public func ask<Value>(_ body: (any AuthorityService, WallTime) throws -> Value) rethrows -> Value? {
        guard let oldest = state.withLock({ $0.instances.first }) else { return nil }
        return try body(oldest.authority, wallClock.now)
    }

    /// Returns the contents of the server's disk, read from a copy of it.
    func holdings() -> Holdings {
        var holdings = Holdings(isUp: isUp)
        // A server that runs without a file keeps its contents elsewhere.
        guard isUp || !disk.fileNames.isEmpty else {
            holdings.add("disk", "empty")
            return holdings
        }
        let copy = SimulatedDisk(seed: 0)
        copy.restore(disk.image())
        let process = copy.makeProcess()
        defer { process.kill() }
        do {
            try holdings.read(try open(process, setting), now: wallClock.now)
        } catch {
            holdings.add("not readable", "\(error)")
        }
        return holdings
    }

    /// Handles a request. Returns nil when no process is running, when the process died while handling the request, or
    /// when the response cannot be encoded.
    func receive(_ bytes: [UInt8], from device: String, as caller: Caller) -> [UInt8]? {
        guard let instance = state.withLock({ $0.choose() }) else { return nil }
        let request = try? instance.wire.decodeRequest(bytes)
        let phase: OperationPhase = request?.call == .push ? .serverCommitting : .serverReading
        let response = tally.watch(phase, on: disk) {
            self.response(
                request, of: bytes.count - instance.wire.requestHeaderBytes, instance, device: device, caller)
        }
        removeDead()
        return instance.process.isDead ? nil : response
    }

    private func response(
        _ request: ServerRequest?, of size: Int, _ instance: Instance, device: String, _ caller: Caller
    ) -> [UInt8]? {
        guard let request else {
            simulation.note("refused a request that is not a call of the protocol", by: "server")
            return instance.wire.encode(TransportError(.refused, "the request is not a call of the protocol"))
        }
        guard size <= instance.bodyBytes else {
            if case .push(let push) = request { observer.pushTooLong(push) }
            simulation.note("refused \(request.word) of \(device): \(size) bytes", by: "server")
            return instance.wire.encode(
                TransportError(.tooLarge, "the body is longer than \(instance.bodyBytes) bytes", isDefinite: true))
        }
        let now = wallClock.now
        if case .push(let push) = request { observer.pushArrived(push, of: size, from: caller.owner.name, now: now) }
        let response: ServerResponse
        do throws(AuthorityError) {
            if hasRule, case .push(let push) = request {
                response = .push(try instance.authority.push(judging: push, by: caller.bearer, now: now))
            } else {
                response = try instance.authority.respond(to: request, by: caller.bearer, now: now)
            }
        } catch {
            if case .push(let push) = request {
                observer.pushFailed(push, error)
                // The outcome must be read now: a later push may acknowledge it, and the server then erases it.
                disk.withoutFaults { settle(instance.authority, instance.process) }
            }
            simulation.note("failed \(request.word) of \(device): \(error.code.rawValue)", by: "server")
            return instance.wire.encode(TransportError(error))
        }
        note(response, to: request, of: device, caller, now: now)
        do {
            return try instance.wire.encode(response, to: request)
        } catch {
            simulation.note("a response cannot be written: \(error)", by: "server")
            return nil
        }
    }

    /// Reports the response to the observer and the trace.
    private func note(
        _ response: ServerResponse, to request: ServerRequest, of device: String, _ caller: Caller, now: WallTime
    ) {
        switch (response, request) {
        case (.push(let response), .push(let push)):
            observer.pushAnswered(push, response, now: now)
            if case .answered = response { observer.served(caller, on: device) }
            simulation.note(
                "answers \(device): \(response.word)", by: "server",
                as: simulation.recording.map { response.recordOutcomes(of: push, in: $0) } ?? .note,
                detail: response.detail)
        case (.pull(let response), .pull(let pull)):
            observer.pullAnswered(pull, response, to: device, as: caller.bearer)
            if case .page = response { observer.served(caller, on: device) }
            simulation.note("shows \(device) \(response.word)", by: "server", detail: response.detail)
        default: break
        }
    }
}

/// An observer of the server's requests and responses, before the network can change them.
protocol ServerObserver: Sendable {
    /// - Parameters:
    ///   - bytes: the length of the request's body.
    ///   - device: the device that the server takes for the sender. The sender may be a copy of that device.
    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime)
    func pushAnswered(_ request: PushRequest, _ response: PushResponse, now: WallTime)
    /// Reports that the server refused a push because its body was too long. It had no effect.
    func pushTooLong(_ request: PushRequest)
    /// Reports that the authority threw. The push may have taken effect in whole or in part.
    func pushFailed(_ request: PushRequest, _ failure: AuthorityError)
    /// - Parameter principal: the user whose token came with the request.
    func pullAnswered(_ request: PullRequest, _ response: PullResponse, to device: String, as principal: Principal)
    /// Reports that the server has accepted transactions from a caller, or has sent it a page.
    func served(_ caller: Caller, on device: String)
}

/// An observer ignores each event that it does not implement.
extension ServerObserver {
    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {}
    func pushAnswered(_ request: PushRequest, _ response: PushResponse, now: WallTime) {}
    func pushTooLong(_ request: PushRequest) {}
    func pushFailed(_ request: PushRequest, _ failure: AuthorityError) {}
    func pullAnswered(_ request: PullRequest, _ response: PullResponse, to device: String, as principal: Principal) {}
    func served(_ caller: Caller, on device: String) {}
}

/// The owner of the database that a request is made for, and the user whose token it carries.
///
/// The two differ after another user has logged in on the device.
struct Caller: Hashable, Sendable {
    /// The owner of the device's database.
    let owner: Principal
    let bearer: Principal
}

extension PushResponse {
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

extension PullResponse {
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
