import Foundation
import SyncProgram

/// Folders that only their owner can access.
enum PrivateFolder {
    /// Creates the folder and its missing parents. An existing folder stays unchanged.
    static func make(_ path: String) throws(ConfigurationError) {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ConfigurationError("the folder \(path) cannot be created")
        }
    }
}
