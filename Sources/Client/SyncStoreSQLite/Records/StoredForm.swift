import SyncCore
import SyncModel
import SyncWire

/// The storage format of transactions and patches: the canonical JSON of the wire. This form needs no second codec, and
/// people can read it.
enum StoredForm {
    /// Encodes a transaction.
    ///
    /// - Throws: `invalidValue` for values that JSON cannot represent, such as a number that is not finite.
    static func bytes(of transaction: Transaction) throws(StoreError) -> [UInt8] {
        do throws(WireError) {
            return try TransactionCodec.encode(transaction)
        } catch {
            throw StoreError(.invalidValue, "the transaction cannot be encoded: \(error)")
        }
    }

    /// Returns the checksum of a stored transaction, by which a changed bit is noticed: FNV-1a with 64 bits
    /// (http://www.isthe.com/chongo/tech/comp/fnv/). Any change of a single byte changes it.
    static func checksum(of bytes: [UInt8]) -> Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int64(bitPattern: hash)
    }

    /// Decodes a transaction. It may exceed the limits of one transaction: lost records that refer to each other stay
    /// in one entry of the journal, however many they are.
    static func transaction(
        from bytes: [UInt8], of place: @autoclosure () -> String
    ) throws(StoreError) -> Transaction {
        do throws(WireError) {
            return try TransactionCodec.decode(bytes, maximumMutations: .max)
        } catch {
            throw StoreError(.corrupt, "\(place()): the stored transaction cannot be read: \(error)")
        }
    }

    /// Encodes a patch.
    ///
    /// - Throws: `corrupt` for values that JSON cannot represent. Local edits are checked, so a server has sent such a
    ///   value.
    static func bytes(of patch: Patch) throws(StoreError) -> [UInt8] {
        do throws(WireError) {
            return try PatchCodec.encode(patch)
        } catch {
            throw StoreError(.corrupt, "the fields cannot be encoded: \(error)")
        }
    }

    static func patch(from bytes: [UInt8], of place: @autoclosure () -> String) throws(StoreError) -> Patch {
        do throws(WireError) {
            return try PatchCodec.decode(bytes)
        } catch {
            throw StoreError(.corrupt, "\(place()): stored fields cannot be read: \(error)")
        }
    }

    /// Returns the hash with which a transaction is pushed.
    static func hash(of transaction: Transaction) throws(StoreError) -> PayloadHash {
        PayloadHash(ofCanonicalBytes: try bytes(of: transaction))
    }
}
