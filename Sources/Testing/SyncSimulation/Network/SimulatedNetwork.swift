import SyncConcurrency
import SyncCore
import SyncModel

/// The network between the devices and the server.
///
/// It delays, loses, duplicates, reorders, and damages messages according to its conditions and its seed.
public final class SimulatedNetwork: Sendable {
    /// The direction of a message.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        case toServer, toDevice
    }

    fileprivate struct State: Sendable {
        var random: SeededRandom
        var conditions = NetworkConditions.calm
        /// The devices that are cut off in each direction.
        var cuts: [Direction: Set<String>] = [:]
        /// The exchanges in progress, in the order in which they began.
        var exchanges: [Int: Exchange] = [:]
        var nextExchange = 0
        /// The scripted responses to the next requests of each device.
        var scripted: [String: (response: ScriptedResponse, times: Int)] = [:]
        /// The lies of the server to the next requests of each device.
        var lies: [String: (lie: Lie, times: Int)] = [:]
        /// The first page of each space that each device received.
        var firstPages: [String: [SpaceID: PullPage]] = [:]
        /// The responses in a cache between the devices and the server, by caller and request. By default, a shared
        /// cache does not give one user a response meant for another (RFC 9111 §3.5).
        var cache: [Caller: [[UInt8]: [UInt8]]] = [:]
    }

    /// A call whose response a device is waiting for.
    fileprivate struct Exchange: Sendable {
        let device: String
        var phase: OperationPhase
    }

    /// The delays and faults of one copy of a request and of its response, drawn when the request is sent.
    fileprivate struct Journey: Sendable {
        var requestDelay: Duration
        var isLate = false
        var isResponseLate = false
        var responseDelay: Duration
        var isRefused: Bool
        var isRequestLost: Bool
        var isResponseLost: Bool
        var isResponseBroken: Bool
        var requestDamage: Damage?
        var responseDamage: Damage?
        /// The time to wait that a busy server names. Nil when the server is not busy; an inner nil when it names no
        /// time.
        var busy: Duration??
    }

    /// The process that sends a request, and its device. A device that runs a second engine has two processes.
    struct Sender: Sendable {
        /// The device, which cuts, suspensions, scripted responses, and lies affect as a whole.
        let device: String
        /// The name of the process in traces and recordings.
        let process: String
    }

    /// The result of a request.
    enum Delivery: Sendable {
        case response(Response)
        case failed(TransportError)
    }

    /// The bytes of a response, and whether they contain a lie.
    struct Response: Sendable {
        var bytes: [UInt8]
        var isLie = false
    }

    /// The time after which a device's HTTP client abandons a request without a response.
    private static let timeout = Duration.seconds(100)

    private let simulation: Simulation
    private let tally: FaultTally
    private let wire: any SimulatedWire
    private let refused: @Sendable ([PayloadHash]) -> Void
    private let state: Guarded<State>
    let watch: RequestOracle

    /// - Parameters:
    ///   - wire: decodes responses, and encodes lies.
    ///   - refused: receives the transactions that a hostile server refuses.
    ///   - spaces: the number of spaces that each device follows.
    ///   - isPunctual: whether events happen on time. On a slow processor, they do not.
    init(
        simulation: Simulation, tally: FaultTally, wire: any SimulatedWire, spaces: Int, isPunctual: Bool,
        violations: ViolationLog, refused: @escaping @Sendable ([PayloadHash]) -> Void
    ) {
        self.simulation = simulation
        self.tally = tally
        self.wire = wire
        self.refused = refused
        watch = RequestOracle(spaces: spaces, isPunctual: isPunctual, violations: violations)
        state = Guarded(State(random: simulation.random("network")))
    }

    public var conditions: NetworkConditions {
        get { state.withLock { $0.conditions } }
        set { state.withLock { $0.conditions = newValue } }
    }

    /// Cuts a device off in one direction. Messages that are in transit in this direction do not arrive, either.
    public func cut(_ device: String, _ direction: Direction) {
        simulation.note("cut off \(direction.rawValue)", by: device, as: .cut)
        state.withLock { state in _ = state.cuts[direction, default: []].insert(device) }
    }

    public func repair(_ device: String) {
        simulation.note("connected", by: device, as: .connected)
        state.withLock { state in
            for direction in Direction.allCases { state.cuts[direction]?.remove(device) }
        }
    }

    public func repairAll() {
        let cuts = state.withLock { state in
            defer { state.cuts = [:] }
            return state.cuts
        }
        for device in Set(cuts.values.joined()).sorted() {
            simulation.mark("connected", by: device, as: .connected)
        }
    }

    /// Sets the response to the device's next requests that the response applies to, for the given number of times.
    public func script(_ response: ScriptedResponse, times: Int, for device: String) {
        simulation.note("meets \(response.rawValue) \(times) times", by: device)
        state.withLock { $0.scripted[device] = (response, times) }
    }

    /// Makes the server lie in its responses to the device's next requests that the lie applies to, for the given
    /// number of times.
    public func lie(_ lie: Lie, times: Int, to device: String) {
        simulation.note("is told \(lie.rawValue) \(times) times", by: device)
        state.withLock { $0.lies[device] = (lie, times) }
    }

    func endScripts(for device: String) {
        state.withLock { state in
            state.scripted[device] = nil
            state.lies[device] = nil
        }
    }

    func isCut(_ device: String, _ direction: Direction) -> Bool {
        state.withLock { $0.cuts[direction]?.contains(device) ?? false }
    }

    /// Returns the activities between a device and the server, or between all devices and the server when `device` is
    /// nil.
    func phases(of device: String?) -> Set<OperationPhase> {
        let phases = state.withLock { state in
            Set(state.exchanges.values.filter { device == nil || $0.device == device }.map(\.phase))
        }
        return phases.isEmpty ? [.idle] : phases
    }

    /// Sends a request and waits for the result.
    ///
    /// When the caller's task is cancelled, the wait ends, but the request continues.
    func exchange(
        _ request: [UInt8], for call: ServerRequest, from sender: Sender, with server: SimulatedServer,
        as caller: Caller
    ) async throws(TransportError) -> Response {
        let number = state.withLock { $0.begin(Exchange(device: sender.device, phase: call.phases.onItsWay)) }
        defer { state.withLock { _ = $0.exchanges.removeValue(forKey: number) } }
        let (deliveries, mailbox) = AsyncStream.makeStream(of: Delivery.self, bufferingPolicy: .bufferingOldest(1))
        let journeys = state.withLock { $0.drawJourneys() }
        if journeys.count > 1 { tally.count(.doubled, [call.phases.onItsWay]) }
        // All copies get the same lie: refusing one copy and accepting the other would be worse than any lie.
        let lie = state.withLock { $0.takeLie(for: call, of: sender.device) }
        let record = simulation.recording?.call()
        for (copy, journey) in journeys.enumerated() {
            let record = MessageRecord(
                simulation, record, call, copy: copy, from: sender.process, isLate: journey.isLate)
            simulation.start("courier of \(sender.process)") { [self] in
                await carry(
                    request, call, journey, number, from: sender, to: server, as: caller, lie, mailbox, record)
            }
        }
        var first: Delivery?
        for await delivery in deliveries {
            first = delivery
            break
        }
        // The mailbox must live until here: the stream ends as soon as nothing can write to it.
        mailbox.finish()
        switch first {
        case .response(let response): return response
        case .failed(let failure): throw failure
        case nil: throw TransportError(.cancelled, "the caller cancelled the request")
        }
    }

    private func carry(
        _ request: [UInt8], _ call: ServerRequest, _ journey: Journey, _ number: Int, from sender: Sender,
        to server: SimulatedServer, as caller: Caller, _ lie: Lie?,
        _ mailbox: AsyncStream<Delivery>.Continuation, _ record: MessageRecord
    ) async {
        let network = simulation.clock(of: "network")
        // Responses wait on the device's clock: while the device is suspended, nothing reaches its programs.
        let deviceClock = simulation.clock(of: sender.device)
        guard (try? await network.sleep(for: journey.requestDelay)) != nil else { return }
        if journey.isRefused || isCut(sender.device, .toServer) {
            fault(.refused, call, sender)
            record.ended(.refused)
            mailbox.yield(.failed(TransportError(.unreachable, "the connection was refused")))
            return
        }
        if let retryAfter = journey.busy {
            fault(.busy, call, sender)
            record.ended(.busy)
            mailbox.yield(.failed(TransportError(.throttled, "the server is busy", retryAfter: retryAfter)))
            return
        }
        if let response = state.withLock({ $0.takeScript(for: call, of: sender.device) }) {
            return meet(response, request, call, sender, caller, mailbox, record)
        }
        if journey.isRequestLost {
            fault(.requestLost, call, sender)
            record.ended(.lost)
            return await letDown(mailbox, deviceClock)
        }
        var arriving = request
        if let damage = journey.requestDamage, damage.apply(to: &arriving) {
            fault(.requestDamaged, call, sender)
            record.damaged(damage)
        }
        if journey.isLate { tally.count(.late, [call.phases.onItsWay]) }
        let deaths = server.deaths
        if let delay = server.delay { guard (try? await network.sleep(for: delay)) != nil else { return } }
        record.requestArrived()
        if let failure = lie?.failure {
            if case .push(let request) = call { refused(request.transactions.filter(Lie.displeases).map(\.hash)) }
            fault(.serverLies, call, sender)
            record.ended(.intercepted)
            mailbox.yield(.failed(failure))
            return
        }
        guard server.deaths == deaths, let truth = server.receive(arriving, from: sender.process, as: caller) else {
            fault(.serverGone, call, sender)
            record.nobodyAnswers()
            mailbox.yield(.failed(TransportError(.unreachable, "the connection was reset")))
            return
        }
        var response = Response(bytes: truth)
        tell(lie, instead: &response, to: call, of: sender)
        state.withLock { state in
            state.exchanges[number]?.phase = call.phases.answered
            if case .push = call { return }
            if state.cache[caller]?[request] == nil { state.cache[caller, default: [:]][request] = truth }
        }
        if journey.isResponseLate { tally.count(.late, [call.phases.answered]) }
        let recordResponse = record.response(isLate: journey.isResponseLate)
        guard (try? await deviceClock.sleep(for: journey.responseDelay)) != nil else { return }
        if journey.isResponseBroken {
            fault(.responseBroken, call, sender, isAnswered: true)
            recordResponse.ended(.broken)
            mailbox.yield(.failed(TransportError(.unreachable, "the connection was reset")))
            return
        }
        if journey.isResponseLost || isCut(sender.device, .toDevice) {
            fault(.responseLost, call, sender, isAnswered: true)
            recordResponse.ended(.lost)
            return await letDown(mailbox, deviceClock)
        }
        if let damage = journey.responseDamage, damage.apply(to: &response.bytes) {
            fault(.responseDamaged, call, sender, isAnswered: true)
            recordResponse.damaged(damage)
        }
        let isDelivered = if case .enqueued = mailbox.yield(.response(response)) { true } else { false }
        recordResponse.ended(isDelivered ? .arrived : .undelivered)
    }

    private func meet(
        _ response: ScriptedResponse, _ request: [UInt8], _ call: ServerRequest, _ sender: Sender, _ caller: Caller,
        _ mailbox: AsyncStream<Delivery>.Continuation, _ record: MessageRecord
    ) {
        let kept = response == .stale ? state.withLock { $0.cache[caller]?[request] } : nil
        // A cache without a response to the request answers in another shape.
        let response = response == .stale && kept == nil ? .wrongShape : response
        record.ended(.intercepted)
        tally.count(response.fault, [call.phases.onItsWay])
        simulation.note("\(response.rawValue): \(call.word)", by: sender.process)
        if let failure = response.failure {
            mailbox.yield(.failed(failure))
        } else if let kept {
            mailbox.yield(.response(Response(bytes: kept)))
        } else {
            mailbox.yield(.response(Response(bytes: [0, 0, 0] + Array("{\"ok\":true}".utf8))))
        }
    }

    /// Replaces the response with the lie, if there is one, and remembers the first page of each space.
    private func tell(_ lie: Lie?, instead response: inout Response, to call: ServerRequest, of sender: Sender) {
        guard let truth = try? wire.decodeResponse(response.bytes, to: call) else { return }
        var first: PullPage?
        if case .pull(.page(let page)) = truth {
            first = state.withLock { state in
                let known = state.firstPages[sender.device]?[page.space] ?? page
                state.firstPages[sender.device, default: [:]][page.space] = known
                return known
            }
        }
        guard let lie, case let told = lie.told(truth, to: call, first: first), told != truth,
            let bytes = try? wire.encode(told, to: call)
        else { return }
        fault(.serverLies, call, sender, isAnswered: true)
        response = Response(bytes: bytes, isLie: true)
    }

    private func letDown(_ mailbox: AsyncStream<Delivery>.Continuation, _ clock: VirtualClock) async {
        guard (try? await clock.sleep(for: Self.timeout)) != nil else { return }
        mailbox.yield(.failed(TransportError(.timedOut, "no response in \(Self.timeout)")))
    }

    /// Counts a fault and adds it to the trace.
    ///
    /// - Parameter isAnswered: whether the server has already handled the call.
    private func fault(_ fault: FaultKind, _ call: ServerRequest, _ sender: Sender, isAnswered: Bool = false) {
        tally.count(fault, [isAnswered ? call.phases.answered : call.phases.onItsWay])
        simulation.note("\(fault.rawValue): \(call.word)", by: sender.process)
    }

    // MARK: Hints

    /// Draws the delay and the faults of one hint.
    ///
    /// - Returns: the delay, or nil when the hint is lost; and whether the stream ends with it.
    func drawHint() -> (delay: Duration?, endsStream: Bool) {
        state.withLock { state in
            let delay = state.random.duration(in: state.conditions.delay)
            let isLost = state.random.chance(state.conditions.loseHintRate)
            let ends = state.random.chance(state.conditions.endHintsRate)
            return (isLost ? nil : delay, ends)
        }
    }
}

