import SyncJSON

/// A JSON Web Token in compact form, as RFC 7515 §7.1 describes it. Its signature has not been checked.
///
/// Only `alg`, `kid`, `typ`, and `crit` of the header have an effect. A key, or the address of one (`jwk`, `jku`,
/// `x5c`, `x5u`), is not even read.
package struct WebToken: Hashable, Sendable {
    let algorithm: WebKey.Algorithm
    /// The bytes of `kid`; nil when there is none.
    let keyID: [UInt8]?
    /// The bytes that were signed.
    package let message: [UInt8]
    package let payload: [UInt8]
    package let signature: [UInt8]

    /// Whether a text has the form of a token. Other tokens, such as those that the server makes, have no dots.
    static func isOne(_ text: String) -> Bool { text.utf8.count { $0 == UInt8(ascii: ".") } == 2 }

    package init(_ text: String) throws(WebTokenError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }), let header = Base64URL.bytes(parts[0]),
            let payload = Base64URL.bytes(parts[1]), let signature = Base64URL.bytes(parts[2])
        else { throw .form }
        message = Array(text.utf8.prefix(parts[0].count + 1 + parts[1].count))
        self.payload = payload
        self.signature = signature
        guard let header = try? JSONValue(header), case .object = header else { throw .header }
        guard case .string(let name) = header["alg"], let algorithm = WebKey.Algorithm(name) else {
            throw .algorithm
        }
        self.algorithm = algorithm
        switch header["typ"] {
        case nil: break
        case .string(let type) where ["JWT", "at+jwt"].contains { $0.utf8.elementsEqual(type.utf8) }: break
        default: throw .type
        }
        // RFC 7515 §4.1.11: a token with an extension that the recipient does not know is invalid. There is none that
        // this server knows.
        guard header["crit"] == nil else { throw .critical }
        switch header["kid"] {
        case nil: keyID = nil
        case .string(let id): keyID = Array(id.utf8)
        default: throw .keyID
        }
    }
}
