import Foundation
import Glibc
import SyncProgram
import SyncServerHTTP

/// Folders that only their owner can access.
enum PrivateFolder {
    /// Creates the folder and its missing parents. Throws if others can write in an existing folder.
    ///
    /// - Parameter key: The setting that names the folder, or a file in it.
    static func make(_ path: String, for key: String) throws(ConfigurationError) {
        guard FileStatus(path, followsLinks: true) == nil else { return try check(path, for: key) }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ConfigurationError("\(key): the folder \(path) cannot be created")
        }
    }

    /// Throws if there is no folder at the path, or if others can write in it.
    ///
    /// - Parameter key: The setting or the command that names the folder, or a file in it.
    static func check(_ path: String, for key: String) throws(ConfigurationError) {
        guard let status = FileStatus(path, followsLinks: true) else {
            throw ConfigurationError("\(key): cannot look at the folder \(path): \(String(cString: strerror(errno)))")
        }
        guard status.permissions & 0o022 == 0 else {
            throw ConfigurationError(
                "\(key): others may write in \(path) (permissions \(String(status.permissions, radix: 8))); expected 700, so run chmod 700 on it"
            )
        }
    }

    /// Returns the folder of a file.
    static func containing(_ file: String) -> String {
        // The same method of NSString traps for a path of one character.
        URL(filePath: file).deletingLastPathComponent().path(percentEncoded: false)
    }

    /// Makes the names in a folder durable, as after a rename. Some file systems do not support it.
    ///
    /// - Returns: the code of the error; nil for success.
    static func flush(_ path: String) -> Int32? {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return errno }
        defer { close(folder) }
        return fsync(folder) == 0 || errno == EINVAL ? nil : errno
    }
}
