import SyncBootstrap
import SyncCore
import SyncModel

/// Finds out whether another process, which holds the lease of the database, has synced everything.
///
/// Only the holder of the lease syncs the database. This process compares the database with what the server had at its
/// first response.
struct OtherEngine {
    let client: ClientComposition
    let process: Int32?
    /// The state of the server at its first response; nil before that.
    private var server: Server?

    enum Finding {
        case inSync
        /// The sync cannot end. The obstacle is lasting if the server refuses this device, so that no later request
        /// will succeed by itself, or asks for a pause.
        case obstacle(SyncEnding, isLasting: Bool)
        /// The process has not synced everything. The text describes what is left.
        case behind(String)
    }

    private struct Server {
        let epoch: Epoch
        let models: ServerModels?
        var spaces: [SpaceID: Goal] = [:]
    }

    /// The state that the device has to reach in a space.
    private enum Goal {
        /// At least this version, with another cursor than `stale`, which the server no longer accepts. `stale` is nil
        /// if the server accepted the device's cursor, or if there was none.
        case version(Version, stale: Cursor?)
        case noAccess
    }

    init(client: ClientComposition, process: Int32?) {
        self.client = client
        self.process = process
    }

    /// Compares the database with the server, which has the time `limit` to respond.
    mutating func look(within limit: Duration) async throws -> Finding {
        let store = try client.store
        do {
            if server == nil {
                let session = try store.session()
                server = try await ask(session, within: limit)
            }
        } catch let failure as TransportError {
            // A server that asks for a pause must not be asked again twice a second.
            let isLasting = failure.refusesDevice || failure.retryAfter != nil
            return .obstacle(.failed(failure), isLasting: isLasting)
        }
        guard let server else { return .inSync }
        guard let lack = try lack(in: try store.session(), server) ?? lackOfHeld(in: store, server) else {
            return .inSync
        }
        // A recorded failure is not lasting: it may be older than the current attempt of the process.
        guard let failure = try store.contact().lastFailure else { return .behind(lack) }
        return .obstacle(ending(with: failure), isLasting: false)
    }

    private func ask(_ session: StoredSession, within limit: Duration) async throws -> Server {
        let (transport, clock) = (try client.transport, client.runtime.clock)
        return try await withThrowingTaskGroup(of: Server?.self) { group in
            group.addTask { try await Self.ask(transport, session) }
            group.addTask {
                try await clock.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let server = try await group.next() ?? nil else {
                throw TransportError(.timedOut, "the server has not responded in time")
            }
            return server
        }
    }

    /// Returns the state of the server, with a goal for each space of the device.
    ///
    /// - Throws: `TransportError`, even if the server responds, but refuses this device.
    private static func ask(_ transport: any RemoteTransport, _ session: StoredSession) async throws -> Server {
        let hello = try await transport.hello()
        if let refusal = hello.refusal(for: session.account) { throw refusal }
        var server = Server(epoch: hello.epoch, models: hello.models)
        for space in session.spaces {
            let cursor = space.isComplete ? space.cursor : nil
            server.spaces[space.space] = try await goal(transport, in: space.space, after: cursor, as: session.account)
        }
        return server
    }

    /// Returns what the server has of a space; nil if it does not send a page even without a cursor.
    private static func goal(
        _ transport: any RemoteTransport, in space: SpaceID, after cursor: Cursor?, as account: AccountID?
    ) async throws -> Goal? {
        func pull(_ cursor: Cursor?) async throws -> PullResponse {
            try await transport.pull(PullRequest(space: space, cursor: cursor, limit: 1, account: account))
        }
        switch try await pull(cursor) {
        case .page(let page): return .version(max(page.head, page.version), stale: nil)
        case .noAccess: return .noAccess
        case .mustReset:
            guard case .page(let page) = try await pull(nil) else { return nil }
            return .version(max(page.head, page.version), stale: cursor)
        }
    }

    /// Returns what the device lacks; nil if it has everything that the server had.
    private func lack(in session: StoredSession, _ server: Server) -> String? {
        guard session.epoch == server.epoch else { return "the server has a new history, which is not downloaded yet" }
        for space in session.spaces {
            switch server.spaces[space.space] {
            case .version(let head, let stale) where space.hasAccess:
                guard space.isComplete else { return "space \(space.space) is not downloaded completely" }
                guard space.version >= head else {
                    return "space \(space.space) is at version \(space.version) of \(head)"
                }
                guard stale == nil || space.cursor != stale else {
                    return "space \(space.space) has to be downloaded again"
                }
            case .noAccess where space.hasAccess:
                return "the account may not read space \(space.space), whose records are not removed yet"
            case .version: return "the account may read space \(space.space) again, which is not downloaded yet"
            case .noAccess, nil: break
            }
        }
        return nil
    }

    /// Describes the first transaction that waits for models that the server has; nil when there is none.
    private func lackOfHeld(in store: any LocalStore, _ server: Server) throws -> String? {
        guard let models = server.models, try store.outboxSummary().held > 0 else { return nil }
        let entry = try store.outbox(limit: .max).first {
            $0.heldFor != nil && models.firstUnknown(in: $0.transaction) == nil
        }
        return entry.map {
            "transaction \($0.sequence) has waited for \($0.heldFor ?? "a model"), which the server knows now"
        }
    }

    /// Returns the ending for a failure that the process has recorded.
    private func ending(with failure: ServerContact.Failure) -> SyncEnding {
        if failure.code == ServerContact.Failure.braked { return .brakedElsewhere(process, failure.message) }
        if let code = TransportError.Code(rawValue: failure.code) {
            return .failed(TransportError(code, failure.message))
        }
        if let failure = failure.storeError { return .storeFailed(failure) }
        // After a contradiction, for example, the engine has not stored the response, and tries again by itself.
        return .blocked(failure.message)
    }
}
