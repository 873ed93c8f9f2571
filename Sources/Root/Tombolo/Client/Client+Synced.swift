import Foundation
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
    /// everything of the followed spaces of which it has heard. If another process syncs the database, this client sees
    /// only what that process has stored: that everything is in sync, and that it was in contact with the server some
    /// minutes ago at most. To wait for one write, use `Receipt.confirmed()`.
    ///
    /// - Parameter limit: The longest time to wait; nil for no limit. Without a limit, the call waits as long as the
    ///   server is away. Cancel its task to stop waiting.
    /// - Throws: `notInSync`, with the state of the sync, when the limit is over or only a person can remove the
    ///   obstacle; `noServer` when no server is configured and no process has ever synced this database; `interrupted`
    ///   when the task is cancelled or the client is closed. Writes stay, and are sent later.
    public func synced(within limit: Duration? = nil) async throws(ModelError) {
        syncNow()
        let (clock, updates) = (parts.runtime.clock, statusUpdates)
        let result = await withTaskGroup(of: Result<Void, ModelError>?.self) { [self] group in
            group.addTask { [self] in await settled(updates) }
            if let limit {
                group.addTask { [self] in
                    guard (try? await clock.sleep(for: limit)) != nil else { return nil }
                    return .failure(ModelError(.notInSync, "not in sync after \(limit): \(status)"))
                }
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        try (result ?? .failure(Self.stoppedWaiting)).get()
    }

    private func settled(_ updates: ClientStatusUpdates) async -> Result<Void, ModelError> {
        for await status in updates {
            if let result = result(of: status) { return result }
        }
        return .failure(Self.stoppedWaiting)
    }

    /// Returns a success if everything is in sync, and a failure if a wait would be in vain; nil if waiting may help.
    private func result(of status: ClientStatus) -> Result<Void, ModelError>? {
        switch status.phase {
        case .live where status.isInSync: .success(())
        case .otherProcess where isCurrent(status), .notSyncing where isCurrent(status): .success(())
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
