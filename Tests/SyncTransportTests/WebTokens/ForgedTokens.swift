import Crypto
import CryptoExtras
import Foundation
import Testing

@testable import SyncServerHTTP

/// A token that a server must refuse, and the reason.
struct ForgedToken: Sendable, CustomTestStringConvertible {
    let name: String
    /// The expected reason; nil if the text is not even taken for a JSON Web Token.
    let reason: WebTokenError?
    /// Returns the token. `stranger` is an issuer whose keys the server does not have.
    let text: @Sendable (_ issuer: TokenIssuer, _ stranger: TokenIssuer) throws -> String

    var testDescription: String { name }

    init(
        _ name: String, _ reason: WebTokenError?,
        _ text: @escaping @Sendable (_ issuer: TokenIssuer, _ stranger: TokenIssuer) throws -> String
    ) {
        self.name = name
        self.reason = reason
        self.text = text
    }

    /// A token that the right key has signed, with this header, as JSON without the braces.
    private static func header(_ header: String, _ reason: WebTokenError) -> ForgedToken {
        ForgedToken("header \(header)", reason) { issuer, _ in try issuer.token(header) }
    }

    /// A token that the right key has signed, with these claims.
    private static func claims(_ name: String, _ claims: String, _ reason: WebTokenError) -> ForgedToken {
        ForgedToken(name, reason) { issuer, _ in try issuer.token(nil, claims) }
    }

    /// A token with another signature.
    private static func signature(
        _ name: String, by key: TokenIssuer.Key = .ed, _ change: @escaping @Sendable ([UInt8]) throws -> [UInt8]
    ) -> ForgedToken {
        ForgedToken(name, .signature) { issuer, _ in try issuer.token(signedBy: key, as: change) }
    }

    static let all: [ForgedToken] = [
        namedAlgorithms, otherAlgorithms, replacedSignatures, smallOrderSignatures, otherSignatures, types, extensions,
        repeatedMembers, unknownKeyIDs, otherKeyIDs, foreignKeys, forms, issuers, audiences, subjects, otherClaims,
        times,
    ].flatMap { $0 }

    // MARK: Algorithms

