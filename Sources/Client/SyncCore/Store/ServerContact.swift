public import SyncModel

/// A database's memory of its contact with the server, for later runs and other programs.
public struct ServerContact: Hashable, Sendable {
    /// When everything was last in sync; nil when it never was. Written at most every `precision`.
    public var lastSync: WallTime?
    /// The last failure since then; nil when there was none.
    public var lastFailure: Failure?
    /// Until when the server asked to be left alone; nil when it did not.
    public var pausedUntil: WallTime?

    public struct Failure: Hashable, Sendable {
        /// The code of a `TransportFailure` or a `StoreFailure`.
        public var code: String
        /// One sentence: the fault, and what was expected. Holds no secret.
        public var message: String
        public var at: WallTime

        public init(code: String, message: String, at: WallTime) {
            self.code = code
            self.message = message
            self.at = at
        }
    }

    /// A device in sync does not write more often than this, only to say that it still is.
    public static let precision = Duration.seconds(300)

    public init(lastSync: WallTime? = nil, lastFailure: Failure? = nil, pausedUntil: WallTime? = nil) {
        self.lastSync = lastSync
        self.lastFailure = lastFailure
        self.pausedUntil = pausedUntil
    }

    /// How much longer the server is to be left alone; nil when it is not.
    ///
    /// A pause that would last longer than any that is granted was noted by a clock that has been set back since: it is over.
    public func pause(at now: WallTime, atMost longest: Duration) -> Duration? {
        guard let pausedUntil else { return nil }
        let left = Duration.milliseconds(pausedUntil.milliseconds - now.milliseconds)
        return left > .zero && left <= longest ? left : nil
    }
}

/// News of the contact with the server.
public enum ContactNews: Hashable, Sendable {
    /// Everything is in sync.
    case inSync
    case failed(code: String, message: String)
    /// The server asked to be left alone for so long.
    case paused(Duration)
}

extension ServerContact {
    /// Takes in the news. False when there is nothing that has to be written down.
    public mutating func note(_ news: ContactNews, now: WallTime) -> Bool {
        switch news {
        case .inSync:
            if let lastSync, lastFailure == nil, pausedUntil == nil, now >= lastSync,
                now < lastSync.advanced(by: Self.precision)
            {
                return false
            }
            self = ServerContact(lastSync: now)
        case .failed(let code, let message):
            // Of a row of equal failures the first one tells since when.
            if let lastFailure, lastFailure.code == code, lastFailure.message == message { return false }
            lastFailure = Failure(code: code, message: message, at: now)
        case .paused(let duration):
            pausedUntil = now.advanced(by: duration)
        }
        return true
    }
}
