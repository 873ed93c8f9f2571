public import SyncAuthority
import SyncConcurrency
public import SyncCore
public import SyncModel
import SyncWire

/// A server for tests: a real authority in process, behind a script of faults and canned responses.
///
/// Each call takes the next step of its script; a call without a step reaches the authority. Requests and responses are
/// encoded to bytes and decoded again, as with a real server. Safe to call from any task.
public final class MockServer: RemoteTransport {
    private struct State: Sendable {
        var steps: [ServerCall: [MockStep]] = [:]
        var hintSteps: [MockHintStep] = []
        var log: [MockEntry] = []
        var endpoint: AuthorityEndpoint
    }

    private let clientCatalog: SchemaCatalog
    private let principal: Principal
    private let now: @Sendable () -> WallTime
    private let wait: @Sendable (Duration) async throws -> Void
    private let state: Guarded<State>

    /// Creates a server for one principal, with an empty script.
    ///
    /// - Parameters:
    ///   - catalog: the server's models.
    ///   - clientCatalog: the device's models, used to decode responses; nil when they are the same as the server's.
    ///   - now: the server's wall clock.
    ///   - wait: waits for the script's delays on the test's clock.
    ///   - review: the application's rules for pushes; nil for none.
    public init(
        authority: any AuthorityService, catalog: SchemaCatalog, clientCatalog: SchemaCatalog? = nil,
        principal: Principal, now: @escaping @Sendable () -> WallTime,
        wait: @escaping @Sendable (Duration) async throws -> Void, review: (any TransactionReview)? = nil
    ) {
        self.clientCatalog = clientCatalog ?? catalog
        self.principal = principal
        self.now = now
        self.wait = wait
        state = Guarded(
            State(
                endpoint: AuthorityEndpoint(
                    authority: authority, catalog: catalog, principal: principal, now: now, review: review)))
    }

    /// Replaces the server with another build of it. The script and the log stay.
    ///
    /// - Parameter review: the rules of the other build for pushes; nil for none.
    public func replace(
        authority: any AuthorityService, catalog: SchemaCatalog, review: (any TransactionReview)? = nil
    ) {
        let endpoint = AuthorityEndpoint(
            authority: authority, catalog: catalog, principal: principal, now: now, review: review)
        state.withLock { $0.endpoint = endpoint }
    }

    private var endpoint: AuthorityEndpoint { state.withLock { $0.endpoint } }

    /// Adds steps for the next calls of one kind, in the order of the calls.
    public func script(_ call: ServerCall, _ steps: MockStep...) {
        state.withLock { state in state.steps[call, default: []] += steps }
    }

    /// Adds steps for the next hint streams, in the order in which they are opened.
    public func scriptHints(_ steps: MockHintStep...) {
        state.withLock { state in state.hintSteps += steps }
    }

    /// The calls, with the steps that they took, and the opened hint streams, in order.
    public var log: [MockEntry] {
        state.withLock { state in state.log }
    }

    /// The number of scripted steps that no call has taken yet.
    ///
    /// A test that ends with steps left has not exercised everything that it scripted.
    public var remainingSteps: Int {
        state.withLock { state in state.steps.values.reduce(state.hintSteps.count) { $0 + $1.count } }
    }

    public func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        try await request.exchanged(clientCatalog) { [self] (call, body) async throws(TransportError) in
            let step = state.withLock { state in
                let step = state.steps[call]?.isEmpty == false ? state.steps[call]?.removeFirst() : nil
                state.log.append(.call(call, step ?? .pass, bytes: body.count))
                return step ?? .pass
            }
            return try await take(step, request, body)
        }
    }

    public func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        let step = state.withLock { state in
            state.log.append(.hints(spaces))
            return state.hintSteps.isEmpty ? MockHintStep.pass : state.hintSteps.removeFirst()
        }
        switch step {
        case .pass: return endpoint.hints(for: spaces)
        case .fail(let failure): return AsyncThrowingStream { throw failure }
        case .send(let hints):
            let rest = Guarded(hints[...])
            return AsyncThrowingStream { rest.withLock { rest in rest.popFirst() } }
        }
    }

    private func take(
        _ step: MockStep, _ request: ServerRequest, _ body: [UInt8]
    ) async throws(TransportError) -> [UInt8]? {
        let call = request.call
        switch step {
        case .pass:
            return try await endpoint.exchange(call, body)
        case .dropRequest:
            throw TransportError(.timedOut, "\(call.rawValue): the request was lost")
        case .dropResponse:
            _ = try await endpoint.exchange(call, body)
            throw TransportError(.timedOut, "\(call.rawValue): the response was lost")
        case .duplicate:
            _ = try await endpoint.exchange(call, body)
            return try await endpoint.exchange(call, body)
        case .delay(let duration, let next):
            do {
                try await wait(duration)
            } catch {
                throw TransportError(.cancelled, "\(call.rawValue): the caller gave up")
            }
            return try await take(next, request, body)
        case .fail(let failure):
            throw failure
        case .response(let response):
            do throws(WireError) {
                return try response.encode(to: request, catalog: endpoint.catalog)
            } catch {
                return []
            }
        case .responseBytes(let bytes):
            return bytes
        case .captivePortal:
            return Array("<!DOCTYPE html><html><title>Welcome</title><body>Please sign in</body></html>".utf8)
        case .corruptRequest(let offset, let mask):
            return try await endpoint.exchange(call, body.corrupted(at: offset, by: mask))
        case .corruptResponse(let offset, let mask):
            return try await endpoint.exchange(call, body)?.corrupted(at: offset, by: mask)
        case .cutResponse(let bytes):
            return try await endpoint.exchange(call, body).map { Array($0.prefix(bytes)) }
        }
    }
}

extension [UInt8] {
    fileprivate func corrupted(at offset: Int, by mask: UInt8) -> [UInt8] {
        guard !isEmpty else { return self }
        var result = self
        result[offset % count] ^= mask
        return result
    }
}
