import Glibc
import NIOCore

/// Where a connection comes from, as far as one peer is told from another: an IPv4 address, or the first 64 bits of an
/// IPv6 address, for a single host has all addresses behind these.
struct PeerAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    init(bytes: [UInt8]) {
        // ::ffff:a.b.c.d is how a socket for both families sees an IPv4 address.
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.count == 16, bytes.starts(with: mapped) {
            self.bytes = Array(bytes[12...])
        } else {
            self.bytes = Array(bytes.prefix(8))
        }
    }

    /// Peers without an address of the internet count as one.
    init(_ address: SocketAddress?) {
        self.init(
            bytes: address?.withSockAddr { address, size in
                let bytes = UnsafeRawBufferPointer(start: address, count: size)
                return switch Int32(address.pointee.sa_family) {
                case AF_INET: Array(bytes.dropFirst(MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4).prefix(4))
                case AF_INET6:
                    Array(bytes.dropFirst(MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8).prefix(16))
                default: []
                }
            } ?? [])
    }
}
