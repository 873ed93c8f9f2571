import Glibc
import NIOSSL

/// A file of certificates in PEM format.
enum CertificateFile {
    /// The largest file that is read, in bytes: larger than the certificates of all public authorities.
    private static let largestSize = 16 * 1_024 * 1_024

    /// Reads the certificates of a regular file, or of a pipe that a shell has given to this process.
    ///
    /// - Throws: when there are none, and for a named pipe, because reading it would mean waiting for its writer.
    static func certificates(in path: String) throws(HTTPTransportConfigurationError) -> [NIOSSLCertificate] {
        guard let bytes = bytes(of: path), let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes),
            !certificates.isEmpty
        else {
            throw HTTPTransportConfigurationError(
                description:
                    "\(path) cannot be read, is not a regular file, or contains no certificates; expected the certificates to trust, in PEM format"
            )
        }
        return certificates
    }

    private static func bytes(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        if status.st_mode & S_IFMT != S_IFREG {
            let isInherited = path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
            let isPipe = status.st_mode & S_IFMT == S_IFIFO
            guard isInherited, isPipe, fcntl(descriptor, F_SETFL, 0) == 0 else { return nil }
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while bytes.count <= largestSize {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += buffer[..<count]
        }
        return nil
    }
}