extension SimulatedNetwork.State {
    fileprivate mutating func takeScript(for call: ServerRequest, of device: String) -> ScriptedResponse? {
        guard let (response, times) = scripted[device], response.applies(to: call) else { return nil }
        scripted[device] = times > 1 ? (response, times - 1) : nil
        return response
    }

    fileprivate mutating func takeLie(for call: ServerRequest, of device: String) -> Lie? {
        guard let (lie, times) = lies[device], lie.applies(to: call) else { return nil }
        lies[device] = times > 1 ? (lie, times - 1) : nil
        return lie
    }

    fileprivate mutating func begin(_ exchange: SimulatedNetwork.Exchange) -> Int {
        nextExchange += 1
        exchanges[nextExchange] = exchange
        return nextExchange
    }

    /// Draws one journey, or two for a duplicated request.
    ///
    /// Except for late messages, every call draws the same count of random numbers, so that changing a rate other than
    /// `lateRate` does not affect the other faults. A late one draws once more: whether the request or the response is
    /// late.
    fileprivate mutating func drawJourneys() -> [SimulatedNetwork.Journey] {
        let isDoubled = random.chance(conditions.duplicateRate)
        let first = drawJourney()
        let second = drawJourney()
        return isDoubled ? [first, second] : [first]
    }

