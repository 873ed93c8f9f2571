import Crypto
package import SyncCore
import SyncModel

/// The secret that a page must present with each call. Each run of a command has another one.
package struct PageSecret: Sendable {
    /// 64 hexadecimal digits.
    package let text: String
    private let digest: SHA256.Digest

    /// Creates a secret of 256 random bits.
    package init(_ runtime: EngineRuntime) {
        self.init(text: Hexadecimal.secret { runtime.random() })
    }

    package init(text: String) {
        self.text = text
        digest = SHA256.hash(data: Array(text.utf8))
    }

    /// Returns whether the value of an `Authorization` field presents the secret.
    ///
    /// The time of the comparison does not depend on the number of equal characters.
    func isPresented(by authorization: String) -> Bool {
        let scheme = "Bearer "
        guard authorization.utf8.starts(with: scheme.utf8) else { return false }
        return SHA256.hash(data: Array(authorization.utf8.dropFirst(scheme.utf8.count))) == digest
    }
}
