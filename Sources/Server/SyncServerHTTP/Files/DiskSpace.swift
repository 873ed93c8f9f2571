import Glibc

/// The free space of disks.
public enum DiskSpace {
    /// Returns the number of bytes that this process may still write to the disk of a folder; nil when the folder
    /// cannot be read. It is 0 for a file system that is mounted read-only.
    public static func freeBytes(in folder: String) -> Double? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        if status.f_flag & UInt(ST_RDONLY) != 0 { return 0 }
        return Double(status.f_bavail) * Double(status.f_frsize)
    }

    /// Returns whether a server may write to the disk of a folder, and the disk has enough room for it.
    static func hasRoom(in folder: String) -> Bool {
        freeBytes(in: folder).map { $0 >= SyncServerLimits.leastFreeBytes } ?? false
    }
}
