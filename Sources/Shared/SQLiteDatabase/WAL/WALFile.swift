import Glibc

/// The frames of a WAL file, read without SQLite (https://sqlite.org/fileformat2.html#walformat).
///
/// SQLite ends a WAL at the first frame whose checksum is wrong, and silently drops all commits behind it, because a
/// crash leaves such a frame at the end. The WAL index of the last process tells whether the frame was committed, and
/// is therefore damaged. The frames alone do not tell: behind the end, a WAL can have whole commits of an earlier
/// process that was killed before it completed them.
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
    ///
    /// - Parameter index: gives the salt if the header is damaged.
    private init?(_ path: String, _ index: WALIndex, flags: Int32) throws(DatabaseError) {
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
        guard pageSize >= 512, pageSize <= 65_536, pageSize & (pageSize - 1) == 0 else {
            close(file)
            return nil
        }
        descriptor = file
        self.pageSize = pageSize
        self.isBigEndian = isWhole && isBigEndian
        start = isWhole ? sum : nil
        salt = isWhole ? UInt64(words[4]) << 32 | UInt64(words[5]) : index.salt
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
        let stored: Checksum
        let continues: Bool
    }

    /// Calls `body` with the first frames, in order.
    ///
    /// The checksums do not cover the salt. Only SQLite's own end of the WAL depends on it: see `endForSQLite`.
    private func forEachFrame(_ count: Int, _ body: (_ number: Int, Frame) -> Void) {
        var buffer = [UInt8](repeating: 0, count: frameBytes)
        var previous = start
        // The checksum that a damaged frame would have by its contents, if only its stored checksum is wrong.
        var ofContents: Checksum?
        for number in 0..<min(count, frameCount) {
            guard read(number, into: &buffer) else { return }
            buffer.withUnsafeBytes { bytes in
                let stored = Checksum(first: Self.word(bytes, at: 16), second: Self.word(bytes, at: 20))
                let computed = previous.map { checksum(of: bytes, after: $0) }
                var continues = computed == stored
                if !continues, let ofContents { continues = checksum(of: bytes, after: ofContents) == stored }
                ofContents = continues ? nil : computed
                previous = stored
                let frame = Frame(
                    page: Self.word(bytes, at: 0), isCommit: Self.word(bytes, at: 4) != 0, stored: stored,
                    continues: continues)
                body(number, frame)
            }
        }
    }

    /// The number of the first frame that SQLite does not accept, at most `count`.
    private func endForSQLite(within count: Int) -> Int {
        guard var sum = start else { return 0 }
        var buffer = [UInt8](repeating: 0, count: frameBytes)
        for number in 0..<min(count, frameCount) {
            guard read(number, into: &buffer) else { return number }
            let isNext = buffer.withUnsafeBytes { bytes in
                guard UInt64(Self.word(bytes, at: 8)) << 32 | UInt64(Self.word(bytes, at: 12)) == salt else {
                    return false
                }
                sum = checksum(of: bytes, after: sum)
                return sum == Checksum(first: Self.word(bytes, at: 16), second: Self.word(bytes, at: 20))
            }
            if !isNext { return number }
        }
        return min(count, frameCount)
    }

    private func read(_ number: Int, into buffer: inout [UInt8]) -> Bool {
        pread(descriptor, &buffer, frameBytes, off_t(Self.headerBytes + number * frameBytes)) == frameBytes
    }

    private func checksum(of frame: UnsafeRawBufferPointer, after sum: Checksum) -> Checksum {
        sum.continued(over: frame[0..<8], isBigEndian: isBigEndian)
            .continued(over: frame[Self.frameHeaderBytes...], isBigEndian: isBigEndian)
    }

    /// SQLite's checksum of a WAL. It only detects accidents.
    struct Checksum: Hashable {
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
    /// Returns the number of commits that SQLite would drop because of damage; 0 if there are none, or if nothing
    /// proves that the frames were committed.
    ///
    /// Must be called before this process opens the database.
    ///
    /// - Parameter files: the database, which another process may be using.
    package static func commitsLostToDamage(of files: DatabaseFiles) throws(DatabaseError) -> Int {
        // The index is read first, because frames are added to the file before they are added to the index.
        guard let status = status(of: files.wal), let index = WALIndex(of: files),
            let file = try WALFile(files.wal, index, flags: O_RDONLY)
        else { return 0 }
        defer { close(file.descriptor) }
        let end = file.endForSQLite(within: index.frameCount)
        // Another process may have restarted the WAL meanwhile. The index then has another salt before any frame has.
        guard file.salt == index.salt, end < index.frameCount, WALIndex(of: files)?.salt == index.salt else { return 0 }
        var commits = 0
        var last: Checksum?
        file.forEachFrame(index.frameCount) { number, frame in
            last = frame.stored
            if number >= end, frame.isCommit { commits += 1 }
        }
        // A power loss can leave an index that is newer than the WAL. The last frame proves that both have the same
        // age.
        guard wasWrittenSinceSystemStart(status) || last == index.checksum else { return 0 }
        return max(commits, 1)
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    /// Whether a file was last written after the system started, so that no power loss has come in between.
    private static func wasWrittenSinceSystemStart(_ status: stat) -> Bool {
        var (now, uptime) = (timespec(), timespec())
        guard clock_gettime(CLOCK_REALTIME, &now) == 0, clock_gettime(CLOCK_BOOTTIME, &uptime) == 0 else {
            return false
        }
        return status.st_mtim.tv_sec > now.tv_sec - uptime.tv_sec
    }

    /// Changes a copy of a WAL so that SQLite reads all commits that the index has, also those behind damage.
    ///
    /// A damaged page is kept if no later frame replaces it, because it may have rows that can be read. Nobody may have
    /// the copy open.
    ///
    /// - Returns: the damage that was found.
    @discardableResult
    package static func acceptDamage(inCopy path: String, _ index: WALIndex) throws(DatabaseError) -> Damage {
        guard let file = try WALFile(path, index, flags: O_RDWR) else { return .none }
        defer { close(file.descriptor) }
        guard file.salt == index.salt, file.endForSQLite(within: index.frameCount) < index.frameCount else {
            return .none
        }
        let before = file.pages(of: path.dropLast("-wal".count))
        let (kept, pages, losesPages) = file.framesToKeep(index.frameCount, pagesBefore: before)
        guard file.rewrite(kept, pages: pages) else { throw .file("write", path) }
        return losesPages ? .lostPages : .damagedPages
    }

    /// The damage in a WAL.
    package enum Damage: Hashable, Sendable {
        /// SQLite reads all commits.
        case none
        /// Some pages may have wrong bytes. Each is as new as the last commit.
        case damagedPages
        /// Some pages may be older than the last commit, because nothing tells which page a frame belongs to.
        case lostPages
    }

    /// Returns the numbers of the first frames, without those that are useless, the number of pages that the database
    /// has with them, and whether the page of a useless frame is unknown.
    ///
    /// A frame adds at most one page to the database. A larger page number in a damaged frame is damaged itself.
    ///
    /// - Parameter pagesBefore: the number of pages in the file of the database.
    private func framesToKeep(
        _ count: Int, pagesBefore: UInt32
    ) -> (numbers: [Int], pages: UInt32, losesPages: Bool) {
        var frames: [Frame] = []
        forEachFrame(count) { frames.append($1) }
        var newest: [UInt32: Int] = [:]
        var largest = pagesBefore
        for (number, frame) in frames.enumerated() where frame.continues {
            newest[frame.page] = number
            largest = max(largest, frame.page)
        }
        let damaged = frames.count { !$0.continues }
        let bound = Int(largest) + damaged
        func hasPossiblePage(_ frame: Frame) -> Bool { frame.page > 0 && frame.page <= bound }
        let numbers = frames.indices.filter { number in
            let frame = frames[number]
            return frame.continues || hasPossiblePage(frame) && (newest[frame.page] ?? -1) < number
        }
        // A file that was cut has fewer frames.
        let losesPages = frames.count < count || frames.contains { !$0.continues && !hasPossiblePage($0) }
        return (numbers, numbers.reduce(largest) { max($0, frames[$1].page) }, losesPages)
    }

    /// Returns the number of pages in the file of a database; 0 if there is none.
    private func pages(of database: Substring) -> UInt32 {
        Self.status(of: String(database)).map { UInt32(clamping: Int($0.st_size) / max(pageSize, 1)) } ?? 0
    }

    /// Writes a header and the given frames, with new checksums, and cuts the file behind them.
    ///
    /// - Parameter pages: the number of pages that the last frame gives to the database if it commits nothing. The
    ///   frame that committed it was useless, and SQLite would drop all frames since the commit before.
    private func rewrite(_ kept: [Int], pages: UInt32) -> Bool {
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
            if target == kept.count - 1, buffer[4..<8].allSatisfy({ $0 == 0 }) {
                place = 4
                append(pages, to: &buffer)
            }
            sum = buffer.withUnsafeBytes { bytes in
                sum.continued(over: bytes[0..<8], isBigEndian: false)
                    .continued(over: bytes[Self.frameHeaderBytes...], isBigEndian: false)
            }
            place = 8
            for word in salts + [sum.first, sum.second] { append(word, to: &buffer) }
            let offset = off_t(Self.headerBytes + target * frameBytes)
            guard pwrite(descriptor, buffer, frameBytes, offset) == frameBytes else { return false }
        }
        return ftruncate(descriptor, off_t(Self.headerBytes + kept.count * frameBytes)) == 0
    }
}
