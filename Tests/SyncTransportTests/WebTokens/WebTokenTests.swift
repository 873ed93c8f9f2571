import Foundation
import Logging
import SyncAuthority
import SyncConcurrency
import SyncModel
import TestRings
import Testing

@testable import SyncServerHTTP

/// JSON Web Tokens, valid and forged, without HTTP.
@Suite(.ring(.unit)) struct WebTokenTests {
    private let folder: KeyFolder

    init() throws { folder = try KeyFolder() }

    private static func issuer() throws -> TokenIssuer { try TokenIssuer.known.get() }

    private static func stranger() throws -> TokenIssuer { try TokenIssuer.stranger.get() }

    private static func keys() throws -> String { try issuer().jwksWithTwoForEdDSA() }

    // MARK: Forged tokens

    @Test(arguments: ForgedToken.all) func `S6: a forged JSON Web Token is refused`(forged: ForgedToken) async throws {
        try folder.write(Self.keys())
        let (issuer, stranger) = (try Self.issuer(), try Self.stranger())
        let lines = Guarded<[String]>([])
        let tokens = try folder.tokens(log: lines)
        let token = try forged.text(issuer, stranger)
        #expect(tokens.principal(bearing: token) == nil)
        #expect(tokens.principal(bearing: token) == nil, "the second time")
        let expected = forged.reason.map { "info a JSON Web Token was refused [:] [\"reason\": \($0.rawValue)] " }
        #expect(lines.withLock { $0 } == expected.map { [$0, $0] } ?? [])
        #expect(tokens.remembered == 0)
        #expect(try tokens.principal(bearing: issuer.token()) == TestServer.principal, "a valid one is accepted")
    }

    @Test func `S6: at least 40 forged tokens have names, and each name occurs once`() {
        let names = ForgedToken.all.map(\.name)
        #expect(names.count >= 40)
        #expect(Set(names).count == names.count)
    }

    // MARK: Valid tokens

    @Test(arguments: TokenIssuer.Key.allCases)
    func `a token that its key has signed names an account`(key: TokenIssuer.Key) async throws {
        let issuer = try Self.issuer()
        try folder.write(Self.keys())
        let tokens = try folder.tokens()
        for header in ["", #","typ":"JWT""#, #","typ":"at+jwt""#, #","jku":"x","x5u":"y","x5c":[],"unknown":{"a":1}"#] {
            let token = try issuer.token(key.header + header, by: key)
            #expect(tokens.principal(bearing: token) == TestServer.principal, "\(header)")
        }
    }

    @Test(arguments: [
        TokenIssuer.claims(aud: #"["other","tombolo"]"#),
        TokenIssuer.claims(aud: #"["tombolo"]"#),
        TokenIssuer.claims(exp: "\(TokenIssuer.now + 1)"),
        TokenIssuer.claims(exp: "253402300799"),
        TokenIssuer.claims(nbf: "\(TokenIssuer.now + 60)"),
        TokenIssuer.claims(iat: "\(TokenIssuer.now + 60)"),
        TokenIssuer.claims(nbf: "0", iat: "0"),
        TokenIssuer.claims() + #","jti":"1","scope":"read","tombolo":[{"a":null}]"#,
        TokenIssuer.claims().replacing("sub", with: #"\u0073ub"#),
        TokenIssuer.claims().replacing("ann", with: #"\u0061nn"#),
    ])
    func `claims at the edges of the rules are accepted`(claims: String) async throws {
        try folder.write(Self.keys())
        let token = try Self.issuer().token(nil, claims)
        #expect(try folder.tokens().principal(bearing: token) == TestServer.principal)
    }

    @Test func `a sub may be as long as the longest name of a principal`() async throws {
        try folder.write(Self.keys())
        let name = String(repeating: "a", count: 128)
        let token = try Self.issuer().token(nil, TokenIssuer.claims(sub: "\"\(name)\""))
        #expect(try folder.tokens().principal(bearing: token) == Principal(name: name))
    }

    @Test func `a token needs no kid while one key is of its algorithm`() async throws {
        let issuer = try Self.issuer()
        try folder.write(issuer.jwks())
        let tokens = try folder.tokens()
        for key in TokenIssuer.Key.allCases {
            let token = try issuer.token(#""alg":"\#(key.algorithm)""#, by: key)
            #expect(tokens.principal(bearing: token) == TestServer.principal)
        }
    }

    @Test func `the skew is a setting, and an expiry has none`() async throws {
        try folder.write(Self.keys())
        let issuer = try Self.issuer()
        let strict = try folder.tokens(skew: .zero)
        #expect(
            try strict.principal(bearing: issuer.token(nil, TokenIssuer.claims(nbf: "\(TokenIssuer.now)"))) != nil
        )
        #expect(
            try strict.principal(bearing: issuer.token(nil, TokenIssuer.claims(nbf: "\(TokenIssuer.now + 1)")))
                == nil)
        let lax = try folder.tokens(skew: .seconds(600))
        #expect(
            try lax.principal(bearing: issuer.token(nil, TokenIssuer.claims(nbf: "\(TokenIssuer.now + 600)")))
                != nil)
        #expect(
            try lax.principal(bearing: issuer.token(nil, TokenIssuer.claims(exp: "\(TokenIssuer.now - 1)")))
                == nil)
    }

    /// RFC 8037, appendix A.4, and RFC 7515, appendix A.3. Their payloads are refused, after their signatures.
    @Test(arguments: [
        (
            #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
            WebTokenError.payload
        ),
        (
            #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
            WebTokenError.issuer
        ),
    ])
    func `the signatures of the RFCs' examples are valid`(key: String, token: String, reason: WebTokenError)
        async throws
    {
        try folder.write(TokenIssuer.set([key]))
        let lines = Guarded<[String]>([])
        #expect(try folder.tokens(log: lines).principal(bearing: token) == nil)
        #expect(lines.withLock { $0.first?.contains(reason.rawValue) } == true)
    }

    // MARK: Remembered tokens

    @Test func `a verified token is remembered until it expires or the clock goes back before its beginning`()
        async throws
    {
        try folder.write(Self.keys())
        let clock = Guarded(TestServer.now())
        let tokens = try folder.tokens(now: { clock.withLock { $0 } })
        let token = try Self.issuer().token(
            nil, TokenIssuer.claims(exp: "\(TokenIssuer.now + 10)", nbf: "\(TokenIssuer.now)"))
        #expect(tokens.principal(bearing: token) != nil)
        #expect(tokens.remembered == 1)
        func at(_ milliseconds: Int64) -> Bool {
            clock.withLock { $0 = WallTime(milliseconds: TestServer.now().milliseconds + milliseconds) }
            return tokens.principal(bearing: token) != nil
        }
        #expect(at(9_999))
        #expect(!at(10_000))
        #expect(at(-60_000))
        #expect(!at(-60_001))
    }

    @Test func `the number of remembered tokens is bounded, and those that have expired make room first`() async throws
    {
        try folder.write(Self.keys())
        let clock = Guarded(TestServer.now())
        let tokens = try folder.tokens(now: { clock.withLock { $0 } }, remembering: 4)
        let issuer = try Self.issuer()
        func present(_ number: Int, for seconds: Int64) throws {
            let claims = TokenIssuer.claims(sub: "\"a\(number)\"", exp: "\(TokenIssuer.now + seconds)")
            #expect(tokens.principal(bearing: try issuer.token(nil, claims)) == Principal(name: "a\(number)"))
        }
        for number in 0..<3 { try present(number, for: 10) }
        try present(3, for: 1_000)
        #expect(tokens.remembered == 4)
        clock.withLock { $0 = $0.advanced(by: .seconds(10)) }
        try present(4, for: 1_000)
        #expect(tokens.remembered == 2)
        for number in 5..<50 { try present(number, for: 1_000) }
        #expect((1...4).contains(tokens.remembered))
    }

    @Test(arguments: 0..<16 as Range<UInt64>)
    func `a token with changed bytes is refused`(seed: UInt64) async throws {
        try folder.write(Self.keys())
        let lines = Guarded<[String]>([])
        let tokens = try folder.tokens(log: lines)
        let whole = Array(try Self.issuer().token().utf8)
        let random = TestServer.random(seed: seed)
        for _ in 0..<50 {
            let bytes = TestServer.changed(whole, random)
            guard bytes != whole else { continue }
            #expect(tokens.principal(bearing: String(decoding: bytes, as: UTF8.self)) == nil)
        }
        #expect(lines.withLock { $0.allSatisfy { $0.hasPrefix("info a JSON Web Token was refused") } })
    }
}
