import Glibc
import NIOCore

/// The only host of pages.
enum PageHost {
    /// The loopback address. A browser may take `localhost` for ::1, where another user's program may listen.
    static let name = "127.0.0.1"
}

/// The reason why a page cannot be served.
package struct PageServerError: Error, Hashable {
    package let code: Code
    package let message: String
    package let advice: String?

    package enum Code: Sendable {
        /// Another program listens on the port.
        case portInUse
        /// This user may not listen on the port.
        case portForbidden
        /// The system cannot listen.
        case systemFailed
    }

    init(_ code: Code, _ message: String, advice: String? = nil) {
        self.code = code
        self.message = message
        self.advice = advice
    }

    /// Creates the error for a port that cannot be used.
    init(listening error: IOError, on port: Int) {
        switch error.errnoCode {
        case EADDRINUSE:
            self.init(
                .portInUse, "another program uses the port \(port) of \(PageHost.name)",
                advice: "choose another with --port, or leave it out for a free one")
        case EACCES, EPERM:
            self.init(
                .portForbidden, "this user may not listen on the port \(port)",
                advice: "choose a port from 1024 to 65535")
        default:
            self.init(
                .systemFailed,
                "cannot listen on \(PageHost.name):\(port): \(String(cString: strerror(error.errnoCode)))")
        }
    }
}
