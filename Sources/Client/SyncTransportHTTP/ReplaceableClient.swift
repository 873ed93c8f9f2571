import AsyncHTTPClient
import NIOCore
import SyncConcurrency
import SyncCore

/// An HTTP client that is replaced, with all its connections, once a call has been abandoned.
///
/// The other end of a connection can vanish silently: a laptop slept, an address changed, a router lost its state. Such
/// a connection looks usable while TCP keeps retransmitting, which takes a quarter of an hour on Linux. An abandoned
/// call closes its own connection, but others that the pool holds may be as dead, and each would cost the next call its
/// timeout.
final class ReplaceableClient: Sendable {
    private struct State {
        var number = 0
        /// The current client, and replaced clients that other calls still use.
        var clients: [Int: (client: HTTPClient, calls: Int)]
        var isShutDown = false
    }

    private let settings: HTTPClient.Configuration
    private let runtime: EngineRuntime
    private let state: Guarded<State>

    init(_ settings: HTTPClient.Configuration, _ runtime: EngineRuntime) {
        self.settings = settings
        self.runtime = runtime
        state = Guarded(State(clients: [0: (Self.client(settings), 0)]))
    }

    deinit {
        // A client traps when it is released before it was shut down.
        let left = state.withLock { state in state.isShutDown ? [] : state.clients.values.map(\.client) }
        guard !left.isEmpty else { return }
        _ = runtime.spawn { for client in left { try? await client.shutdown() } }
    }

    /// Calls `body` with the current client. An error that it throws may replace the client for the next call.
    func withClient<Value>(_ body: (HTTPClient) async throws -> Value) async throws -> Value {
        let (number, client) = borrow()
        do {
            let response = try await body(client)
            release(number, replacing: false)
            return response
        } catch {
            release(number, replacing: Self.isAbandoned(error))
            throw error
        }
    }

    /// Ends requests in flight and closes all connections.
    func shutdown() async throws {
        let clients = state.withLock { state in
            state.isShutDown = true
            return state.clients.values.map(\.client)
        }
        // The others must be shut down even if one fails to.
        var failure: (any Error)?
        for client in clients {
            do { try await client.shutdown() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    private func borrow() -> (Int, HTTPClient) {
        state.withLock { state in
            guard let entry = state.clients[state.number] else { preconditionFailure("there is always a client") }
            state.clients[state.number] = (entry.client, entry.calls + 1)
            return (state.number, entry.client)
        }
    }

    private func release(_ number: Int, replacing: Bool) {
        let unused = state.withLock { state -> HTTPClient? in
            guard !state.isShutDown, let entry = state.clients[number] else { return nil }
            let calls = entry.calls - 1
            if replacing, number == state.number {
                state.number += 1
                state.clients[state.number] = (Self.client(settings), 0)
            }
            guard calls == 0, number != state.number else {
                state.clients[number] = (entry.client, calls)
                return nil
            }
            state.clients[number] = nil
            return entry.client
        }
        guard let unused else { return }
        // Closing waits for the other end, so the caller must not wait for it.
        _ = runtime.spawn { try? await unused.shutdown() }
    }

    private static func client(_ settings: HTTPClient.Configuration) -> HTTPClient {
        HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
    }

    /// Returns whether a call ended because the caller would not wait any longer.
    private static func isAbandoned(_ error: any Error) -> Bool {
        switch error {
        case is CancellationError: true
        case let error as HTTPClientError:
            [.cancelled, .requestStreamCancelled, .readTimeout, .writeTimeout, .deadlineExceeded].contains(error)
        case let failure as TransportError: failure.code == .timedOut
        default: false
        }
    }
}
