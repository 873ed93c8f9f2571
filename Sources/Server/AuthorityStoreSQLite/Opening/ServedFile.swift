import Glibc
import SyncAuthority

/// The database file that a store has opened.
///
/// If the file is moved, deleted, or replaced while it is open, SQLite continues to use a file that a later start does
/// not find. Commits to it would be confirmed and then lost.
struct ServedFile: Hashable, Sendable {
    private let path: String
    private let device: UInt64
    private let inode: UInt64

    init(at path: String) throws(AuthorityStoreFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .file(path, "look at") }
        self.path = path
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Throws `missingFile` if the file at the path is no longer the one that was opened.
    func demandInPlace() throws(AuthorityStoreFailure) {
        var status = stat()
        guard stat(path, &status) == 0, UInt64(status.st_dev) == device, UInt64(status.st_ino) == inode else {
            throw AuthorityStoreFailure(
                .missingFile, "\(path) was moved, deleted, or replaced while it is served: restart the server")
        }
    }
}
