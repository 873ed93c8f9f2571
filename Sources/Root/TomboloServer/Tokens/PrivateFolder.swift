import Foundation
import SyncProgram

/// Folders that only their owner can access.
enum PrivateFolder {
    /// Creates the folder and its missing parents. Throws if others can write in an existing folder.
    static func make(_ path: String) throws(ConfigurationError) {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & 0o022 == 0 else {
                throw ConfigurationError(
                    "others may write in \(path) (permissions \(String(status.st_mode & 0o7777, radix: 8)))",
                    advice: "run chmod 700 on it, or name another folder")
            }
            return
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ConfigurationError("the folder \(path) cannot be created")
        }
    }
}
