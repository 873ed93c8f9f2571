import Glibc

/// A temporary folder that is deleted with this object. It is in memory if possible.
package final class TemporaryFolder {
    package let path: String

    package init() throws {
        let root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(root)/tombolo-bytes-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw FileError(description: "mkdtemp: error \(errno)") }
        path = String(cString: made)
    }

    deinit {
        for name in names { unlink(path + "/" + name) }
        rmdir(path)
    }

    package var names: [String] {
        guard let directory = opendir(path) else { return [] }
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

    package func write(_ bytes: [UInt8], to name: String) throws {
        let file = open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileError(description: "\(name) cannot be made: error \(errno)") }
        defer { close(file) }
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw FileError(description: "\(name) cannot be written: error \(errno)")
        }
    }

    package func read(_ name: String) throws -> [UInt8] {
        let file = open(path + "/" + name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw FileError(description: "\(name) cannot be opened: error \(errno)") }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw FileError(description: "\(name): error \(errno)") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        guard Glibc.read(file, &bytes, bytes.count) == bytes.count else {
            throw FileError(description: "\(name) cannot be read: error \(errno)")
        }
        return bytes
    }
}

package struct FileError: Error, CustomStringConvertible {
    package let description: String
}
