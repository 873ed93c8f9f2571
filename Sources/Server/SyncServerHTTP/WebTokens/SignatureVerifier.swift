import JWTKit
import SyncConcurrency

/// Verifies signatures with one public key and one algorithm.
///
/// Only this file uses JWTKit, and only its keys and signatures. `JWTKeyCollection` would read tokens, too, but verifies
/// one whose `kid` it does not know with its default key, takes the algorithm from the token if the key has none, and
/// reads `crit` and repeated members as if they were not there.
final class SignatureVerifier: Sendable {
    private enum Key {
        case ed25519(EdDSA.PublicKey)
        case p256(ES256PublicKey)
        case rsa(Insecure.RSA.PublicKey)
    }

    private let key: Key
    /// The key with its algorithm, once it has been asked for.
    private let algorithm = Guarded<(any JWTAlgorithm)?>(nil)

    /// Creates a verifier for EdDSA.
    ///
    /// - Parameter x: the key as base64url.
    init(ed25519 x: String) throws(WebKeyError) {
        do { key = .ed25519(try EdDSA.PublicKey(x: x, curve: .ed25519)) } catch {
            throw WebKeyError("its x is not a key of Ed25519")
        }
    }

    /// Creates a verifier for ES256.
    ///
    /// - Parameter point: the coordinates of the key as base64url.
    init(p256 point: (x: String, y: String)) throws(WebKeyError) {
        do { key = .p256(try ES256PublicKey(parameters: point)) } catch {
            throw WebKeyError("its x and y are not a point of P-256")
        }
    }

    /// Creates a verifier for RS256. The parameters are base64url.
    init(modulus: String, exponent: String) throws(WebKeyError) {
        do { key = .rsa(try Insecure.RSA.PublicKey(modulus: modulus, exponent: exponent)) } catch {
            throw WebKeyError("its n and e are not an RSA key of 2,048 bits or more")
        }
    }

    /// Returns whether the owner of the key has signed the message.
    func isValid(_ signature: [UInt8], of message: [UInt8]) async -> Bool {
        // An error stands for a signature of a wrong length.
        (try? await resolved().verify(signature, signs: message)) ?? false
    }

    private func resolved() async throws -> any JWTAlgorithm {
        if let known = algorithm.withLock({ $0 }) { return known }
        let keys = JWTKeyCollection()
        switch key {
        case .ed25519(let key): await keys.add(eddsa: key)
        case .p256(let key): await keys.add(ecdsa: key)
        case .rsa(let key): await keys.add(rsa: key, digestAlgorithm: .sha256)
        }
        let made = try await keys.getKey()
        algorithm.withLock { $0 = made }
        return made
    }
}
