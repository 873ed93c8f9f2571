import Foundation
import Glibc
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite

/// A temporary folder that is deleted at the end of the test.
final class Scratch {
    let folder: String

    init() throws {
        // The folder is in memory if possible, so that the tests do not depend on the speed of the disk.
        let root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(root)/tombolo-store-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw StoreError(.inputOutput, "mkdtemp failed") }
        folder = String(cString: made)
    }

    deinit {
        for entry in names { unlink(folder + "/" + entry) }
        rmdir(folder)
    }

    var file: String { folder + "/cache.sqlite" }

    var names: [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns the permissions of a file as an octal number, or "none" if there is no such file.
    func permissions(_ name: String = "") -> String {
        var status = stat()
        guard stat(folder + "/" + name, &status) == 0 else { return "none" }
        return String(status.st_mode & 0o7777, radix: 8)
    }

    /// Returns the size of the database's WAL in bytes.
    func walSize() throws -> Int {
        var status = stat()
        guard stat(file + "-wal", &status) == 0 else { throw StoreError(.inputOutput, "there is no WAL") }
        return Int(status.st_size)
    }

    /// Returns whether any file in the folder contains the text.
    func holds(_ text: String) throws -> Bool {
        for name in names {
            let bytes = try Data(contentsOf: URL(filePath: folder + "/" + name))
            if bytes.firstRange(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }

    func open(
        _ catalog: SchemaCatalog = Samples.catalog, _ change: (inout StoreConfiguration) -> Void = { _ in }
    ) throws(StoreError) -> SQLiteStore {
        var configuration = StoreConfiguration(file: file)
        change(&configuration)
        var random = SeededRandom(seed: 42)
        return try SQLiteStore.open(configuration, catalog: catalog, now: Samples.now, random: &random)
    }
}

enum Samples {
    static let now = WallTime(milliseconds: 1_700_000_000_000)

    static let users = ModelSchema(
        collection: "users", fields: [.text("username", required: true, bytes: 1...64), .integer("age")])

    static let catalog = SchemaCatalog([users])

    static func id(_ number: UInt64) -> RecordID {
        RecordID(bits: Identifier128(high: 0x018B_CFE5_6800_7000, low: 0x8000_0000_0000_0000 | number))
    }

    static func create(_ number: UInt64, _ name: String = "ada") -> RecordEdit {
        .create("users", id(number), ["username": .text(name)])
    }
}
