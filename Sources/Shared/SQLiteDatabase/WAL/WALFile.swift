import Glibc

/// The frames of a WAL file, read without SQLite (https://sqlite.org/fileformat2.html#walformat).
///
/// SQLite ends a WAL at the first frame whose checksum is wrong, and silently drops all commits behind it, because a
/// crash leaves such a frame at the end. Each checksum continues the one before it. If frames behind the wrong one still
/// continue each other, the wrong one was not the end when it was written, and is damaged.
package struct WALFile {
    private let descriptor: Int32
    private let frameCount: Int
    private let pageSize: Int
    private let isBigEndian: Bool
    /// The two numbers that all frames of the present contents repeat.
    private let salt: UInt64
    /// The checksum of the header, which the first frame continues; nil if the header is damaged.
    private let start: Checksum?

    private static let headerBytes = 32
    private static let frameHeaderBytes = 24
    private var frameBytes: Int { Self.frameHeaderBytes + pageSize }

    /// Opens the file. Returns nil if there is none, or if it has no frames.
    private init?(_ path: String, flags: Int32) throws(DatabaseError) {
        let file = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            // The last connection to close deletes the WAL.
            if errno == ENOENT { return nil }
            throw .file("read", path)
        }
        var status = stat()
        // The header, and the header of the first frame.
        var bytes = [UInt8](repeating: 0, count: Self.headerBytes + Self.frameHeaderBytes)
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            pread(file, &bytes, bytes.count, 0) == bytes.count
        else {
            close(file)
            return nil
        }
        let words = bytes.withUnsafeBytes { bytes in (0..<14).map { Self.word(bytes, at: 4 * $0) } }
        let isBigEndian = words[0] & 1 == 1
        let sum = bytes.withUnsafeBytes {
            Checksum(first: 0, second: 0).continued(over: $0[0..<24], isBigEndian: isBigEndian)
        }
        let isWhole = words[0] & ~1 == Self.magic && sum == Checksum(first: words[6], second: words[7])
        let pageSize = isWhole ? Int(words[2]) : Self.usualPageSize
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else {
            close(file)
            return nil
        }
        descriptor = file
        self.pageSize = pageSize
        self.isBigEndian = isWhole && isBigEndian
        start = isWhole ? sum : nil
        let place = isWhole ? 4 : 10
        salt = UInt64(words[place]) << 32 | UInt64(words[place + 1])
        frameCount = (Int(status.st_size) - Self.headerBytes) / (Self.frameHeaderBytes + pageSize)
    }

    private static let magic: UInt32 = 0x377F_0682
    private static let formatVersion: UInt32 = 3_007_000
    /// SQLite's own default, which every database of Tombolo has.
    private static let usualPageSize = 4_096

    private static func word(_ bytes: UnsafeRawBufferPointer, at place: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }

    // MARK: Frames

    /// A frame, and whether it continues the frame before it.
    private struct Frame {
        let page: UInt32
        let isCommit: Bool
        /// Whether it belongs to the present contents: a WAL that has restarted has older frames at its end.
        let isCurrent: Bool
        let continues: Bool
    }

    /// Calls `body` with each frame, in order.
    private func forEachFrame(_ body: (_ number: Int, Frame) -> Void) {
        var buffer = [UInt8](repeating: 0, count: frameBytes)
        var previous = start
        // The checksum that a damaged frame would have by its contents, if only its stored checksum is wrong.
        var ofContents: Checksum?
        for number in 0..<frameCount {
            guard read(number, into: &buffer) else { return }
            buffer.withUnsafeBytes { bytes in
                let stored = Checksum(first: Self.word(bytes, at: 16), second: Self.word(bytes, at: 20))
                let isCurrent = UInt64(Self.word(bytes, at: 8)) << 32 | UInt64(Self.word(bytes, at: 12)) == salt
                let computed = isCurrent ? previous.map { checksum(of: bytes, after: $0) } : nil
                var continues = computed == stored
                if isCurrent, !continues, let ofContents {
                    continues = checksum(of: bytes, after: ofContents) == stored
                }
                ofContents = continues ? nil : computed
                previous = stored
                let frame = Frame(
                    page: Self.word(bytes, at: 0), isCommit: Self.word(bytes, at: 4) != 0, isCurrent: isCurrent,
                    continues: isCurrent && continues)
                body(number, frame)
            }
        }
    }

    private func read(_ number: Int, into buffer: inout [UInt8]) -> Bool {
        pread(descriptor, &buffer, frameBytes, off_t(Self.headerBytes + number * frameBytes)) == frameBytes
    }

    private func checksum(of frame: UnsafeRawBufferPointer, after sum: Checksum) -> Checksum {
        sum.continued(over: frame[0..<8], isBigEndian: isBigEndian)
            .continued(over: frame[Self.frameHeaderBytes...], isBigEndian: isBigEndian)
    }

    /// SQLite's checksum of a WAL. It only detects accidents.
    private struct Checksum: Hashable {
        var first: UInt32
        var second: UInt32

        /// - Parameter bytes: a multiple of eight bytes.
        func continued(over bytes: Slice<UnsafeRawBufferPointer>, isBigEndian: Bool) -> Checksum {
            var sum = self
            let rebased = UnsafeRawBufferPointer(rebasing: bytes)
            var place = 0
            while place < rebased.count {
                let (left, right) = (
                    rebased.loadUnaligned(fromByteOffset: place, as: UInt32.self),
                    rebased.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                )
                sum.first &+= (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ sum.second
                sum.second &+= (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ sum.first
                place += 8
            }
            return sum
        }
    }
}

// MARK: - Damage

extension WALFile {
    /// Returns the number of undamaged commits that SQLite would drop, because they are behind damage that no crash
    /// explains; 0 if there are none, or if there is no WAL.
    ///
    /// Another process may be writing the WAL. If its contents change during each of some attempts, the result is 0.
    ///
    /// - Parameter flushesCommits: whether each commit is flushed before the next one begins. If not, a power loss can
    ///   leave out any part of the WAL.
    package static func commitsBehindDamage(at path: String, flushesCommits: Bool) throws(DatabaseError) -> Int {
        for _ in 0..<3 {
            guard let before = status(of: path), let file = try WALFile(path, flags: O_RDONLY) else { return 0 }
            defer { close(file.descriptor) }
            let commits = file.commitsBehindDamage(
                provenBy: wasWrittenSinceSystemStart(before) ? 1 : flushesCommits ? 2 : .max)
            guard commits > 0 else { return 0 }
            if let after = status(of: path), after.st_size == before.st_size,
                (after.st_mtim.tv_sec, after.st_mtim.tv_nsec) == (before.st_mtim.tv_sec, before.st_mtim.tv_nsec)
            {
                return commits
            }
        }
        return 0
    }

    /// - Parameter needed: the number of commits behind a gap that prove that the gap is damage. A power loss can leave a
    ///   gap in the last commit, with later frames of the same commit behind it. If frames continue the damaged frame
    ///   directly, one commit is enough: a power loss leaves out whole pages of the file, and each of them contains the
    ///   header of a frame.
    private func commitsBehindDamage(provenBy needed: Int) -> Int {
        var damaged: Int?
        var isDirect = true
        var (commits, directCommits) = (0, 0)
        forEachFrame { number, frame in
            guard damaged != nil else {
                if !frame.continues { damaged = number }
                return
            }
            if !frame.continues { isDirect = false }
            guard frame.continues, frame.isCommit else { return }
            commits += 1
            if isDirect { directCommits += 1 }
        }
        return directCommits > 0 || commits >= needed ? commits : 0
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    /// Whether a file was last written after the system started, so that no power loss explains a gap in it.
    private static func wasWrittenSinceSystemStart(_ status: stat) -> Bool {
        var (now, uptime) = (timespec(), timespec())
        guard clock_gettime(CLOCK_REALTIME, &now) == 0, clock_gettime(CLOCK_BOOTTIME, &uptime) == 0 else {
            return false
        }
        return status.st_mtim.tv_sec > now.tv_sec - uptime.tv_sec
    }

    /// Changes a copy of a WAL so that SQLite reads all commits in it, also those behind damage.
    ///
    /// A damaged page is kept if no later frame replaces it, because it may have rows that can be read. Nobody may have
    /// the file open.
    ///
    /// - Returns: whether the file was changed.
    @discardableResult
    package static func acceptDamage(inCopy path: String) throws(DatabaseError) -> Bool {
        guard let file = try WALFile(path, flags: O_RDWR) else { return false }
        defer { close(file.descriptor) }
        let kept = file.framesToKeep()
        guard !kept.isEmpty, file.start == nil || kept != Array(0..<kept.count) || !file.isContinuous(kept.count)
        else { return false }
        guard file.rewrite(kept) else { throw .file("write", path) }
        return true
    }

    private func isContinuous(_ count: Int) -> Bool {
        var isContinuous = true
        forEachFrame { number, frame in
            if number < count, !frame.continues { isContinuous = false }
        }
        return isContinuous
    }

    /// The numbers of the frames up to the last commit, without those that are useless.
    private func framesToKeep() -> [Int] {
        var frames: [Frame] = []
        forEachFrame { frames.append($1) }
        guard let last = frames.lastIndex(where: { $0.continues && $0.isCommit }) else { return [] }
        var largest: UInt32 = 0
        var newest: [UInt32: Int] = [:]
        for (number, frame) in frames[...last].enumerated() where frame.continues {
            largest = max(largest, frame.page)
            newest[frame.page] = number
        }
        return (0...last).filter { number in
            let frame = frames[number]
            if frame.continues { return true }
            return frame.isCurrent && frame.page > 0 && frame.page <= largest && (newest[frame.page] ?? -1) < number
        }
    }

    /// Writes a header and the given frames, with new checksums, and cuts the file behind them.
    private func rewrite(_ kept: [Int]) -> Bool {
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        var place = 0
        func append(_ word: UInt32, to bytes: inout [UInt8]) {
            withUnsafeBytes(of: word.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
            place += 4
        }
        let salts = [UInt32(truncatingIfNeeded: salt >> 32), UInt32(truncatingIfNeeded: salt)]
        for word in [Self.magic, Self.formatVersion, UInt32(pageSize), 0] + salts { append(word, to: &header) }
        var sum = header.withUnsafeBytes {
            Checksum(first: 0, second: 0).continued(over: $0[0..<24], isBigEndian: false)
        }
        for word in [sum.first, sum.second] { append(word, to: &header) }
        guard pwrite(descriptor, header, header.count, 0) == header.count else { return false }
        var buffer = [UInt8](repeating: 0, count: frameBytes)
        for (target, number) in kept.enumerated() {
            guard read(number, into: &buffer) else { return false }
            sum = buffer.withUnsafeBytes { bytes in
                sum.continued(over: bytes[0..<8], isBigEndian: false)
                    .continued(over: bytes[Self.frameHeaderBytes...], isBigEndian: false)
            }
            place = 16
            for word in [sum.first, sum.second] { append(word, to: &buffer) }
            let offset = off_t(Self.headerBytes + target * frameBytes)
            guard pwrite(descriptor, buffer, frameBytes, offset) == frameBytes else { return false }
        }
        return ftruncate(descriptor, off_t(Self.headerBytes + kept.count * frameBytes)) == 0
    }
}
