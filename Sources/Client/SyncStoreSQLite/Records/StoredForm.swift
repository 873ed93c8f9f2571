import SyncCore
import SyncModel
import SyncWire

/// How transactions and patches stand in columns: the canonical JSON of the wire, so that there is one codec, and a
/// person can read them.
enum StoredForm {
    /// - Throws: `invalidValue` for what JSON cannot say, such as a number that is not finite.
    static func bytes(of transaction: Transaction) throws(StoreFailure) -> [UInt8] {
        do throws(WireError) {
            return try TransactionCodec.encode(transaction)
        } catch {
            throw StoreFailure(.invalidValue, "the transaction cannot be written down: \(error)")
        }
    }

    static func transaction(
        from bytes: [UInt8], of place: @autoclosure () -> String
    ) throws(StoreFailure) -> Transaction {
        do throws(WireError) {
            return try TransactionCodec.decode(bytes)
        } catch {
            throw StoreFailure(.corrupt, "\(place()): the stored transaction cannot be read: \(error)")
        }
    }

    /// - Throws: `corrupt` for what JSON cannot say: it was not checked here, so a server has sent it.
    static func bytes(of patch: Patch) throws(StoreFailure) -> [UInt8] {
        do throws(WireError) {
            return try PatchCodec.encode(patch)
        } catch {
            throw StoreFailure(.corrupt, "the fields cannot be written down: \(error)")
        }
    }

    static func patch(from bytes: [UInt8], of place: @autoclosure () -> String) throws(StoreFailure) -> Patch {
        do throws(WireError) {
            return try PatchCodec.decode(bytes)
        } catch {
            throw StoreFailure(.corrupt, "\(place()): stored fields cannot be read: \(error)")
        }
    }

    /// The hash under which a transaction is pushed.
    static func hash(of transaction: Transaction) throws(StoreFailure) -> PayloadHash {
        PayloadHash(ofCanonicalBytes: try bytes(of: transaction))
    }
}
