import Glibc

/// The facts that the system has about a file: its owner, its kind, and its size.
///
/// The stat structure belongs to several C modules. Where the compiler has met one of the others first, its members are
/// not visible to a file that imports Glibc alone, so modules that import Dispatch use this type.
package struct FileStatus: Sendable {
    /// The ids of the owner and the group.
    package let (owner, group): (UInt32, UInt32)
    /// The kind, as one of the constants `S_IFREG`, `S_IFDIR`, and so on.
    package let kind: UInt32
    /// The permissions, such as 0o600.
    package let permissions: UInt32
    /// The number of hard links.
    package let links: Int
    /// The size in bytes.
    package let size: Int64
    /// The numbers of the file system and of the file in it. No two files have both in common.
    private let (device, inode): (UInt64, UInt64)

    package var isRegular: Bool { kind == S_IFREG }

    /// Returns whether two paths lead to the same file or folder, however they are spelled.
    package static func areSame(_ path: String, _ other: String) -> Bool {
        guard let first = FileStatus(path, followsLinks: true), let second = FileStatus(other, followsLinks: true)
        else { return false }
        return (first.device, first.inode) == (second.device, second.inode)
    }

    /// Looks at a path; nil, with the reason in `errno`, if that fails.
    ///
    /// - Parameter followsLinks: Whether a symbolic link stands for its target.
    package init?(_ path: String, followsLinks: Bool) {
        var status = stat()
        guard (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
        self.init(status)
    }

    /// Looks at an open file; nil, with the reason in `errno`, if that fails.
    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        owner = status.st_uid
        group = status.st_gid
        kind = status.st_mode & S_IFMT
        permissions = status.st_mode & 0o7777
        links = Int(status.st_nlink)
        size = Int64(status.st_size)
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
