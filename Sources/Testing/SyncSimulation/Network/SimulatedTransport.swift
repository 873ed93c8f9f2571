import SyncAuthority
import SyncConcurrency
public import SyncCore
public import SyncModel

/// The transport of a device's process to the server over the simulated network.
///
/// All requests and responses are encoded to bytes.
public final class SimulatedTransport: RemoteTransport {
    private let simulation: Simulation
    private let network: SimulatedNetwork
    private let server: SimulatedServer
    private let wire: any SimulatedWire
    private let device: String
    /// The name of the process, which requests, traces, and recordings carry.
    private let process: String
    private let owner: Principal
    private let bearer: @Sendable () -> Principal
    private let isSevered = Guarded(false)

    /// - Parameters:
    ///   - process: the name of the process: that of the device, or a longer one for a second process.
    ///   - owner: the owner of the device's database.
    ///   - bearer: returns the user whose token is sent. Called for each request, and for each stream of hints.
    init(
        simulation: Simulation, network: SimulatedNetwork, server: SimulatedServer, wire: any SimulatedWire,
        device: String, process: String, owner: Principal, bearer: @escaping @Sendable () -> Principal
    ) {
        self.simulation = simulation
        self.network = network
        self.server = server
        self.wire = wire
        self.device = device
        self.process = process
        self.owner = owner
        self.bearer = bearer
    }

    /// Cuts the transport off, because its process is dead. The remaining tasks of the process can then reach nothing.
    public func sever() {
        isSevered.withLock { $0 = true }
    }

    public func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        guard !isSevered.withLock({ $0 }) else { throw TransportError(.unreachable, "the process is dead") }
        let bytes: [UInt8]
        do {
            bytes = try wire.encode(request)
        } catch {
            throw TransportError(.refused, "the call cannot be written: \(error)", isDefinite: true)
        }
        network.watch.sent(request, bytes, by: process, at: simulation.now)
        do throws(TransportError) {
            let (response, isLie) = try await exchange(request, bytes)
            network.watch.ended(request, by: process, wasUseful: !isLie && response.isUseful(to: request))
            return response
        } catch {
            network.watch.failed(request, bytes, by: process, at: simulation.now, error)
            throw error
        }
    }

    private func exchange(
        _ request: ServerRequest, _ bytes: [UInt8]
    ) async throws(TransportError) -> (response: ServerResponse, isLie: Bool) {
        let delivered = try await network.exchange(
            bytes, for: request, from: SimulatedNetwork.Sender(device: device, process: process), with: server,
            as: Caller(owner: owner, bearer: bearer()))
        guard !isSevered.withLock({ $0 }) else { throw TransportError(.cancelled, "the process is dead") }
        return (try wire.decodeResponse(delivered.bytes, to: request), delivered.isLie)
    }

    public func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        let (hints, mailbox) = AsyncThrowingStream.makeStream(of: Hint.self, bufferingPolicy: .bufferingNewest(64))
        guard let commits = server.commits, !network.isCut(device, .toServer), !isSevered.withLock({ $0 }) else {
            mailbox.finish(throwing: TransportError(.unreachable, "the connection was refused"))
            return hints
        }
        let subscription = commits.subscribe()
        // The heads are read after the subscription starts: a commit in between is announced twice rather than never.
        let heads: SpaceHeads?
        do {
            heads = try server.disk.withoutFaults {
                try server.ask { authority, now in try authority.heads(of: spaces, for: bearer(), now: now) }
            }
        } catch {
            mailbox.finish(throwing: TransportError(.serverFailed, "the heads cannot be read: \(error)"))
            return hints
        }
        let task = simulation.start("hints of \(process)") { [self] in
            if let heads, await !tell(heads, about: spaces, to: mailbox) {
                for await news in subscription {
                    if await tell(news, about: spaces, to: mailbox) || Task.isCancelled { break }
                }
            }
            mailbox.finish(throwing: TransportError(.unreachable, "the stream of hints has ended"))
        }
        mailbox.onTermination = { _ in task.cancel() }
        return hints
    }

    /// Sends a hint.
    ///
    /// - Returns: whether the stream ends with this hint.
    private func tell(
        _ news: SpaceHeads, about spaces: [SpaceID], to mailbox: AsyncThrowingStream<Hint, any Error>.Continuation
    ) async -> Bool {
        let (delay, ends) = network.drawHint()
        let record = MessageRecord(simulation, hint: news, to: process)
        var arrives = false
        if let delay, (try? await simulation.clock(of: device).sleep(for: delay)) != nil {
            arrives = !network.isCut(device, .toDevice)
        }
        record.ended(arrives ? .arrived : .lost)
        guard arrives else { return ends }
        for (space, head) in news.heads.sorted(by: { $0.key < $1.key }) where spaces.contains(space) {
            mailbox.yield(Hint(space: space, head: head))
        }
        return ends
    }
}

extension ServerResponse {
    /// Returns whether the response brought anything new.
    fileprivate func isUseful(to request: ServerRequest) -> Bool {
        switch (self, request) {
        case (.push(.answered(let results, _, _)), _): !results.isEmpty
        case (.pull(.page(let page)), .pull(let request)): page.cursor != request.cursor
        default: false
        }
    }
}
