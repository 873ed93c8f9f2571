import Glibc

/// A thread that waits in the kernel most of its life.
///
/// Dispatch has a limited number of threads for all queues of the process. A client that kept one of them for as long
/// as it is open would leave none for the application once there are some hundred clients.
final class WatchThread {
    /// The body needs little of a stack.
    private static let stackBytes = 512 * 1_024

    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    /// Starts a thread that calls `body` and ends.
    ///
    /// - Throws: `NetlinkError` if the process may not have another thread.
    static func start(_ body: @escaping @Sendable () -> Void) throws(NetlinkError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackBytes)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(WatchThread(body))
        let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            if let context { Unmanaged<WatchThread>.fromOpaque(context).takeRetainedValue().body() }
            return nil
        }
        let code = pthread_create(&thread, &attributes, main, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw NetlinkError("starting a thread", errno: code)
        }
    }
}
