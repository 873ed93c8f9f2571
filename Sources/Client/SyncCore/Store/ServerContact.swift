public import SyncModel

/// The contact with the server, as the database remembers it for later runs and other programs.
public struct ServerContact: Hashable, Sendable {
    /// When everything was last in sync; nil when it never was.
    ///
    /// While a device stays in sync, the time is stored once every `precision`, and whenever a program records
    /// `confirmedInSync`.
    public var lastSync: WallTime?
    /// The last failure since `lastSync`; nil when there was none.
    public var lastFailure: Failure?
    /// The pause that a server asked for; nil when none asked for one.
    public var pause: Pause?

    /// A pause between requests, as the database remembers it.
    public struct Pause: Hashable, Sendable {
        /// The end by the device's wall clock.
        public var end: WallTime
        /// The length that the server asked for.
        public var length: Duration
        /// The address of the server that asked for it; nil when it is unknown.
        public var server: String?

        /// Creates a pause of this length until `end`.
        public init(until end: WallTime, of length: Duration, by server: String?) {
            self.end = end
            self.length = length
            self.server = server
        }
    }

    /// A failure of a sync, as the database remembers it.
    public struct Failure: Hashable, Sendable {
        /// The code of a `TransportError`; `store.` and the code of a `StoreError`; `contradiction`; the code of
        /// another obstacle (`identity`, `reset`, or `history_in_doubt`); `braked`; or, from `syncctl sync`, `offline`
        /// or `blocked`.
        public var code: String
        /// One sentence that states the fault and what was expected. Contains no secret.
        public var message: String
        /// The device's wall clock at the first of several equal failures in a row.
        public var at: WallTime

        /// The code while the mass-delete brake waits for a person's consent.
        public static let braked = "braked"
        /// The code of a server that contradicts itself or this database, whose file may be intact.
        public static let contradiction = "contradiction"
        /// The code of a server that is at an earlier version than it has confirmed to this device.
        public static let historyInDoubt = "history_in_doubt"
        /// The code of a server that refuses each new identity of this device.
        public static let identity = "identity"
        /// The start of the code of a failure of the local store.
        static let storePrefix = "store."

        /// The failure of the local store; nil if something else has failed.
        public var storeError: StoreError? {
            guard code.hasPrefix(Self.storePrefix) else { return nil }
            let known = StoreError.Code(rawValue: String(code.dropFirst(Self.storePrefix.count)))
            return known.map { StoreError($0, message) }
        }

        /// The message for people, which names the local store if that has failed.
        public var statusMessage: String { storeError?.statusMessage ?? message }

        /// Creates a failure. The message must not contain a secret, because it is stored and shown.
        public init(code: String, message: String, at: WallTime) {
            self.code = code
            self.message = message
            self.at = at
        }
    }

    /// How often a device that stays in sync records that it still is.
    public static let precision = Duration.seconds(300)

    /// Creates the memory of a contact, by default of a device that never had one.
    public init(lastSync: WallTime? = nil, lastFailure: Failure? = nil, pause: Pause? = nil) {
        self.lastSync = lastSync
        self.lastFailure = lastFailure
        self.pause = pause
    }

    /// Returns the rest of the pause that the server at this address asked for, or nil when it is over or another
    /// server asked for it.
    ///
    /// If more is left than the whole pause, the clock has been set back since, and the pause counts as over. A pause
    /// by an unknown server is taken for one by this server, and a nil `server` for the one that asked.
    public func restOfPause(by server: String?, at now: WallTime) -> Duration? {
        guard let pause else { return nil }
        if let asked = pause.server, let server, asked.withoutSlash != server.withoutSlash { return nil }
        let left = Duration.milliseconds(pause.end.milliseconds) - .milliseconds(now.milliseconds)
        return left > .zero && left <= pause.length ? left : nil
    }
}

/// News of the contact with the server.
public enum ContactChange: Hashable, Sendable {
    /// Everything is in sync. Not written if that was written less than `ServerContact.precision` ago.
    case inSync
    /// Everything is in sync, and a program has confirmed it, for example at the end of a requested sync. Always
    /// written.
    case confirmedInSync
    /// Everything is in sync but transactions that wait for an upgrade of the server. Ends the last failure; written
    /// only if there is one.
    case inSyncButHeld
    /// A sync has failed. Not written if the last failure has the same code and message.
    case failed(code: String, message: String)
    /// The server at this address asked for a pause of this length. The engine fills in the address.
    case paused(Duration, by: String? = nil)
}

extension String {
    /// The address without a slash at its end, which makes no difference.
    fileprivate var withoutSlash: Substring { hasSuffix("/") ? dropLast() : self[...] }
}

extension ServerContact {
    /// Updates the contact. Returns false when there is nothing to write.
    public mutating func note(_ news: ContactChange, now: WallTime) -> Bool {
        switch news {
        case .inSync:
            if let lastSync, lastFailure == nil, pause == nil, now >= lastSync,
                now < lastSync.advanced(by: Self.precision)
            {
                return false
            }
            self = ServerContact(lastSync: now)
        case .confirmedInSync:
            self = ServerContact(lastSync: now)
        case .inSyncButHeld:
            guard lastFailure != nil || pause != nil else { return false }
            (lastFailure, pause) = (nil, nil)
        case .failed(let code, let message):
            // Of several equal failures in a row, keep the first one, whose time shows when they began.
            if let lastFailure, lastFailure.code == code, lastFailure.message == message { return false }
            lastFailure = Failure(code: code, message: message, at: now)
        case .paused(let duration, let server):
            pause = Pause(until: now.advanced(by: duration), of: duration, by: server)
        }
        return true
    }
}
