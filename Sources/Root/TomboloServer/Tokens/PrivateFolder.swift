import Foundation
import SyncProgram

/// Folders that only their owner can access.
enum PrivateFolder {
    /// Creates the folder and its missing parents. Throws if others can write in an existing folder.
    ///
    /// - Parameter key: The setting that names the folder, or a file in it.
    static func make(_ path: String, for key: String) throws(ConfigurationError) {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & 0o022 == 0 else {
                throw ConfigurationError(
                    "\(key): others may write in \(path) (permissions \(String(status.st_mode & 0o7777, radix: 8))); expected 700, so run chmod 700 on it"
                )
            }
            return
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ConfigurationError("\(key): the folder \(path) cannot be created")
        }
    }
}
