public import SyncAuthority
import SyncConcurrency
import SyncCore
public import SyncModel

/// The server's machine: its disk, its clock, and the authority's process, which can die and come back.
public final class SimulatedServer: Sendable {
    public let disk: SimulatedDisk
    public let wallClock: VirtualWallClock
    private let simulation: Simulation
    private let wire: any SimulatedWire
    public typealias Opening = @Sendable (DiskProcess) throws -> any AuthorityService

    private let open: Opening
    /// Finds out what became of a push that failed.
    private let settle: @Sendable (any AuthorityService, DiskProcess) -> Void
    private let witness: any ServerWitness
    private let tally: FaultTally
    private let state = Guarded(State())

    private struct State: Sendable {
        var process: DiskProcess?
        var authority: (any AuthorityService)?
    }

    /// - Parameters:
    ///   - open: makes the authority over the process's disk; called at each start.
    ///   - witness: is told of every push that arrives, and what became of it.
    init(
        simulation: Simulation, wire: any SimulatedWire, witness: any ServerWitness, tally: FaultTally,
        settle: @escaping @Sendable (any AuthorityService, DiskProcess) -> Void, open: @escaping Opening
    ) {
        self.settle = settle
        self.simulation = simulation
        self.wire = wire
        self.witness = witness
        self.tally = tally
        self.open = open
        var random = simulation.random("disk.server")
        disk = SimulatedDisk(seed: random.next())
        wallClock = simulation.makeWallClock()
    }

    public var isUp: Bool { state.withLock { $0.authority != nil } }

    /// Starts the authority's process. Throws what `open` throws; the server is down then.
    public func start() throws {
        stop()
        let process = disk.makeProcess()
        do {
            let authority = try tally.watch(.serverOpening, on: disk) { try open(process) }
            state.withLock { state in
                state.process = process
                state.authority = authority
            }
            simulation.note("up", by: "server", as: .up)
        } catch {
            process.kill()
            throw error
        }
    }

    /// Ends the process as SIGKILL does.
    public func stop() {
        let (process, authority) = state.withLock { state in
            defer { state = State() }
            return (state.process, state.authority)
        }
        guard let process else { return }
        process.kill()
        authority?.commits.finish()
        simulation.note("killed", by: "server", as: .down)
    }

    public func losePower(seed: UInt64) {
        simulation.mark("loses power", by: "server", as: .fault)
        disk.losePower(seed: seed)
        stop()
    }

    /// The process that runs; nil when none does.
    var process: DiskProcess? { state.withLock { $0.process } }

    /// The feed of commits of the process that runs; nil when none does.
    var commits: CoalescingFeed<SpaceHeads>? { state.withLock { $0.authority }?.commits }

    /// Asks the authority itself, past the network; nil when it is down.
    public func ask<Answer>(_ body: (any AuthorityService, WallTime) throws -> Answer) rethrows -> Answer? {
        guard let authority = state.withLock({ $0.authority }) else { return nil }
        return try body(authority, wallClock.now)
    }

    /// What the server holds: of its disk, as a copy of it shows.
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
            try holdings.read(try open(process), now: wallClock.now)
        } catch {
            holdings.add("not readable", "\(error)")
        }
        return holdings
    }

    /// A request arrives. Nil: there is nobody, or the process has died over it.
    func receive(_ bytes: [UInt8], from device: String, as caller: Caller) -> [UInt8]? {
        let (process, authority) = state.withLock { ($0.process, $0.authority) }
        guard let process, let authority else { return nil }
        let call = try? wire.decodeCall(bytes)
        let phase: OperationPhase = if case .push? = call { .serverCommitting } else { .serverReading }
        let answer = tally.watch(phase, on: disk) {
            self.answer(call, of: bytes.count, authority, process, device: device, caller)
        }
        if process.isDead {
            stop()
            return nil
        }
        do {
            return try wire.encode(answer)
        } catch {
            simulation.note("an answer cannot be written: \(error)", by: "server")
            return nil
        }
    }

    private func answer(
        _ call: ServerCall?, of size: Int, _ authority: any AuthorityService, _ process: DiskProcess,
        device: String, _ caller: Caller
    ) -> ServerAnswer {
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
                witness.pullAnswered(request, reply, to: device)
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
                    disk.withoutFaults { settle(authority, process) }
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
    func pullAnswered(_ request: PullRequest, _ reply: PullReply, to device: String)
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
            case .forbidden: .forbidden
            case .otherAccount: .otherAccount
            case .malformed: .refused
            case .tooLarge: .tooLarge
            case .unavailable: .serverFailed
            }
        self.init(code, failure.message, retryAfter: failure.retryAfter)
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
        case .page(let page):
            switch page.content {
            case .snapshot(let rows, _, let isLast):
                "\(rows.reduce(0) { $0 + $1.records.count }) rows at \(page.version)\(isLast ? ", the last" : "")"
            case .commits(let commits): "\(commits.count) commits to \(page.version)"
            }
        }
    }
}