    private static let namedAlgorithms: [ForgedToken] =
        ["none", "None", "NONE", "nOnE", "", "eddsa", "Ed25519", "HS256", "PS256", "RS512", "ES384", "EdDSA "].map {
            header(#""alg":"\#($0)","kid":"ed""#, .algorithm)
        }

    private static let otherAlgorithms: [ForgedToken] =
        [
            header(#""kid":"ed""#, .algorithm),
            header(#""alg":null,"kid":"ed""#, .algorithm),
            header(#""alg":0,"kid":"ed""#, .algorithm),
            header(#""alg":["EdDSA"],"kid":"ed""#, .algorithm),
            header(#""alg":"RS256","kid":"ed""#, .otherAlgorithm),
            header(#""alg":"ES256","kid":"ed""#, .otherAlgorithm),
            header(#""alg":"EdDSA","kid":"rsa""#, .otherAlgorithm),
            ForgedToken("alg none without a signature", .form) { _, _ in
                TokenIssuer.message(#"{"alg":"none"}"#, "{\(TokenIssuer.claims)}") + "."
            },
            ForgedToken("HS256 with the PEM of the RSA key as its secret", .algorithm) { issuer, _ in
                issuer.token(hashedWith: Array(issuer.rsa.publicKey.pemRepresentation.utf8), kid: .rsa)
            },
            ForgedToken("HS256 with the DER of the RSA key as its secret", .algorithm) { issuer, _ in
                issuer.token(hashedWith: Array(issuer.rsa.publicKey.derRepresentation), kid: .rsa)
            },
            ForgedToken("HS256 with the modulus of the RSA key as its secret", .algorithm) { issuer, _ in
                issuer.token(hashedWith: Array(try issuer.rsa.publicKey.getKeyPrimitives().modulus), kid: .rsa)
            },
            ForgedToken("HS256 with the Ed25519 key as its secret", .algorithm) { issuer, _ in
                issuer.token(hashedWith: Array(issuer.ed.publicKey.rawRepresentation), kid: .ed)
            },
        ]

    // MARK: Signatures

    /// The order of the group of P-256.
    private static let orderOfP256: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    /// The order of the group of Ed25519, least significant byte first.
    private static let orderOfEd25519: [UInt8] =
        [
            0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9, 0xDE, 0x14,
        ] + [UInt8](repeating: 0, count: 15) + [0x10]

    /// Points of small order, as `R` of a signature whose `s` is 0.
    private static let smallOrders: [[UInt8]] = {
        let zeros = [UInt8](repeating: 0, count: 31)
        let ones = [UInt8](repeating: 0xFF, count: 30)
        return [
            [0] + zeros, [1] + zeros, [0xEC] + ones + [0x7F], [0xED] + ones + [0x7F], [0xEE] + ones + [0x7F],
            zeros + [0x80], [1] + zeros.dropLast() + [0x80],
        ]
    }()

    private static let zeros = [UInt8](repeating: 0, count: 32)

    private static let replacedSignatures: [ForgedToken] =
        TokenIssuer.Key.allCases.flatMap { key in
            [
                ForgedToken("the stranger's signature, \(key.algorithm)", .signature) { _, stranger in
                    try stranger.token(by: key)
                },
                signature("a signature that lacks its last byte, \(key.algorithm)", by: key) { Array($0.dropLast()) },
                signature("a signature with a trailing byte, \(key.algorithm)", by: key) { $0 + [0] },
                signature("a signature of zeros, \(key.algorithm)", by: key) { $0.map { _ in 0 } },
                signature("a signature of one byte, \(key.algorithm)", by: key) { _ in [1] },
                signature("a signature with a changed bit, \(key.algorithm)", by: key) { [$0[0] ^ 1] + $0.dropFirst() },
                ForgedToken("another account under a valid signature, \(key.algorithm)", .signature) { issuer, _ in
                    let parts = try issuer.token(by: key).split(separator: ".")
                    let other = try issuer.token(nil, TokenIssuer.claims(sub: #""bo""#), by: key).split(separator: ".")
                    return "\(parts[0]).\(other[1]).\(parts[2])"
                },
            ]
        }

    private static let smallOrderSignatures: [ForgedToken] = smallOrders.enumerated().map { number, point in
        signature("EdDSA with a point of small order, number \(number), and s = 0") { _ in point + zeros }
    }

    private static let otherSignatures: [ForgedToken] =
        [
            signature("EdDSA with s of the signature plus the order of the group") { bytes in
                var carry = 0
                let s = zip(bytes[32...], orderOfEd25519).map { byte, order in
                    carry += Int(byte) + Int(order)
                    defer { carry >>= 8 }
                    return UInt8(carry & 0xFF)
                }
                return bytes[..<32] + s
            },
            signature("ES256 with r = 0", by: .ec) { zeros + $0[32...] },
            signature("ES256 with s = 0", by: .ec) { $0[..<32] + zeros },
            signature("ES256 with r and s equal to the order of the group", by: .ec) { _ in orderOfP256 + orderOfP256 },
            signature("ES256 with r = s = 1", by: .ec) { _ in
                let one = zeros.dropLast() + [1]
                return Array(one + one)
            },
            signature("ES256 as DER", by: .ec) { raw in
                Array(try P256.Signing.ECDSASignature(rawRepresentation: raw).derRepresentation)
            },
            ForgedToken("ES256 by a key of P-384", .signature) { issuer, _ in
                let message = TokenIssuer.message("{\(TokenIssuer.Key.ec.header)}", "{\(TokenIssuer.claims)}")
                let signature = try P384.Signing.PrivateKey().signature(for: SHA256.hash(data: Data(message.utf8)))
                return message + "." + TokenIssuer.base64URL(Array(signature.rawRepresentation))
            },
            ForgedToken("RS256 with the padding of PS256", .signature) { issuer, _ in
                let message = TokenIssuer.message("{\(TokenIssuer.Key.rsa.header)}", "{\(TokenIssuer.claims)}")
                let signature = try issuer.rsa.signature(for: SHA256.hash(data: Data(message.utf8)), padding: .PSS)
                return message + "." + TokenIssuer.base64URL(Array(signature.rawRepresentation))
            },
            ForgedToken("RS256 with the hash of RS512", .signature) { issuer, _ in
                let message = TokenIssuer.message("{\(TokenIssuer.Key.rsa.header)}", "{\(TokenIssuer.claims)}")
                let signature = try issuer.rsa.signature(
                    for: SHA512.hash(data: Data(message.utf8)), padding: .insecurePKCS1v1_5)
                return message + "." + TokenIssuer.base64URL(Array(signature.rawRepresentation))
            },
        ]

    // MARK: Headers

    private static let types: [ForgedToken] =
        [#""JWE""#, #""dpop+jwt""#, #""secevent+jwt""#, #""jwt ""#, #""""#, "1", "null", #"["JWT"]"#].map {
            header(#""alg":"EdDSA","kid":"ed","typ":\#($0)"#, .type)
        }

    private static let extensions: [ForgedToken] =
        ["[]", #"["exp"]"#, #"["b64"],"b64":false"#, #"["b64"],"b64":true"#, "null", #""exp""#].map {
            header(#""alg":"EdDSA","kid":"ed","crit":\#($0)"#, .critical)
        }

    private static let repeatedMembers: [ForgedToken] =
        [
            header(#""alg":"EdDSA","alg":"EdDSA","kid":"ed""#, .header),
            header(#""alg":"none","kid":"ed","alg":"EdDSA""#, .header),
            header(#""alg":"EdDSA","kid":"ed","kid":"ec""#, .header),
            header(#""alg":"EdDSA","kid":"ed","\u006bid":"ec""#, .header),
        ]

    private static let unknownKeyIDs: [ForgedToken] =
        [
            "../../../../dev/null", "/proc/self/environ", "ed.json", "file:///dev/null", "' OR '1'='1",
            "ed'; DROP TABLE sync_space; --", "ed\\u0000", "ED", " ed", "", "|whoami", "$(id)", "http://127.0.0.1/k",
            // The same text to a reader, and to a comparison of characters, as the kid of a key.
            "e\\u0301",
        ].map { header(#""alg":"EdDSA","kid":"\#($0)""#, .unknownKey) }

    private static let otherKeyIDs: [ForgedToken] =
        ["null", "1", #"["ed"]"#, #"{"ed":1}"#].map { header(#""alg":"EdDSA","kid":\#($0)"#, .keyID) } + [
            // Two keys are for EdDSA.
            header(#""alg":"EdDSA""#, .noKeyID)
        ]

    /// Tokens that bring or name the key of a stranger, who has signed them.
    private static let foreignKeys: [ForgedToken] = [
        ForgedToken("a key in jwk", .signature) { _, stranger in
            try stranger.token(#""alg":"EdDSA","kid":"ed","jwk":\#(try stranger.jwk(.ed))"#)
        },
        ForgedToken("a key in jwk with its own kid", .unknownKey) { _, stranger in
            try stranger.token(#""alg":"EdDSA","kid":"mine","jwk":\#(try stranger.jwk(.ed, id: "mine"))"#)
        },
        ForgedToken("the address of a key in jku", .signature) { _, stranger in
            try stranger.token(#""alg":"EdDSA","kid":"ed","jku":"https://evil.example/keys.json""#)
        },
        ForgedToken("the path of a key in jku", .signature) { _, stranger in
            try stranger.token(#""alg":"EdDSA","kid":"ed","jku":"file:///tmp/keys.json""#)
        },
        ForgedToken("the address of a certificate in x5u", .signature) { _, stranger in
            try stranger.token(
                #""alg":"RS256","kid":"rsa","x5u":"https://evil.example/chain.pem""#, by: .rsa)
        },
        ForgedToken("a certificate in x5c", .signature) { _, stranger in
            try stranger.token(
                #""alg":"RS256","kid":"rsa","x5c":["\#(stranger.rsa.publicKey.derRepresentation.base64EncodedString())"]"#,
                by: .rsa)
        },
    ]

    // MARK: Forms

    private static func form(
        _ name: String, _ reason: WebTokenError? = .form, _ change: @escaping @Sendable (String) -> String
    ) -> ForgedToken {
        ForgedToken(name, reason) { issuer, _ in change(try issuer.token()) }
    }

    private static func json(
        _ name: String, _ reason: WebTokenError, header: String? = nil, payload: String? = nil
    ) -> ForgedToken {
        ForgedToken(name, reason) { issuer, _ in
            try issuer.token(
                json: header ?? "{\(TokenIssuer.Key.ed.header)}", payload: payload ?? "{\(TokenIssuer.claims)}")
        }
    }

    private static let forms: [ForgedToken] = [
        form("nothing", nil) { _ in "" },
        form("three empty parts") { _ in ".." },
        form("two parts", nil) { $0.split(separator: ".").dropLast().joined(separator: ".") },
        form("four parts", nil) { $0 + ".x" },
        form("five parts, as in JWE", nil) { $0 + ".x.y" },
        form("no header") { "." + $0.split(separator: ".").dropFirst().joined(separator: ".") },
        form("padding") { $0 + "==" },
        form("a character of ordinary base64") { $0.dropLast(4) + "+/+/" },
        form("a line break within") { $0.dropLast(4) + "\n" + $0.suffix(4) },
        form("a trailing line break") { $0 + "\n" },
        form("a trailing NUL") { $0 + "\0" },
        form("a leading tab") { "\t" + $0 },
        // The last digit of 64 bytes has four unused bits.
        form("bits that an encoder leaves zero") { $0.dropLast() + ($0.hasSuffix("A") ? "B" : "_") },
        form("one digit too many") { $0 + "AAA" },
        form("a token of 4,097 bytes", nil) { $0 + String(repeating: "A", count: 4_097 - $0.utf8.count) },
        form("a token of 100,000 bytes", nil) { $0 + String(repeating: "A", count: 100_000) },
        json("a header that is a list", .header, header: "[]"),
        json("a header that is a string", .header, header: #""EdDSA""#),
        json("a header that is not JSON", .header, header: "alg=EdDSA"),
        json("bytes after the header", .header, header: "{\(TokenIssuer.Key.ed.header)} {}"),
        json("a byte order mark before the header", .header, header: "\u{FEFF}{\(TokenIssuer.Key.ed.header)}"),
        json("a payload that is a list", .payload, payload: "[{\(TokenIssuer.claims)}]"),
        json("a payload that is not JSON", .payload, payload: "sub=ann"),
        json("an empty object in the payload", .issuer, payload: "{}"),
        json("bytes after the payload", .payload, payload: "{\(TokenIssuer.claims)}}"),
        json("a comment in the payload", .payload, payload: "{\(TokenIssuer.claims)/* */}"),
        json(
            "a payload that is nested too deeply", .payload,
            payload:
                "{\(TokenIssuer.claims),\"a\":\(String(repeating: "[", count: 500))\(String(repeating: "]", count: 500))}"
        ),
        json(
            "a repeated member deep in the payload", .payload, payload: #"{\#(TokenIssuer.claims),"a":{"b":1,"b":2}}"#),
        ForgedToken("a payload that is not UTF-8", .payload) { issuer, _ in
            let header = TokenIssuer.base64URL(Array("{\(TokenIssuer.Key.ed.header)}".utf8))
            let payload = Array("{\(TokenIssuer.claims),\"a\":\"".utf8) + [0xC0, 0xAF] + Array(#""}"#.utf8)
            let message = "\(header).\(TokenIssuer.base64URL(payload))"
            return message + "." + TokenIssuer.base64URL(try issuer.signature(of: message, by: .ed))
        },
    ]

    // MARK: Claims

    private static let now = TokenIssuer.now

    private static let issuers: [ForgedToken] =
        [
            nil, #""https://evil.example""#, #""https://id.example/""#, #""https://ID.example""#,
            #""https://id.exampl""#,
            #""""#, "1", "null", #"["https://id.example"]"#,
        ].map { value in claims("iss \(value ?? "missing")", TokenIssuer.claims(iss: value), .issuer) }

    private static let audiences: [ForgedToken] =
        [
            nil, #""other""#, #""tombolo-admin""#, #""Tombolo""#, #""""#, "1", "null", "[]", #"["other","else"]"#,
            #"["tombolo",1]"#, #"[["tombolo"]]"#, #"{"tombolo":true}"#,
        ].map { value in claims("aud \(value ?? "missing")", TokenIssuer.claims(aud: value), .audience) }

    private static let subjects: [ForgedToken] =
        [
            nil, #""""#, "1", "null", "true", #"["ann"]"#, #"{"name":"ann"}"#, #""an n""#, #""ann\n""#, #""ann\u0000""#,
            ##""#ann""##, #""änn""#, #""\#(String(repeating: "a", count: 129))""#, #""health check""#,
        ].map { value in claims("sub \(value?.prefix(20) ?? "missing")", TokenIssuer.claims(sub: value), .subject) }

    private static let otherClaims: [ForgedToken] =
        [
            claims("sub twice", TokenIssuer.claims + #","sub":"bo""#, .payload),
            claims("sub twice, once with an escape", TokenIssuer.claims + #","\u0073ub":"bo""#, .payload),
            claims("exp twice", TokenIssuer.claims + #","exp":\#(now + 9_999)"#, .payload),
            claims("exp missing", TokenIssuer.claims(exp: nil), .time),
            claims("exp one second ago", TokenIssuer.claims(exp: "\(now - 1)"), .expired),
            claims("exp now", TokenIssuer.claims(exp: "\(now)"), .expired),
            claims("exp in 1970", TokenIssuer.claims(exp: "0"), .expired),
            claims("nbf beyond the skew", TokenIssuer.claims(nbf: "\(now + 61)"), .notYetValid),
            claims("iat beyond the skew", TokenIssuer.claims(iat: "\(now + 61)"), .notYetValid),
            claims("nbf valid and iat beyond the skew", TokenIssuer.claims(nbf: "0", iat: "\(now + 61)"), .notYetValid),
            claims("exp beyond any number", TokenIssuer.claims(exp: "1e400"), .payload),
        ]

    private static let times: [ForgedToken] =
        badTimes.flatMap { time in
            [
                claims("exp \(time)", TokenIssuer.claims(exp: time), .time),
                claims("nbf \(time)", TokenIssuer.claims(nbf: time), .time),
                claims("iat \(time)", TokenIssuer.claims(iat: time), .time),
            ]
        }

    /// Values of times that are not whole numbers of seconds in this or a near millennium.
    private static let badTimes = [
        #""\#(now + 600)""#, "\(now + 600).5", "\(now + 600).0", "1.8e9", "-1", "-0.0", "null", "true", "[]", "{}",
        "9223372036854775807", "9223372036854775808", "253402300800",
    ]
}
