import Foundation
import SyncConcurrency
import SyncCore
import SyncModel
public import SyncObjects

extension Client {
    /// Requests a sync, and waits until everything is in sync, whichever process syncs this database.
    ///
    /// ```swift
    /// try await client.synced(within: .seconds(30))
    /// ```
    ///
    /// When this returns, the server has confirmed everything that was written before the call, and the device has
    /// everything that the server had in the followed spaces when this client asked it, after the call. If another
    /// process syncs the database, this client sees only what that process has stored: that everything is in sync, and
    /// that it was in contact with the server some minutes ago at most. To wait for one write, use
    /// `Receipt.confirmed()`.
    ///
    /// - Parameter limit: The longest time to wait; nil for no limit. Without a limit, the call waits as long as the
    ///   server is away. Cancel its task to stop waiting.
    /// - Throws: `notInSync`, with the state of the sync, when the limit is over or only a person can remove the
    ///   obstacle; `noServer` when no server is configured and no process has ever synced this database; `interrupted`
    ///   when the task is cancelled or the client is closed. Writes stay, and are sent later.
    public func synced(within limit: Duration? = nil) async throws(ModelError) {
        let (clock, updates) = (parts.runtime.clock, statusUpdates)
        // Before the request, so that no answer is missed.
        let answers = parts.engine?.status.subscribe()
        let request = requestSync()
        let result = await withTaskGroup(of: Result<Void, ModelError>?.self) { [self] group in
            group.addTask { [self] in
                for await _ in updates { if let outcome = self.outcome(of: request) { return outcome } }
                return .failure(Self.stoppedWaiting)
            }
            if let answers {
                // An answer without news does not change the client's status.
                group.addTask { [self] in
                    for await _ in answers { if let outcome = self.outcome(of: request) { return outcome } }
                    return nil
                }
            }
            if let limit {
                group.addTask { [self] in
                    guard (try? await clock.sleep(for: limit)) != nil else { return nil }
                    return .failure(ModelError(.notInSync, "not in sync after \(limit): \(status)"))
                }
            }
            defer { group.cancelAll() }
            for await result in group { if let result { return result } }
            return Result<Void, ModelError>.failure(Self.stoppedWaiting)
        }
        try result.get()
    }

    /// Returns a success if everything is in sync, and a failure if a wait would be in vain; nil if waiting may help.
    ///
    /// - Parameter request: the number of the request for a sync; nil if this client does not sync.
    private func outcome(of request: Int?) -> Result<Void, ModelError>? {
        // Read before the status: what is in sync then is so after the answer.
        let isAnswered = parts.engine.map { $0.currentStatus.answeredRequests >= request ?? 0 } ?? true
        let status = status
        return switch status.phase {
        case .live where status.isInSync && isAnswered: .success(())
        case .otherProcess where isCurrent(status), .notSyncing where request == nil && isCurrent(status):
            .success(())
        case .notSyncing where status.lastInSync == nil && !parts.hasServer:
            .failure(ModelError(.noServer, "no server is configured, so nothing can be in sync with one"))
        case .needsToken, .blocked: .failure(ModelError(.notInSync, "not in sync: \(status)"))
        case .stopped: .failure(ModelError(.interrupted, "the sync has ended: \(status)"))
        case .live, .offline, .paused, .connecting, .otherProcess, .notSyncing: nil
        }
    }

    /// Whether another process has everything in sync, and has recorded that since its last poll.
    ///
    /// A process that has just started has not heard of anything new yet, and the database then still says that
    /// everything was in sync at the end of the previous run.
    private func isCurrent(_ status: ClientStatus) -> Bool {
        guard status.isInSync, let last = status.lastInSync else { return false }
        let policy = parts.settings.policy
        let age = Double(parts.runtime.now().milliseconds) / 1_000 - last.timeIntervalSince1970
        // A time in the future shows that a clock was set back, and tells nothing.
        return .seconds(abs(age)) <= ServerContact.precision + policy.pollIntervalWithHints + policy.requestDeadline
    }

    private static let stoppedWaiting = ModelError(.interrupted, "the caller stopped waiting for the sync")
}
