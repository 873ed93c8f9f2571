import SyncAuthority
import SyncModel
import SyncWire

/// Coding of the JSON texts in the database. They have the same form as on the wire.
enum StoredText {
    static func encode(_ patch: Patch) throws(AuthorityStoreFailure) -> String {
        do throws(WireError) {
            return String(decoding: try PatchCodec.encode(patch), as: UTF8.self)
        } catch {
            throw AuthorityStoreFailure(.unstorable, "a value cannot be stored: \(error)")
        }
    }

    static func patch(_ text: String, _ what: String) throws(AuthorityStoreFailure) -> Patch {
        do throws(WireError) {
            return try PatchCodec.decode(Array(text.utf8))
        } catch {
            throw AuthorityStoreFailure(.corrupt, "\(what) cannot be read: \(error)")
        }
    }

    static func encode(_ outcome: Outcome) throws(AuthorityStoreFailure) -> String {
        do throws(WireError) {
            return String(decoding: try OutcomeCodec.encode(outcome), as: UTF8.self)
        } catch {
            throw AuthorityStoreFailure(.unstorable, "an outcome cannot be stored: \(error)")
        }
    }

    static func outcome(_ text: String, _ what: String) throws(AuthorityStoreFailure) -> Outcome {
        do throws(WireError) {
            return try OutcomeCodec.decode(Array(text.utf8))
        } catch {
            throw AuthorityStoreFailure(.corrupt, "\(what) cannot be read: \(error)")
        }
    }

    static func encode(_ changes: [RecordChange]) throws(AuthorityStoreFailure) -> String {
        do throws(WireError) {
            return String(decoding: try ChangesCodec.encode(changes), as: UTF8.self)
        } catch {
            throw AuthorityStoreFailure(.unstorable, "a commit cannot be stored: \(error)")
        }
    }

    static func changes(_ text: String, _ what: String) throws(AuthorityStoreFailure) -> [RecordChange] {
        do throws(WireError) {
            return try ChangesCodec.decode(Array(text.utf8))
        } catch {
            throw AuthorityStoreFailure(.corrupt, "\(what) cannot be read: \(error)")
        }
    }
}
