import Foundation
import Tombolo

/// The result of `contacts sync`: the line to print, and the exit status.
struct SyncResult: Equatable {
    let line: String
    let exitStatus: Int32

    private init(_ line: String, _ exitStatus: Int32) {
        self.line = line.printable
        self.exitStatus = exitStatus
    }

    /// Creates the result for a status; nil while the sync may still complete.
    ///
    /// - Parameter isLate: whether the wait is over.
    init?(_ status: ClientStatus, isLate: Bool) {
        let reason = status.reason.isEmpty ? "" : ": \(status.reason)"
        let time = status.waiting > 0 ? "when the server is upgraded" : "later"
        let kept =
            switch status.pending {
            case 0: ""
            case 1: "; 1 change is kept here and sent \(time)"
            default: "; \(status.pending) changes are kept here and sent \(time)"
            }
        let denied = status.spaces.filter { !$0.hasAccess }.map(\.space.rawValue)
        switch status.phase {
        case .live where status.isInSync && !denied.isEmpty:
            self.init(
                "the account may not read \(denied.joined(separator: ", ")): its contacts are no longer here\(kept)", 5)
        case .live where status.isInSync:
            let rejected =
                status.rejected > 0 ? "; the server has rejected or lost \(status.rejected): see contacts problems" : ""
            self.init("in sync\(rejected)", 0)
        case .notSyncing:
            self.init("no server is configured: set CONTACTS_SERVER_URL and CONTACTS_SERVER_TOKEN_FILE", 1)
        case .needsToken: self.init("not synced: the server wants another token\(reason)\(kept)", 5)
        case .blocked, .stopped: self.init("not synced\(reason)\(kept)", 9)
        case .offline where isLate: self.init("not synced: offline\(reason)\(kept)", 4)
        case .paused where isLate:
            let end = status.pausedUntil.map { " until \($0.formatted(.iso8601))" } ?? ""
            self.init("not synced: the server asked for a pause\(end)\(reason)\(kept)", 4)
        case .otherProcess where status.pending == 0:
            self.init("another program keeps this contact book in sync, and has sent every change", 0)
        case .otherProcess where isLate, .connecting where isLate, .live where isLate:
            self.init("not in sync yet\(reason)\(kept)", 4)
        case .offline, .paused, .otherProcess, .connecting, .live: return nil
        }
    }

    /// Requests a sync, and waits for its result, at most until the timeout.
    static func waiting(for client: Client, atMost timeout: Duration) async -> SyncResult {
        client.syncNow()
        let result = await client.firstResult(within: timeout) { SyncResult($0, isLate: false) }
        return result ?? SyncResult(client.status, isLate: true) ?? SyncResult("not in sync yet", 4)
    }
}

extension Client {
    /// Returns the status after the first contact with the server, or its failure; the current one if that takes longer.
    func settledStatus(within timeout: Duration) async -> ClientStatus {
        await firstResult(within: timeout) { $0.phase == .connecting ? nil : $0 } ?? status
    }

    /// Returns the first result that `body` gives for a status; nil if there is none in time.
    fileprivate func firstResult<Result: Sendable>(
        within timeout: Duration, _ body: @escaping @Sendable (ClientStatus) -> Result?
    ) async -> Result? {
        await withTaskGroup(of: Result?.self) { group in
            group.addTask {
                for await status in self.statusUpdates {
                    if let result = body(status) { return result }
                }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
