import Crypto
import CryptoExtras

/// Verifies signatures with one public key and one algorithm.
enum SignatureVerifier: Sendable {
    case edDSA(Curve25519.Signing.PublicKey)
    case es256(P256.Signing.PublicKey)
    case rs256(_RSA.Signing.PublicKey)

    /// Creates a verifier for EdDSA with a key of Ed25519.
    init(ed25519 x: [UInt8]) throws(WebKeyError) {
        do { self = .edDSA(try Curve25519.Signing.PublicKey(rawRepresentation: x)) } catch {
            throw WebKeyError("its x is not a key of Ed25519")
        }
    }

    /// Creates a verifier for ES256 with the coordinates of a point.
    init(p256 point: (x: [UInt8], y: [UInt8])) throws(WebKeyError) {
        // The form of an uncompressed point in ANSI X9.63.
        do { self = .es256(try P256.Signing.PublicKey(x963Representation: [4] + point.x + point.y)) } catch {
            throw WebKeyError("its x and y are not a point of P-256")
        }
    }

    /// Creates a verifier for RS256.
    init(modulus: [UInt8], exponent: [UInt8]) throws(WebKeyError) {
        do { self = .rs256(try _RSA.Signing.PublicKey(n: modulus, e: exponent)) } catch {
            throw WebKeyError("its n and e are not an RSA key of 2,048 bits or more")
        }
    }

    /// Returns whether the owner of the key has signed the message.
    func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch self {
        case .edDSA(let key): return key.isValidSignature(signature, for: message)
        case .es256(let key):
            // A signature of another length throws.
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: message)
        case .rs256(let key):
            // The padding is called insecure for encryption. For signatures, RFC 7518 §3.3 requires it.
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: message),
                padding: .insecurePKCS1v1_5)
        }
    }
}
