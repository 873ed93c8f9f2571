import Glibc
import SQLiteDatabase
import SyncCore

/// The pages of a new database that give the location of its tables: the header and the schema's B-tree.
///
/// Databases created with the same schema have their tables at the same pages, so these pages can replace damaged ones.
/// If the tables are elsewhere, the rows read through these pages make no sense, and each is refused.
struct SchemaPages {
    private let pageSize: Int
    /// Pages by number, from 1.
    private let pages: [Int: [UInt8]]
    /// The number of pages of the new database.
    private let pageCount: Int

    /// Collects the pages from a new database.
    ///
    /// - Parameter template: the bytes of a new database, without a WAL.
    /// - Throws: `corrupt` when they are not a database.
    init(of template: [UInt8]) throws {
        guard template.count > 100 else { throw Self.unexpected }
        pageSize = FilePage.number(template, at: 16, bytes: 2)
        pageCount = template.count / pageSize
        var pages: [Int: [UInt8]] = [:]
        var queue = [1]
        while let number = queue.popLast() {
            let start = (number - 1) * pageSize
            guard number > 0, pages[number] == nil, start + pageSize <= template.count else { throw Self.unexpected }
            let page = Array(template[start..<start + pageSize])
            pages[number] = page
            queue += try Self.children(of: page, isFirst: number == 1)
        }
        self.pages = pages
    }

    private static let unexpected = StoreError(.corrupt, "a new database has no schema that can be read")

    /// Returns the child pages of an interior page of a table; none for a leaf
    /// (https://sqlite.org/fileformat2.html#b_tree_pages).
    private static func children(of page: [UInt8], isFirst: Bool) throws -> [Int] {
        let header = isFirst ? 100 : 0
        switch page[header] {
        case 13: return []
        case 5:
            let cells = FilePage.number(page, at: header + 3, bytes: 2)
            guard header + 12 + 2 * cells <= page.count else { throw unexpected }
            var children = [FilePage.number(page, at: header + 8, bytes: 4)]
            for cell in 0..<cells {
                let offset = FilePage.number(page, at: header + 12 + 2 * cell, bytes: 2)
                guard offset + 4 <= page.count else { throw unexpected }
                children.append(FilePage.number(page, at: offset, bytes: 4))
            }
            return children
        default: throw unexpected
        }
    }

    /// Overwrites the pages of the same numbers in a file.
    func write(to path: String) throws {
        let file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw DatabaseError.file("open", path) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw DatabaseError.file("look at", path) }
        // In a file that was too short, the added pages are zero. Rows are then read only from pages that the WAL has.
        let count = max(Int(status.st_size) / pageSize, pageCount)
        guard ftruncate(file, off_t(count * pageSize)) == 0 else { throw DatabaseError.file("write", path) }
        for (number, page) in pages.sorted(by: { $0.key < $1.key }) {
            var page = page
            if number == 1 { Self.set(UInt32(clamping: count), inHeader: &page) }
            try Self.write(page, at: (number - 1) * pageSize, to: file, path)
        }
    }

    /// Sets the number of pages, and an empty freelist, which is safe because SQLite adds nothing to this file.
    private static func set(_ pages: UInt32, inHeader page: inout [UInt8]) {
        for index in 0..<4 {
            page[28 + index] = UInt8(truncatingIfNeeded: pages >> UInt32(24 - 8 * index))
            page[32 + index] = 0
            page[36 + index] = 0
            // The version-valid-for number must equal the change counter for the number of pages to be valid.
            page[92 + index] = page[24 + index]
        }
    }

    private static func write(_ bytes: [UInt8], at offset: Int, to file: Int32, _ path: String) throws {
        guard pwrite(file, bytes, bytes.count, off_t(offset)) == bytes.count else {
            throw DatabaseError.file("write", path)
        }
    }
}
