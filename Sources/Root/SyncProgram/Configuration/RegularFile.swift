import Glibc

/// Opens regular files only. Opening a named pipe would wait for its writer, and a device may never end.
package enum RegularFile {
    package enum Opening {
        /// The descriptor, which the caller closes.
        case open(Int32)
        /// The reason why the file was not opened, as the end of a sentence about the file.
        case refused(String)
    }

    /// Opens a file for reading.
    ///
    /// - Parameter allowsInherited: Whether to accept a pipe that this process inherited: `<(command)` or standard
    ///   input.
    package static func open(_ path: String, allowsInherited: Bool = false) -> Opening {
        let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            // open(2) reports ENXIO for a socket.
            return switch errno {
            case ENOENT, ENOTDIR: .refused("there is no such file")
            case ENXIO, ENODEV: .refused("it is not a regular file")
            default: .refused("it cannot be read")
            }
        }
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        if isKnown, status.st_mode & S_IFMT == S_IFREG { return .open(descriptor) }
        // The caller handed over this descriptor.
        let isInherited = path == "/dev/stdin" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
        guard allowsInherited, isInherited, isKnown, status.st_mode & S_IFMT != S_IFDIR,
            fcntl(descriptor, F_SETFL, 0) == 0
        else {
            close(descriptor)
            return .refused("it is not a regular file")
        }
        return .open(descriptor)
    }
}
