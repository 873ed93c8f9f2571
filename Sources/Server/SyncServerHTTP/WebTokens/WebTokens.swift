import Crypto
public import Logging
public import SyncAuthority
import SyncConcurrency
public import SyncModel

/// An authenticator that verifies JSON Web Tokens (RFC 7519) with the public keys of their issuer, from local files.
///
/// The files contain JSON Web Key Sets. Only the server's user or root may own them and write in them. A changed file
/// is read again at the next request. If it is then invalid, the earlier keys stay; if it is missing, no token is
/// accepted. Removing a key revokes its tokens.
///
/// Tokens whose signature was verified are remembered by their hash until they expire or the keys change.
public final class WebTokens: Authenticator {
    private let rules: WebTokenRules
    private let now: @Sendable () -> WallTime
    private let logger: Logger
    private let limit: Int
    private let keys: WatchedFile<WebKeyFiles.Stamp, WebKeySet>
    private let state = Guarded(State())

    fileprivate struct State {
        /// The version of the keys that verified these tokens.
        var version = 0
        var verified: [SHA256.Digest: WebTokenClaims] = [:]
        var refused = 0
    }

    /// Reads the keys.
    ///
    /// - Parameters:
    ///   - path: a file, or a folder of files whose names end in `.json`.
    ///   - now: the server's wall clock.
    /// - Throws: `WebTokenKeysError` when a file is missing or invalid, or when there is no key.
    public convenience init(
        keys path: String, rules: WebTokenRules, now: @escaping @Sendable () -> WallTime, logger: Logger
    ) throws(WebTokenKeysError) {
        try self.init(
            keys: path, rules: rules, now: now, logger: logger, remembering: SyncServerLimits.verifiedTokens)
    }

    /// - Parameter limit: the maximum number of verified tokens in memory.
    init(
        keys path: String, rules: WebTokenRules, now: @escaping @Sendable () -> WallTime, logger: Logger,
        remembering limit: Int
    ) throws(WebTokenKeysError) {
        self.limit = limit
        self.rules = rules
        self.now = now
        self.logger = logger
        let files = WebKeyFiles(path: path)
        let (stamp, keys): (WebKeyFiles.Stamp, WebKeySet)
        do throws(TrustedFileError) { (stamp, keys) = try files.read() } catch {
            throw WebTokenKeysError(description: error.description)
        }
        guard keys.count > 0 else {
            throw WebTokenKeysError(description: "\(path) has no key for EdDSA, ES256, or RS256")
        }
        self.keys = WatchedFile(
            keys, stamp: stamp, empty: WebKeySet(), currentStamp: files.stamp,
            read: { () throws(TrustedFileError) in try files.read() },
            report: { event in
                switch event {
                case .missing:
                    logger.error(
                        "the keys of JSON Web Tokens are missing: none is accepted until they exist again",
                        metadata: ["path": "\(path)"])
                case .readAgain(let keys):
                    logger.notice(
                        "the keys of JSON Web Tokens were read again",
                        metadata: ["keys": "\(keys.count)", "ignored": "\(keys.ignored)"])
                case .kept(let keys, let error):
                    logger.error(
                        "the keys of JSON Web Tokens cannot be used: the earlier ones stay accepted",
                        metadata: ["error": "\(error)", "keys": "\(keys.count)"])
                }
            })
    }

    public func principal(bearing token: String) -> Principal? {
        guard token.utf8.count <= SyncServerLimits.tokenBytes, WebToken.isOne(token) else { return nil }
        let (keys, version) = keys.current()
        let digest = SHA256.hash(data: Array(token.utf8))
        let known = state.withLock { state -> WebTokenClaims? in
            if state.version < version {
                state.version = version
                state.verified = [:]
            }
            return state.version == version ? state.verified[digest] : nil
        }
        do throws(WebTokenError) {
            let now = now()
            if let known {
                try known.check(at: now)
                return known.principal
            }
            let claims = try verifiedClaims(of: token, keys)
            try claims.check(at: now)
            state.withLock { state in
                guard state.version == version else { return }
                state.remember(claims, digest, within: limit, now)
            }
            return claims.principal
        } catch {
            refuse(error)
            return nil
        }
    }

    /// Verifies the signature, and then reads the claims.
    private func verifiedClaims(of text: String, _ keys: WebKeySet) throws(WebTokenError) -> WebTokenClaims {
        let token = try WebToken(text)
        let key = try keys.key(of: token)
        guard key.verifier.isValid(token.signature, of: token.message) else { throw .signature }
        return try WebTokenClaims(token.payload, rules)
    }

    private func refuse(_ reason: WebTokenError) {
        state.withLock { $0.refused += 1 }
        // Anyone can send such a token, so the message contains nothing of it, and its level is low.
        logger.info("a JSON Web Token was refused", metadata: ["reason": "\(reason.rawValue)"])
    }

    // MARK: For metrics

    /// The number of keys. Reads the keys if they have changed.
    var keyCount: Int { keys.current().value.count }
    /// Whether the current files could not be used, so that the keys are earlier ones.
    var hasStaleKeys: Bool { keys.isStale }
    /// The number of tokens that were refused since the start.
    var refused: Int { state.withLock { $0.refused } }
    /// The number of verified tokens in memory.
    var remembered: Int { state.withLock { $0.verified.count } }
}

/// An error in the keys of JSON Web Tokens. It reveals nothing of their contents.
public struct WebTokenKeysError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
}

extension WebTokens.State {
    /// Remembers a verified token. If there is no room, forgets those that have expired, or else all.
    fileprivate mutating func remember(
        _ claims: WebTokenClaims, _ digest: SHA256.Digest, within limit: Int, _ now: WallTime
    ) {
        if verified.count >= limit {
            verified = verified.filter { now < $0.value.end }
            if verified.count >= limit { verified = [:] }
        }
        verified[digest] = claims
    }
}
