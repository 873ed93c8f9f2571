public import Foundation
import SyncCore
public import SyncModel

/// The state of a client's sync as one value: what it does, why it does not do more, and what is left to do.
public struct ClientStatus: Hashable, Sendable {
    /// The main state of the sync.
    public var phase: Phase
    /// Why the client is in this phase, as a sentence for people. Empty when there is nothing to say.
    public var reason: String
    /// The number of transactions that the server has not confirmed.
    public var pending: Int
    /// How many of them wait until the server knows their collections and fields.
    public var waiting: Int
    /// The number of rejected transactions that nobody has decided about.
    public var rejected: Int
    /// When everything was last in sync; nil if it never was.
    public var lastInSync: Date?
    /// Whether everything written here is confirmed, and everything that the account may read is here.
    public var isInSync: Bool
    /// The spaces that the device follows, sorted by name. Empty after a close.
    public var spaces: [Space]

    /// The state of a followed space on this device.
    public struct Space: Hashable, Sendable {
        /// The name of the space.
        public var space: SpaceID
        /// Whether the whole space has been downloaded. Until then, queries find a part of its records.
        public var isComplete: Bool
        /// False when the server has said that the account may not read the space. It is then empty.
        public var hasAccess: Bool
    }

    /// The main state of the sync.
    public enum Phase: String, Hashable, Sendable, CaseIterable {
        /// The client has no server, was opened without sync, or waits for the first ``Client/syncNow()``.
        case notSyncing
        /// There is no way to the server. The client tries again by itself.
        case offline
        /// There is a way to the server, and it has not answered yet.
        case connecting
        /// The server has answered. Changes go both ways.
        case live
        /// The server wants another token: the user has to sign in.
        case needsToken
        /// A person has to do something; ``ClientStatus/reason`` says what.
        case blocked
        /// Another process syncs this database. This one takes over when it ends.
        case otherProcess
        /// The client is closed, or its sync has ended.
        case stopped
    }

    /// Whether a person should look: a sign-in is needed, the sync is blocked, or the server has rejected something.
    public var needsAttention: Bool {
        phase == .needsToken || phase == .blocked || rejected > 0
    }
}

extension ClientStatus: CustomStringConvertible {
    public var description: String {
        var text = phase.rawValue
        if !reason.isEmpty { text += " (\(reason))" }
        if pending > 0 { text += ", \(pending) pending" }
        if waiting > 0 { text += ", \(waiting) waiting for a newer server" }
        if rejected > 0 { text += ", \(rejected) rejected" }
        return text
    }
}

extension ClientStatus {
    /// The phase of a running engine, with its reason.
    static func phase(of status: SyncStatus, token: TokenKeeper.Outcome?) -> (Phase, String) {
        if let failure = status.storeFailure { return (.blocked, failure.message) }
        for space in status.spaces {
            if case .braked(let deletes, let total) = space.pull {
                return (
                    .blocked,
                    "the server would delete \(deletes) of \(total) records here; allowDeletions() agrees to that"
                )
            }
        }
        switch status.connection {
        case .notRunning, .connecting: return (.connecting, "")
        case .online: return (.live, "")
        case .offline(let reason): return (.offline, reason)
        case .waiting(let failure, _), .recovering(let failure, _): return (.offline, failure.message)
        case .refused(let failure):
            guard failure.code == .unauthorized else { return (.blocked, failure.message) }
            switch token {
            case .signedOut?: return (.needsToken, "the user is signed out")
            case .failed(let message)?: return (.needsToken, message)
            case .unknown?, .known?, nil: return (.needsToken, failure.message)
            }
        case .stopped: return (.stopped, "")
        }
    }
}