    private mutating func drawJourney() -> SimulatedNetwork.Journey {
        var requestDelay = random.duration(in: conditions.delay)
        var responseDelay = random.duration(in: conditions.delay)
        let isLate = random.chance(conditions.lateRate)
        let lateness = random.duration(in: conditions.lateness)
        let isResponseLate = isLate && random.chance(0.5)
        if isResponseLate { responseDelay += lateness } else if isLate { requestDelay += lateness }
        let busy = random.chance(conditions.busyRate)
        let retryAfter = random.duration(in: .zero...(.seconds(60)))
        let saysWhen = random.chance(0.5)
        return SimulatedNetwork.Journey(
            requestDelay: requestDelay, isLate: isLate && !isResponseLate, isResponseLate: isResponseLate,
            responseDelay: responseDelay, isRefused: random.chance(conditions.refuseRate),
            isRequestLost: random.chance(conditions.loseRequestRate),
            isResponseLost: random.chance(conditions.loseResponseRate),
            isResponseBroken: random.chance(conditions.breakResponseRate),
            requestDamage: Damage.drawn(&random, rate: conditions.damageRequestRate),
            responseDamage: Damage.drawn(&random, rate: conditions.damageResponseRate),
            busy: busy ? .some(saysWhen ? retryAfter : nil) : nil)
    }
}

extension ServerRequest {
    /// The activity while this call is in transit, and the activity while its response is.
    fileprivate var phases: (onItsWay: OperationPhase, answered: OperationPhase) {
        switch self {
        case .hello: (.awaitingHello, .awaitingHello)
        case .push: (.pushTravels, .pushCommitted)
        case .pull, .fetch: (.pullTravels, .pageTravels)
        }
    }
}
