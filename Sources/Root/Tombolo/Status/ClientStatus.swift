public import Foundation
import SyncCore
public import SyncModel

/// The state of a client's sync as one value: the phase, its reason, and the work that is left.
public struct ClientStatus: Hashable, Sendable {
    /// The main state of the sync.
    public var phase: Phase
    /// The reason for this phase, as a sentence for people; empty if there is none. In the phase `live`, it tells why a
    /// push or a space waits.
    public var reason: String
    /// The number of transactions that the server has not confirmed.
    public var pending: Int
    /// The number of pending transactions that are held back until the server knows their collections and fields.
    public var waiting: Int
    /// The number of rejected or lost transactions that nobody has decided about. See `RejectedWrite`.
    public var rejected: Int
    /// The end of the pause that the server asked for; nil while nothing waits for it, or if the server named no time.
    public var pausedUntil: Date?
    /// The time at which everything was last in sync, whichever process synced it; nil if it never was.
    ///
    /// While everything stays in sync, the time is updated every few minutes.
    public var lastInSync: Date?
    /// Whether the server has confirmed everything written here, and the device has everything of the followed spaces
    /// that the account may read, and of which the device has heard.
    ///
    /// This holds as of the last contact with the server. If this client does not sync, it holds as of what another
    /// process has stored. ``Client/synced(within:)`` waits for it, and for a contact.
    public var isInSync: Bool
    /// The spaces that the device follows, sorted by name. Empty after a close.
    public var spaces: [Space]

    /// The state of a followed space on this device.
    public struct Space: Hashable, Sendable {
        /// The name of the space.
        public var space: SpaceID
        /// Whether the whole space has been downloaded. Until then, queries find a part of its records.
        public var isComplete: Bool
        /// False when the server has said that the account may not read the space. The device then holds no records of
        /// the server in it.
        public var hasAccess: Bool
    }

    /// The main state of the sync.
    public enum Phase: String, Hashable, Sendable, CaseIterable {
        /// The client has no server, was opened without sync, or waits for the first ``Client/syncNow()``.
        case notSyncing
        /// The server cannot be reached, or fails, or the token closure fails. The client tries again by itself.
        case offline
        /// The server asked to wait, because it is busy or gets too many requests. The client tries again by itself at
        /// ``ClientStatus/pausedUntil``.
        case paused
        /// The device has a network, and the server has not responded yet.
        case connecting
        /// The server has responded. Changes go both ways.
        case live
        /// The server refuses the token, or there is none: the user has to sign in.
        case needsToken
        /// A person has to act. ``ClientStatus/reason`` tells why.
        case blocked
        /// Another process syncs this database. This client may take over when that process ends.
        case otherProcess
        /// The client is closed, or its sync has ended.
        case stopped
    }

    /// Whether a person has to act: a sign-in is needed, the sync is blocked, or there are rejected transactions.
    public var needsAttention: Bool {
        phase == .needsToken || phase == .blocked || rejected > 0
    }
}

extension ClientStatus: CustomStringConvertible {
    public var description: String {
        var text = phase.rawValue
        if !reason.isEmpty { text += " (\(reason))" }
        if let pausedUntil { text += ", until \(pausedUntil.formatted(.iso8601))" }
        if pending > 0 { text += ", \(pending) pending" }
        if waiting > 0 { text += ", \(waiting) waiting for a newer server" }
        if rejected > 0 { text += ", \(rejected) rejected" }
        let denied = spaces.filter { !$0.hasAccess }.map(\.space.rawValue)
        if !denied.isEmpty { text += ", no access to \(denied.joined(separator: ", "))" }
        return text
    }
}

extension ClientStatus {
    /// Returns the phase of a running engine, with its reason.
    ///
    /// - Parameters:
    ///   - token: the keeper of the application's token; nil if the token comes from the settings.
    ///   - problem: the reason why the token of the settings cannot be used; nil if there is none.
    static func phase(of status: SyncStatus, token: TokenKeeper?, problem: String?) -> (Phase, String) {
        if let failure = status.storeFailure { return (.blocked, failure.statusMessage) }
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
        case .online: return (.live, status.push.obstacle ?? status.spaces.compactMap(\.pull.obstacle).first ?? "")
        case .offline(let reason): return (.offline, reason)
        case .waiting(let failure, _), .recovering(let failure, _): return (.offline, failure.message)
        case .paused(let failure, _): return (.paused, failure.message)
        case .storeFailed(let failure, _): return (.blocked, failure.statusMessage)
        case .refused(let failure):
            guard failure.code == .unauthorized else { return (.blocked, failure.message) }
            switch token?.outcome {
            case .signedOut?: return (.needsToken, "the user is signed out")
            // The closure could not tell whether somebody is signed in. It is called again by itself.
            case .failed(let message)?: return (.offline, message)
            case .known? where token?.isUntried == true: return (.connecting, "")
            case .unknown?, .known?, nil: return (.needsToken, problem ?? failure.message)
            }
        case .stopped: return (.stopped, "")
        }
    }
}
