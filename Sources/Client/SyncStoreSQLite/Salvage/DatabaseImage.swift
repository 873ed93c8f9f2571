import Glibc
import SQLiteDatabase

/// The pages of a database file and its WAL, read without SQLite, which refuses a file with a damaged header
/// (https://sqlite.org/fileformat2.html).
final class DatabaseImage {
    private let descriptor: Int32
    private let size: Int
    private let pageSize: Int
    /// The pages that the WAL replaces, by number, from 1.
    private let replaced: [Int: [UInt8]]

    /// - Parameters:
    ///   - wal: the bytes of the WAL; empty when there is none.
    ///   - pageSize: the size of a page in bytes; nil takes the size in the header.
    /// - Returns: nil when the header has no valid size.
    init?(of path: String, wal: [UInt8], pageSize: Int? = nil) throws {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw DatabaseError.file("read", path) }
        var status = stat()
        var header = [UInt8](repeating: 0, count: 100)
        let found = pread(descriptor, &header, 100, 0) == 100 ? FilePage.number(header, at: 16, bytes: 2) : 0
        let pageSize = pageSize ?? found
        guard pageSize >= 512, pageSize & (pageSize - 1) == 0, fstat(descriptor, &status) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.pageSize = pageSize
        size = Int(status.st_size)
        replaced = Self.pages(of: wal, pageSize: pageSize)
    }

    deinit {
        close(descriptor)
    }

    /// Returns the newest committed pages of a WAL.
    ///
    /// A frame belongs to the WAL's current contents if it repeats the salt of the WAL's header. Checksums are not
    /// compared, because a damaged page is better than none.
    private static func pages(of wal: [UInt8], pageSize: Int) -> [Int: [UInt8]] {
        guard wal.count >= 32 else { return [:] }
        let salt = wal[16..<24]
        var pages: [Int: [UInt8]] = [:]
        var uncommitted: [Int: [UInt8]] = [:]
        var start = 32
        while start + 24 + pageSize <= wal.count, wal[start + 8..<start + 16].elementsEqual(salt) {
            let number = FilePage.number(wal, at: start, bytes: 4)
            uncommitted[number] = Array(wal[start + 24..<start + 24 + pageSize])
            if FilePage.number(wal, at: start + 4, bytes: 4) != 0 {
                pages.merge(uncommitted) { $1 }
                uncommitted = [:]
            }
            start += 24 + pageSize
        }
        return pages
    }

    /// The number of the last page. Each page behind the end of the file is in the WAL, so a damaged frame with a
    /// higher number is left out.
    private var lastPage: Int { min(max(size / pageSize, replaced.keys.max() ?? 0), size / pageSize + replaced.count) }

    private func page(_ number: Int) -> [UInt8]? {
        if let page = replaced[number] { return page }
        guard number > 0, number <= size / pageSize else { return nil }
        var bytes = [UInt8](repeating: 0, count: pageSize)
        guard pread(descriptor, &bytes, pageSize, off_t((number - 1) * pageSize)) == pageSize else { return nil }
        return bytes
    }

    /// Returns the text of each leaf page whose only row has the key 1 and one other column, a text. The row of
    /// `sync_catalog` has this form.
    func textsOfOnlyRows() -> [String] {
        guard lastPage > 1 else { return [] }
        return (2...lastPage).compactMap { number in
            guard let page = page(number), let cell = FilePage(bytes: page).onlyText() else { return nil }
            return text(of: cell, in: page)
        }
    }

    /// Returns the text of a cell, including its overflow pages
    /// (https://sqlite.org/fileformat2.html#cell_payload_overflow_pages).
    private func text(of cell: FilePage.OnlyText, in page: [UInt8]) -> String? {
        let largest = pageSize - 35
        var local = cell.payload
        if cell.payload > largest {
            let smallest = (pageSize - 12) * 32 / 255 - 23
            let wanted = smallest + (cell.payload - smallest) % (pageSize - 4)
            local = wanted <= largest ? wanted : smallest
        }
        guard cell.payload <= size + replaced.count * pageSize, cell.start + local <= page.count else {
            return nil
        }
        var bytes = Array(page[cell.start..<cell.start + local])
        if local < cell.payload {
            guard cell.start + local + 4 <= page.count else { return nil }
            var next = FilePage.number(page, at: cell.start + local, bytes: 4)
            while bytes.count < cell.payload {
                guard let more = self.page(next) else { return nil }
                bytes += more[4...].prefix(cell.payload - bytes.count)
                next = FilePage.number(more, at: 0, bytes: 4)
            }
        }
        return String(validating: bytes.dropFirst(cell.header), as: UTF8.self)
    }
}
