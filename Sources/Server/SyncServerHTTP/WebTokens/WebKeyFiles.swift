#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The files of JSON Web Key Sets at a path: one file, or those of a folder whose names end in `.json`.
struct WebKeyFiles: Sendable {
    let path: String

    /// The stamps of the files, and of the folder, by their paths.
    typealias Stamp = [String: FileStamp]

    /// Returns the stamps of the files; nil if there is nothing at the path.
    ///
    /// If the folder cannot be listed, or must not be used, the stamp has no files: reading then reports the error.
    func stamp() -> Stamp? {
        var stamps = [path: FileStamp(path: path)].compactMapValues { $0 }
        do throws(TrustedFileError) {
            for file in try files() { stamps[file] = FileStamp(path: file) }
        } catch  where error.isMissing {
            return nil
        } catch {
            return stamps
        }
        return stamps
    }

    /// Reads all keys. Nothing is read if one file is invalid.
    func read() throws(TrustedFileError) -> (Stamp, WebKeySet) {
        var stamps = [path: FileStamp(path: path)].compactMapValues { $0 }
        var keys = WebKeySet()
        let files = try files()
        guard files.count <= SyncServerLimits.keyFiles else {
            throw TrustedFileError(
                "\(path) has \(files.count) key files; expected at most \(SyncServerLimits.keyFiles)")
        }
        for file in files {
            let (stamp, bytes) = try TrustedFile.read(
                file, expecting: "a JSON Web Key Set", othersMay: .read, limit: SyncServerLimits.keyFileBytes,
                TrustedFile.openFile)
            stamps[file] = stamp
            do throws(WebKeyError) { try keys.add(bytes) } catch { throw TrustedFileError("\(file): \(error)") }
        }
        return (stamps, keys)
    }

    /// Returns the paths of the files, in order.
    private func files() throws(TrustedFileError) -> [String] {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw TrustedFileError(path, cannotBeRead: errno) }
            throw TrustedFileError("\(path) does not exist", isMissing: true)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return [path] }
        try TrustedFile.requireOwner(status, path)
        try TrustedFile.requireUnwritable(status, path)
        guard let folder = opendir(path) else { throw TrustedFileError(path, cannotBeRead: errno) }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) {
                    String(cString: $0)
                }
            }
            // A program that replaces a file atomically first writes another one, whose name begins with a dot.
            if name.hasSuffix(".json"), !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted().map { "\(path)/\($0)" }
    }
}
