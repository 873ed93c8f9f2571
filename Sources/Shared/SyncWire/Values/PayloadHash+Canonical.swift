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
        self.init(rawValue: Hexadecimal.text(of: Array(SHA256.hash(data: bytes))))
    }
}
