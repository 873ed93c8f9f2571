import Glibc
import SyncCore

/// Finds the rows of a table whose B-tree has lost its upper pages, by what the rows look like, and makes new upper pages.
///
/// Works on a copy of the database that has no log. Pages that are free hold rows that were deleted, so they are left out, as
/// far as the list of free pages can be read (https://sqlite.org/fileformat2.html#the_freelist).
struct LeafPages: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private let pageSize: Int
    /// Grows when a level of the tree is added at the end of the file.
    private var pageCount: Int
    private var free: Set<Int> = []

    /// - Returns: nil where the file has no header that tells the size of its pages.
    init?(of path: String) throws(StoreFailure) {
        let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw DatabaseFiles.failure("open", path) }
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

    /// Makes a page the root of all leaves with rows of a shape.
    ///
    /// - Returns: false where there are no such leaves; nothing is changed then.
    mutating func join(_ shape: FilePage.Shape, under root: Int) throws(StoreFailure) -> Bool {
        guard root > 1, root <= pageCount else { return false }
        var leaves: [(page: Int, keys: ClosedRange<Int64>)] = []
        for number in 2...pageCount where number != root && !free.contains(number) {
            if let keys = page(number)?.keys(of: shape) { leaves.append((number, keys)) }
        }
        leaves.sort { ($0.keys.lowerBound, $0.page) < ($1.keys.lowerBound, $1.page) }
        // Keys grow from leaf to leaf; what breaks that was not in the tree.
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

    /// Children of an interior page: each takes four bytes, two more for its place, and a key of up to nine.
    private var fanOut: Int { (pageSize - 12) / 15 }

    private func page(_ number: Int) -> FilePage? {
        var bytes = [UInt8](repeating: 0, count: pageSize)
        guard pread(descriptor, &bytes, pageSize, off_t((number - 1) * pageSize)) == pageSize else { return nil }
        return FilePage(bytes: bytes)
    }

    private func write(_ page: FilePage, to number: Int) throws(StoreFailure) {
        guard pwrite(descriptor, page.bytes, pageSize, off_t((number - 1) * pageSize)) == pageSize else {
            throw DatabaseFiles.failure("write", path)
        }
        // The header says how many pages there are.
        let count = FilePage.bytes(of: pageCount, 4)
        guard pwrite(descriptor, count, 4, 28) == 4 else { throw DatabaseFiles.failure("write", path) }
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
