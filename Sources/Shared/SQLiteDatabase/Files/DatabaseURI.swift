import SyncModel

/// Builds the SQLite URI of a database file.
package enum DatabaseURI {
    /// - Parameters:
    ///   - vfs: the name of a registered VFS to use instead of the file system; nil for the file system.
    ///   - creating: whether SQLite may create the file. On the file system, the file should exist already, with
    ///     private permissions.
    package static func make(_ path: String, vfs: String? = nil, creating: Bool = false) -> String {
        "file:" + PercentEncoding.path(path) + "?mode=\(creating ? "rwc" : "rw")" + (vfs.map { "&vfs=\($0)" } ?? "")
    }
}
