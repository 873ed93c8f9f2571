import Glibc

/// Opens regular files only. Opening a named pipe would wait for its writer, and a device may never end.
enum RegularFile {
    enum Opening {
        /// The descriptor, which the caller closes.
        case open(Int32)
        /// The reason why there is none, as the end of a sentence about the file.
        case refused(String)
    }

    static func open(_ path: String) -> Opening {
        let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            return .refused(errno == ENOENT || errno == ENOTDIR ? "there is no such file" : "it cannot be read")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return .refused("it is not a regular file")
        }
        return .open(descriptor)
    }
}
