import Foundation
import SyncProgram

/// Folders for the owner alone.
enum PrivateFolder {
    /// Makes the folder and those above it that are missing; what is there stays as it is.
    static func make(_ path: String) throws(ConfigurationProblem) {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ConfigurationProblem("the folder \(path) cannot be made")
        }
    }
}
