import Crypto
import CryptoExtras
import Foundation
import SyncModel
import Testing

@testable import SyncServerHTTP

/// An issuer of JSON Web Tokens with three keys, and every way to make invalid ones. It uses no code of the server.
struct TokenIssuer: Sendable {
    static let name = "https://id.example"
    static let audience = "tombolo"
    /// The time at which tokens are issued and checked, in seconds.
    static let now = TestServer.now().milliseconds / 1_000

    /// The claims of a valid token as JSON, without the braces.
    static let claims = claims()

    /// Returns claims as JSON, without the braces. A nil leaves the claim out.
    static func claims(
        iss: String? = #""https://id.example""#, aud: String? = #""tombolo""#, sub: String? = #""ann""#,
        exp: String? = "\(now + 600)", nbf: String? = nil, iat: String? = nil
    ) -> String {
        [("iss", iss), ("aud", aud), ("sub", sub), ("exp", exp), ("nbf", nbf), ("iat", iat)]
            .compactMap { name, value in value.map { "\"\(name)\":\($0)" } }.joined(separator: ",")
    }

    enum Key: String, CaseIterable {
        case ed, ec, rsa

        var algorithm: String {
            switch self {
            case .ed: "EdDSA"
            case .ec: "ES256"
            case .rsa: "RS256"
            }
        }

        var header: String { #""alg":"\#(algorithm)","kid":"\#(rawValue)""# }
    }

    let ed: Curve25519.Signing.PrivateKey
    let ec: P256.Signing.PrivateKey
    let rsa: _RSA.Signing.PrivateKey

    /// The issuer that the server knows, and one that it does not know. An RSA key takes long to make.
    static let known = Result { try TokenIssuer() }
    static let stranger = Result { try TokenIssuer() }

    init() throws {
        ed = Curve25519.Signing.PrivateKey()
        ec = P256.Signing.PrivateKey()
        rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    // MARK: Tokens

    /// Returns a token.
    ///
    /// - Parameters:
    ///   - header: the header as JSON without the braces; nil for that of `key`.
    ///   - claims: the claims as JSON without the braces.
    ///   - key: the key that signs.
    func token(_ header: String? = nil, _ claims: String = Self.claims, by key: Key = .ed) throws -> String {
        try token(json: "{\(header ?? key.header)}", payload: "{\(claims)}", by: key)
    }

    /// Returns a token with any text as its header and its payload.
    func token(json header: String, payload: String, by key: Key = .ed) throws -> String {
        let message = Self.message(header, payload)
        return message + "." + Self.base64URL(try signature(of: message, by: key))
    }

    static func message(_ header: String, _ payload: String) -> String {
        base64URL(Array(header.utf8)) + "." + base64URL(Array(payload.utf8))
    }

    func signature(of message: String, by key: Key) throws -> [UInt8] {
        let message = Data(message.utf8)
        return switch key {
        case .ed: Array(try ed.signature(for: message))
        case .ec: Array(try ec.signature(for: message).rawRepresentation)
        case .rsa:
            Array(try rsa.signature(for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }

    /// Returns a valid token whose signature is replaced.
    func token(signedBy key: Key = .ed, as change: ([UInt8]) throws -> [UInt8]) throws -> String {
        let message = Self.message("{\(key.header)}", "{\(Self.claims)}")
        return message + "." + Self.base64URL(try change(signature(of: message, by: key)))
    }

    /// Returns a token with a keyed hash in place of a signature.
    func token(hashedWith secret: [UInt8], kid: Key) -> String {
        let message = Self.message(#"{"alg":"HS256","kid":"\#(kid.rawValue)"}"#, "{\(Self.claims)}")
        let code = HMAC<SHA256>.authenticationCode(for: Data(message.utf8), using: SymmetricKey(data: secret))
        return message + "." + Self.base64URL(Array(code))
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    // MARK: Keys

    /// Returns the JSON Web Key of a key.
    ///
    /// - Parameter id: the value of `kid`; nil for that of `key`.
    func jwk(_ key: Key, id: String? = nil) throws -> String {
        let kid = #""kid":"\#(id ?? key.rawValue)""#
        switch key {
        case .ed:
            return Self.jwk(ed.publicKey, id: id ?? key.rawValue)
        case .ec:
            let point = Array(ec.publicKey.rawRepresentation)
            let (x, y) = (Self.base64URL(Array(point[..<32])), Self.base64URL(Array(point[32...])))
            return #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)",\#(kid),"use":"sig"}"#
        case .rsa:
            let numbers = try rsa.publicKey.getKeyPrimitives()
            let (n, e) = (Self.base64URL(Array(numbers.modulus)), Self.base64URL(Array(numbers.publicExponent)))
            return #"{"kty":"RSA","alg":"RS256","n":"\#(n)","e":"\#(e)",\#(kid)}"#
        }
    }

    static func jwk(_ key: Curve25519.Signing.PublicKey, id: String) -> String {
        #"{"kty":"OKP","crv":"Ed25519","x":"\#(base64URL(Array(key.rawRepresentation)))","kid":"\#(id)"}"#
    }

    /// Returns the set of all keys.
    func jwks() throws -> String { Self.set(try Key.allCases.map { try jwk($0) }) }

    /// Returns the set of all keys, with another one for EdDSA. Its `kid` is a letter with an accent.
    func jwksWithTwoForEdDSA() throws -> String {
        let another = Self.jwk(Curve25519.Signing.PrivateKey().publicKey, id: "\u{E9}")
        return Self.set(try Key.allCases.map { try jwk($0) } + [another])
    }

    static func set(_ keys: [String]) -> String { #"{"keys":[\#(keys.joined(separator: ","))]}"# }
}
