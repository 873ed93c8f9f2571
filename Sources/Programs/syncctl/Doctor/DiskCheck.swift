import Glibc
import SyncBootstrap
import SyncCore

/// Checks whether the disk of the database has room for a write.
///
/// A transaction that is rolled back proves nothing, because SQLite writes to the disk when it commits. The check
/// reserves space in a temporary file, which has no name and disappears when it is closed.
struct DiskCheck {
    let folder: String

    /// Space in bytes for the WAL of a few transactions. With less, a sync fails at its first page.
    private static let room = 256 * 1_024

    func finding() -> Finding {
        let code = Self.failure(reserving: Self.room, in: folder)
        switch code {
        case 0: return .fine("disk", "\(folder) is writable and has free space")
        case ENOSPC, EDQUOT:
            return .broken(
                "disk",
                CommandError(
                    StoreError(
                        .diskFull,
                        "the disk is full: \(folder) has no room for \(Self.room / 1_024) KiB (\(String(cString: strerror(code))))"
                    )))
        default:
            return .broken(
                "disk",
                CommandError(
                    StoreError(
                        .inputOutput, "\(folder) is not writable: \(String(cString: strerror(code)))")))
        }
    }

    /// Returns the error number (errno(3)) of the failure, or 0.
    private static func failure(reserving bytes: Int, in folder: String) -> Int32 {
        let path = folder + "/tombolo.room-\(getpid())"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        guard unlink(path) == 0 else { return errno }
        return posix_fallocate(descriptor, 0, off_t(bytes))
    }
}
