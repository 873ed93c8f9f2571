import Glibc

/// The header of a WAL index, the file in which the processes of a database share the extent of its WAL
/// (https://sqlite.org/walformat.html#the_wal_index_header). It outlasts a process that is killed.
package struct WALIndex: Hashable, Sendable {
    /// The number of frames that are committed.
    let frameCount: Int
    /// The two numbers that all frames of the WAL repeat.
    let salt: UInt64
    /// The checksum of the last committed frame.
    let checksum: WALFile.Checksum

    /// Reads the index of a database. Returns nil if this process has the database open, and if the index is missing,
    /// new, or being changed.
    package init?(of files: DatabaseFiles) {
        guard let bytes = OpenDatabases.shared.ifClosed(files, { Self.header(of: files.path + "-shm") }),
            bytes[0..<48] == bytes[48..<96], bytes[12] == 1
        else { return nil }
        let words = bytes.withUnsafeBytes { bytes in
            (0..<12).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
        }
        let sum = bytes.withUnsafeBytes {
            WALFile.Checksum(first: 0, second: 0).continued(over: $0[0..<40], isBigEndian: UInt32(1).bigEndian == 1)
        }
        guard sum == WALFile.Checksum(first: words[10], second: words[11]), words[4] > 0 else { return nil }
        frameCount = Int(words[4])
        checksum = WALFile.Checksum(first: words[6], second: words[7])
        // The salt has the byte order of the WAL; the other numbers have that of the machine.
        salt = UInt64(UInt32(bigEndian: words[8])) << 32 | UInt64(UInt32(bigEndian: words[9]))
    }

    private static func header(of path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 96)
        return pread(file, &bytes, bytes.count, 0) == bytes.count ? bytes : nil
    }
}
