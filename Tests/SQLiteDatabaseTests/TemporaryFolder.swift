import Glibc
import SQLiteDatabase

/// A private folder for one test, which is deleted with this object.
final class TemporaryFolder {
    let path: String
    var file: String { path + "/test.sqlite" }

    struct Failure: Error {}

    init() throws {
        var template = Array("/tmp/tombolo-database-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure() }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
    }

    deinit {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            unlink(path + "/" + name)
        }
        closedir(folder)
        rmdir(path)
    }

    func open(_ busyTimeout: Duration = .zero) throws -> Connection {
        try Connection(opening: file, busyTimeout: busyTimeout)
    }
}

/// Returns the code of the `DatabaseError` that `body` throws; nil if it throws nothing or another error.
func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? DatabaseError)?.code
    }
}
