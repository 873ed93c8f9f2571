import CNetlink
import Glibc

/// A socket on which the kernel reports links and routes. Closed when the value is destroyed.
struct NetlinkSocket: ~Copyable {
    private let descriptor: Int32

    init() throws(NetlinkError) {
        let result = tombolo_netlink_open()
        guard result >= 0 else { throw NetlinkError("opening the route socket", errno: -result) }
        descriptor = result
    }

    deinit { close(descriptor) }

    /// Requests a list of all links or all routes. The response ends with `done`. Until then, the kernel refuses
    /// another request.
    borrowing func list(_ what: List) throws(NetlinkError) {
        let result =
            switch what {
            case .links: tombolo_netlink_request_links(descriptor, 1)
            case .routes: tombolo_netlink_request_routes(descriptor, 2)
            }
        guard result == 0 else { throw NetlinkError("requesting the \(what)", errno: -result) }
    }

    enum List: String, CustomStringConvertible {
        case links, routes
        var description: String { rawValue }
    }

    /// Waits for at most `milliseconds` (nil: forever), or until `wake` rings.
    ///
    /// Returns no messages when nothing arrived, and `overrun` when so much arrived that some of it is lost.
    borrowing func receive(within milliseconds: Int32?, until wake: WakeSignal?) throws(NetlinkError) -> Received {
        let (count, messages) = withUnsafeTemporaryAllocation(byteCount: Self.datagramBytes, alignment: 8) { buffer in
            let count = tombolo_netlink_receive(
                descriptor, wake?.descriptor ?? -1, buffer.baseAddress, buffer.count, milliseconds ?? -1)
            return (count, count > 0 ? RouteMessage.read(UnsafeRawBufferPointer(rebasing: buffer[..<count])) : [])
        }
        if count == -Int(ENOBUFS) { return .overrun }
        guard count >= 0 else { throw NetlinkError("receiving links and routes", errno: Int32(-count)) }
        return .messages(messages)
    }

    enum Received {
        case messages([RouteMessage])
        case overrun
    }

    /// Largest size of the kernel's datagrams.
    private static let datagramBytes = 65_536
}

/// Wakes a thread that waits for the kernel. Once rung, it stays rung.
final class WakeSignal: Sendable {
    let descriptor: Int32

    init() throws(NetlinkError) {
        let result = tombolo_wake_open()
        guard result >= 0 else { throw NetlinkError("opening the wake-up descriptor", errno: -result) }
        descriptor = result
    }

    deinit { close(descriptor) }

    func ring() { tombolo_wake_ring(descriptor) }
}

/// The error that is thrown when the kernel does not report links and routes.
public struct NetlinkError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ action: String, errno code: Int32) {
        description = "\(action) failed: \(String(cString: strerror(code)))"
    }
}
