import SyncAuthority
import SyncModel
import SyncWire

/// Coding of the JSON texts in the database. They have the same form as on the wire.
enum StoredText {
    static func encode(_ patch: Patch) throws(AuthorityStoreError) -> String {
        do throws(WireError) {
            return String(decoding: try PatchCodec.encode(patch), as: UTF8.self)
        } catch {
            throw AuthorityStoreError(.unstorable, "a value cannot be stored: \(error)")
        }
    }

    static func patch(_ text: String, _ what: String) throws(AuthorityStoreError) -> Patch {
        do throws(WireError) {
            return try PatchCodec.decode(Array(text.utf8))
        } catch {
            throw AuthorityStoreError(.corrupt, "\(what) cannot be read: \(error)")
        }
    }

    static func encode(_ outcome: Outcome) throws(AuthorityStoreError) -> String {
        do throws(WireError) {
            return String(decoding: try OutcomeCodec.encode(outcome), as: UTF8.self)
        } catch {
            throw AuthorityStoreError(.unstorable, "an outcome cannot be stored: \(error)")
        }
    }

    static func outcome(_ text: String, _ what: String) throws(AuthorityStoreError) -> Outcome {
        do throws(WireError) {
            return try OutcomeCodec.decode(Array(text.utf8))
        } catch {
            throw AuthorityStoreError(.corrupt, "\(what) cannot be read: \(error)")
        }
    }

    static func encode(_ changes: [RecordChange]) throws(AuthorityStoreError) -> String {
        do throws(WireError) {
            return String(decoding: try ChangesCodec.encode(changes), as: UTF8.self)
        } catch {
            throw AuthorityStoreError(.unstorable, "a commit cannot be stored: \(error)")
        }
    }

    static func changes(_ text: String, _ what: String) throws(AuthorityStoreError) -> [RecordChange] {
        do throws(WireError) {
            return try ChangesCodec.decode(Array(text.utf8))
        } catch {
            throw AuthorityStoreError(.corrupt, "\(what) cannot be read: \(error)")
        }
    }
}

extension PlainName {
    init(stored text: String, _ what: String) throws(AuthorityStoreError) {
        guard let name = Self(rawValue: text) else {
            throw AuthorityStoreError(.corrupt, "\(what) is not a valid name")
        }
        self = name
    }
}
