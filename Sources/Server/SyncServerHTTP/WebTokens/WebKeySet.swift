import SyncJSON

/// The public keys of an issuer: a JSON Web Key Set, as RFC 7517 §5 describes it, or several.
package struct WebKeySet: Sendable {
    private var byID: [[UInt8]: WebKey] = [:]
    private var byAlgorithm: [WebKey.Algorithm: [WebKey]] = [:]
    /// The number of keys that have another purpose or algorithm.
    private(set) var ignored = 0

    package init() {}

    /// The number of keys.
    package var count: Int { byAlgorithm.values.reduce(0) { $0 + $1.count } }

    /// Reads the keys of another set. The set is unchanged if it throws.
    package mutating func add(_ bytes: [UInt8]) throws(WebKeyError) {
        let json: JSONValue
        do throws(JSONError) { json = try JSONValue(bytes) } catch {
            // The message of the error could quote a key.
            throw WebKeyError("byte \(error.offset): expected JSON with unique keys")
        }
        guard case .array(let keys) = json["keys"] else {
            throw WebKeyError(#"expected a JSON object with a list of keys: {"keys": [...]}"#)
        }
        var all = self
        for (index, key) in keys.enumerated() {
            do throws(WebKeyError) { try all.add(key) } catch { throw WebKeyError("key \(index + 1): \(error)") }
        }
        self = all
    }

    private mutating func add(_ json: JSONValue) throws(WebKeyError) {
        guard let key = try WebKey.read(json) else {
            ignored += 1
            return
        }
        if let id = key.id, byID.updateValue(key, forKey: id) != nil {
            throw WebKeyError("its kid occurs twice")
        }
        byAlgorithm[key.algorithm, default: []].append(key)
        let several = byAlgorithm[key.algorithm] ?? []
        guard several.count == 1 || several.allSatisfy({ $0.id != nil }) else {
            throw WebKeyError("several keys are for \(key.algorithm.rawValue), so each needs a kid")
        }
    }

    /// Returns the key of a token. `kid` is only compared with those of the set.
    func key(of token: WebToken) throws(WebTokenError) -> WebKey {
        guard let id = token.keyID else {
            let keys = byAlgorithm[token.algorithm] ?? []
            guard keys.count <= 1 else { throw .noKeyID }
            guard let key = keys.first else { throw .unknownKey }
            return key
        }
        guard let key = byID[id] else { throw .unknownKey }
        guard key.algorithm == token.algorithm else { throw .otherAlgorithm }
        return key
    }
}
