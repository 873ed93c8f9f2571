import Glibc
import NIOCore

/// The only host of pages.
enum PageHost {
    /// The loopback address. A browser may take `localhost` for ::1, where another user's program may listen.
    static let name = "127.0.0.1"
}

/// The reason why a page cannot be served.
package struct PageServerError: Error, Hashable {
    package let message: String
    package let advice: String?
    /// Whether the cause may end without a change of the command line.
    package let mayPass: Bool

    init(mayPass: Bool, _ message: String, advice: String? = nil) {
        self.message = message
        self.advice = advice
        self.mayPass = mayPass
    }

    /// Creates the error for a port that cannot be used.
    init(listening error: IOError, on port: Int) {
        switch error.errnoCode {
        case EADDRINUSE:
            self.init(
                mayPass: false, "another program uses the port \(port) of \(PageHost.name)",
                advice: "choose another with --port, or leave it out for a free one")
        case EACCES, EPERM:
            self.init(
                mayPass: false, "this user may not listen on the port \(port)",
                advice: "choose a port from 1024 to 65535")
        default:
            self.init(
                mayPass: true,
                "cannot listen on \(PageHost.name):\(port): \(String(cString: strerror(error.errnoCode)))")
        }
    }
}
