import SyncJSON

/// A public key with the one algorithm whose signatures it verifies.
struct WebKey: Sendable {
    /// The algorithms that are accepted. The ones with a shared secret are not: the server would have to hold what lets
    /// it make tokens.
    enum Algorithm: String, Hashable, Sendable, CaseIterable {
        case edDSA = "EdDSA"
        case es256 = "ES256"
        case rs256 = "RS256"

        /// Returns nil for any other name. Names are compared by bytes.
        init?(_ name: String) {
            guard let algorithm = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(name.utf8) }) else {
                return nil
            }
            self = algorithm
        }
    }

    /// The bytes of `kid`; nil when the key has none.
    let id: [UInt8]?
    let algorithm: Algorithm
    let verifier: SignatureVerifier

    /// The members of a JSON Web Key that contain a secret.
    private static let secrets = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// Reads a JSON Web Key, as RFC 7517 §4 describes it.
    ///
    /// - Returns: nil for a key that has another purpose or algorithm. An issuer publishes all of its keys in one set.
    static func read(_ json: JSONValue) throws(WebKeyError) -> WebKey? {
        guard case .object = json else { throw WebKeyError("expected an object") }
        if let secret = secrets.first(where: { json[$0] != nil }) {
            throw WebKeyError("it has the member \(secret), a secret; expected only public keys")
        }
        guard let type = try json.text("kty") else { throw WebKeyError("it has no kty") }
        guard try json.isForSignatures else { return nil }
        let curve = try json.text("crv")
        let name = try json.text("alg")
        if let name, Algorithm(name) == nil { return nil }
        let fitting: Algorithm? =
            switch (type, curve) {
            case ("OKP", "Ed25519"): .edDSA
            case ("EC", "P-256"): .es256
            case ("RSA", nil): .rs256
            default: nil
            }
        guard let algorithm = name.flatMap({ Algorithm($0) }) ?? (fitting == .rs256 ? nil : fitting) else {
            // An RSA key may be meant for the padding of PS256, too.
            guard fitting == .rs256 else { return nil }
            throw WebKeyError("it has no alg; expected alg RS256 in an RSA key for RS256")
        }
        guard algorithm == fitting else {
            throw WebKeyError("its alg is \(algorithm.rawValue), which does not fit its kty and crv")
        }
        let id = try json.text("kid").map { Array($0.utf8) }
        if let id, !(1...SyncServerLimits.keyIDBytes).contains(id.count) {
            throw WebKeyError("its kid has \(id.count) bytes; expected 1 to \(SyncServerLimits.keyIDBytes)")
        }
        return WebKey(id: id, algorithm: algorithm, verifier: try verifier(algorithm, json))
    }

    private static func verifier(_ algorithm: Algorithm, _ json: JSONValue) throws(WebKeyError) -> SignatureVerifier {
        switch algorithm {
        case .edDSA:
            let x = try json.number("x", bytes: 32...32)
            guard !EdwardsPoint.hasSmallOrder(x) else {
                throw WebKeyError("its x is a point of small order, for which anyone can sign")
            }
            return try SignatureVerifier(ed25519: x)
        case .es256:
            let (x, y) = (try json.number("x", bytes: 32...32), try json.number("y", bytes: 32...32))
            return try SignatureVerifier(p256: (x, y))
        case .rs256:
            let modulus = try json.number("n", bytes: 256...SyncServerLimits.modulusBytes)
            return try SignatureVerifier(modulus: modulus, exponent: try json.number("e", bytes: 1...8))
        }
    }
}

/// An error in a set of JSON Web Keys. It reveals none of their contents.
package struct WebKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension JSONValue {
    /// Returns the text of a member; nil when there is none.
    fileprivate func text(_ key: String) throws(WebKeyError) -> String? {
        switch self[key] {
        case nil: return nil
        case .string(let text): return text
        default: throw WebKeyError("its \(key) is not a string")
        }
    }

    /// Returns the bytes of a number that is written as base64url.
    fileprivate func number(_ key: String, bytes range: ClosedRange<Int>) throws(WebKeyError) -> [UInt8] {
        guard let text = try text(key) else { throw WebKeyError("it has no \(key)") }
        guard let bytes = Base64URL.bytes(text.utf8), range.contains(bytes.count) else {
            let count =
                range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            throw WebKeyError("its \(key) is not \(count) bytes of base64url")
        }
        return bytes
    }

    /// Whether `use` and `key_ops` allow the key to verify signatures.
    fileprivate var isForSignatures: Bool {
        get throws(WebKeyError) {
            if let use = try text("use"), use != "sig" { return false }
            switch self["key_ops"] {
            case nil: return true
            case .array(let operations): return operations.contains(.string("verify"))
            default: throw WebKeyError("its key_ops is not a list")
            }
        }
    }
}

/// Points of the curve of Ed25519, in their encoding of 32 bytes.
enum EdwardsPoint {
    /// Whether the order of a point is 8 or less. For such a key, a signature can be made without any secret.
    static func hasSmallOrder(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == 32 else { return false }
        // The highest bit is the sign of the other coordinate.
        let y = bytes.dropLast() + [bytes[31] & 0x7F]
        return smallOrders.contains(Array(y))
    }

    /// The y coordinates of these points, including those that are not reduced modulo 2²⁵⁵ − 19.
    private static let smallOrders: [[UInt8]] = {
        let zeros = [UInt8](repeating: 0, count: 31)
        let ones = [UInt8](repeating: 0xFF, count: 30)
        return [
            [0] + zeros,
            [1] + zeros,
            [
                0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
                0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
            ],
            [
                0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
                0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
            ],
            [0xEC] + ones + [0x7F],
            [0xED] + ones + [0x7F],
            [0xEE] + ones + [0x7F],
        ]
    }()
}
