package import SyncAuthority
import SyncJSON
package import SyncModel

/// The claims that a JSON Web Token must have to be accepted.
public struct WebTokenRules: Hashable, Sendable {
    /// The value of the claim `iss`.
    public var issuer: String
    /// The value of the claim `aud`, or one of its values.
    public var audience: String
    /// The time by which `nbf` and `iat` may be ahead of this server's clock. `exp` has no such allowance.
    public var clockSkew: Duration

    /// Creates rules for the tokens of one issuer.
    public init(issuer: String, audience: String, clockSkew: Duration = .seconds(60)) {
        self.issuer = issuer
        self.audience = audience
        self.clockSkew = clockSkew
    }
}

/// The claims of a JSON Web Token that names an account, and the time in which it is valid.
package struct WebTokenClaims: Hashable, Sendable {
    package let principal: Principal
    /// The first time at which this server accepts the token: the later of `nbf` and `iat`, less the permitted skew.
    package let beginning: WallTime
    /// The first time at which the token is no longer valid.
    package let end: WallTime

    /// Reads the claims, and checks all of them except against the clock.
    package init(_ payload: [UInt8], _ rules: WebTokenRules) throws(WebTokenError) {
        guard let claims = try? JSONValue(payload), case .object = claims else { throw .payload }
        guard case .string(let issuer) = claims["iss"], issuer.utf8.elementsEqual(rules.issuer.utf8) else {
            throw .issuer
        }
        guard let audience = Self.strings(claims["aud"]),
            audience.contains(where: { $0.utf8.elementsEqual(rules.audience.utf8) })
        else { throw .audience }
        guard case .string(let subject) = claims["sub"], Principal.isValidName(subject) else { throw .subject }
        principal = Principal(name: subject)
        guard let expiry = try Self.seconds(claims["exp"]) else { throw .time }
        end = WallTime(milliseconds: expiry * 1_000)
        let notBefore = try Self.seconds(claims["nbf"]) ?? 0
        let issued = try Self.seconds(claims["iat"]) ?? 0
        beginning = WallTime(milliseconds: max(notBefore, issued) * 1_000).advanced(by: .zero - rules.clockSkew)
    }

    /// Checks the claims against the clock.
    func check(at now: WallTime) throws(WebTokenError) {
        guard now < end else { throw .expired }
        guard now >= beginning else { throw .notYetValid }
    }

    /// Returns the strings of a claim that is one string or a list of them; nil for anything else.
    private static func strings(_ value: JSONValue?) -> [String]? {
        switch value {
        case .string(let string): return [string]
        case .array(let values):
            let strings = values.compactMap { value in if case .string(let string) = value { string } else { nil } }
            return strings.count == values.count ? strings : nil
        default: return nil
        }
    }

    /// Returns the time of a claim; nil when there is none.
    private static func seconds(_ value: JSONValue?) throws(WebTokenError) -> Int64? {
        switch value {
        case nil: return nil
        case .integer(let seconds) where (0...SyncServerLimits.latestTime).contains(seconds): return seconds
        default: throw .time
        }
    }
}
