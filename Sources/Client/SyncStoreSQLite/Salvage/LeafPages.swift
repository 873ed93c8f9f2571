import Glibc
import SQLiteDatabase
import SyncCore

/// Rebuilds the upper B-tree pages of a table from its leaves, which are recognized by the form of their rows.
///
/// Works on a copy of the database that has no WAL. Free pages are skipped, as far as the freelist can be read, because
/// they hold deleted rows (https://sqlite.org/fileformat2.html#the_freelist).
struct LeafPages: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private let pageSize: Int
    /// The number of pages in the file. Grows as interior pages are appended.
    private var pageCount: Int
    private var free: Set<Int> = []

    /// Opens the copy; nil when its header does not give a valid page size.
    init?(of path: String) throws {
        let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw DatabaseError.file("open", path) }
        var header = [UInt8](repeating: 0, count: 100)
        var status = stat()
        let size = pread(descriptor, &header, 100, 0) == 100 ? FilePage.number(header, at: 16, bytes: 2) : 0
        guard size >= 512, size & (size - 1) == 0, fstat(descriptor, &status) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.path = path
        pageSize = size
        pageCount = Int(status.st_size) / size
        free = freePages(from: FilePage.number(header, at: 32, bytes: 4))
    }

    deinit {
        close(descriptor)
    }

    /// Makes a page the root of all leaves whose rows have the shape.
    ///
    /// - Returns: false when there are no such leaves, or no page `root`. Nothing is changed then.
    mutating func join(_ shape: FilePage.Shape, under root: Int) throws -> Bool {
        guard root > 1, root <= pageCount else { return false }
        var leaves: [(page: Int, keys: ClosedRange<Int64>)] = []
        for number in 2...pageCount where number != root && !free.contains(number) {
            if let keys = page(number)?.keys(of: shape) { leaves.append((number, keys)) }
        }
        leaves.sort { ($0.keys.lowerBound, $0.page) < ($1.keys.lowerBound, $1.page) }
        // Keys ascend from leaf to leaf. A leaf that breaks the order was not in the tree.
        var level: [FilePage.Child] = []
        for leaf in leaves where leaf.keys.lowerBound > level.last?.lastKey ?? 0 {
            level.append(FilePage.Child(page: leaf.page, lastKey: leaf.keys.upperBound))
        }
        guard !level.isEmpty else { return false }
        while level.count > fanOut {
            var upper: [FilePage.Child] = []
            for start in stride(from: 0, to: level.count, by: fanOut) {
                let children = Array(level[start...].prefix(fanOut))
                pageCount += 1
                try write(FilePage(joining: children, size: pageSize), to: pageCount)
                upper.append(FilePage.Child(page: pageCount, lastKey: children[children.count - 1].lastKey))
            }
            level = upper
        }
        try write(FilePage(joining: level, size: pageSize), to: root)
        return true
    }

    /// Maximum number of children of an interior page. Each takes 4 bytes for the page number, 2 for the cell pointer,
    /// and up to 9 for the key.
    private var fanOut: Int { (pageSize - 12) / 15 }

    private func page(_ number: Int) -> FilePage? {
        var bytes = [UInt8](repeating: 0, count: pageSize)
        guard pread(descriptor, &bytes, pageSize, off_t((number - 1) * pageSize)) == pageSize else { return nil }
        return FilePage(bytes: bytes)
    }

    private func write(_ page: FilePage, to number: Int) throws {
        guard pwrite(descriptor, page.bytes, pageSize, off_t((number - 1) * pageSize)) == pageSize else {
            throw DatabaseError.file("write", path)
        }
        // The header contains the number of pages.
        let count = FilePage.bytes(of: pageCount, 4)
        guard pwrite(descriptor, count, 4, 28) == 4 else { throw DatabaseError.file("write", path) }
    }

    private func freePages(from first: Int) -> Set<Int> {
        var free: Set<Int> = []
        var trunk = first
        while trunk > 1, trunk <= pageCount, free.insert(trunk).inserted, let page = page(trunk) {
            for index in 0..<min(FilePage.number(page.bytes, at: 4, bytes: 4), pageSize / 4 - 2) {
                free.insert(FilePage.number(page.bytes, at: 8 + 4 * index, bytes: 4))
            }
            trunk = FilePage.number(page.bytes, at: 0, bytes: 4)
        }
        return free
    }
}
