import Glibc
import NIOCore

/// The part of a peer's address that distinguishes one peer from another: an IPv4 address, or the first 64 bits of an
/// IPv6 address, because a single host has all addresses with that prefix.
struct PeerAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    init(bytes: [UInt8]) {
        // A socket for both families shows an IPv4 address as ::ffff:a.b.c.d.
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.count == 16, bytes.starts(with: mapped) {
            self.bytes = Array(bytes[12...])
        } else {
            self.bytes = Array(bytes.prefix(8))
        }
    }

    /// All peers without an IP address count as one.
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
