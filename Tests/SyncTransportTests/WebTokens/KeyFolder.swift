import Foundation
import Glibc
import Logging
import SyncConcurrency
import SyncModel

@testable import SyncServerHTTP

/// A folder for the keys of a test, which is deleted with this object.
final class KeyFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "tombolo-keys-\(UUID().uuidString)")
            .path(percentEncoded: false)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var file: String { path + "/keys.json" }

    /// Replaces a file atomically.
    func write(_ text: String, to name: String = "keys.json", mode: Int = 0o644) throws {
        let temporary = path + "/." + name
        try? FileManager.default.removeItem(atPath: temporary)
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: mode]
        guard FileManager.default.createFile(atPath: temporary, contents: Data(text.utf8), attributes: attributes),
            rename(temporary, path + "/" + name) == 0
        else { throw CocoaError(.fileWriteUnknown) }
    }

    func remove(_ name: String = "keys.json") throws {
        try FileManager.default.removeItem(atPath: path + "/" + name)
    }

    /// Returns an authenticator with the keys of the file.
    ///
    /// - Parameters:
    ///   - keys: the path of the key file; nil for `file`.
    ///   - limit: the maximum number of verified tokens in memory.
    ///   - lines: receives the lines of the log.
    func tokens(
        keys: String? = nil, skew: Duration = .seconds(60), now: @escaping @Sendable () -> WallTime = TestServer.now,
        remembering limit: Int = 100, log lines: Guarded<[String]> = Guarded([])
    ) throws(WebTokenKeysError) -> WebTokens {
        var logger = Logger(label: "tokens") { _ in
            RecordingLogHandler { line in lines.withLock { $0.append(line) } }
        }
        logger.logLevel = .info
        return try WebTokens(
            keys: keys ?? file,
            rules: WebTokenRules(issuer: TokenIssuer.name, audience: TokenIssuer.audience, clockSkew: skew), now: now,
            logger: logger, remembering: limit)
    }
}
