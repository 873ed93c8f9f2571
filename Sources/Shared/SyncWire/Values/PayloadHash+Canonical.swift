import Crypto
package import SyncModel

extension PayloadHash {
    /// Computes the hash of a transaction: SHA-256 of its canonical bytes (I2, I16).
    ///
    /// Throws `unencodable` when a value has no form on the wire.
    package init(of transaction: Transaction) throws(WireError) {
        self.init(ofCanonicalBytes: try TransactionCodec.encode(transaction))
    }

    /// Computes the hash of a transaction that is already encoded.
    ///
    /// - Parameter bytes: the result of `TransactionCodec.encode`.
    package init(ofCanonicalBytes bytes: [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(64)
        for byte in SHA256.hash(data: bytes) {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        self.init(rawValue: String(decoding: text, as: UTF8.self))
    }
}
