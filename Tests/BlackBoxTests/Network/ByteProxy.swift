import Foundation
import Glibc
import SyncConcurrency
import SyncSimulation

/// A TCP proxy on loopback between a client and a server, which can cut, delay, damage, and silence connections.
///
/// It forwards bytes and does not parse HTTP. One thread owns all sockets and ends with `stop()`.
final class ByteProxy: Sendable {
    let port: UInt16
    private let control: Guarded<Control>
    private let counted: Guarded<ProxyTraffic>

    struct Control {
        var conditions = ProxyConditions.fair
        /// The number of commands so far to reset all connections.
        var cuts = 0
        var upstream: UInt16
        var isStopped = false
        var hasEnded = false
    }

    init(upstream: UInt16, seed: UInt64) throws {
        let listener = try LoopbackSocket.listener()
        port = LoopbackSocket.port(of: listener)
        let control = Guarded(Control(upstream: upstream))
        let counted = Guarded(ProxyTraffic())
        self.control = control
        self.counted = counted
        let thread = Thread {
            var loop = ProxyLoop(listener: listener, random: SeededRandom(seed: seed, stream: "proxy"))
            while true {
                let commands = control.withLock { $0 }
                if commands.isStopped { break }
                loop.turn(commands)
                let news = loop.traffic
                counted.withLock { $0 = news }
            }
            loop.end()
            control.withLock { $0.hasEnded = true }
        }
        thread.start()
    }

    deinit { stop() }

    var traffic: ProxyTraffic { counted.withLock { $0 } }

    func setConditions(_ conditions: ProxyConditions) { control.withLock { $0.conditions = conditions } }
    func cutAll() { control.withLock { $0.cuts += 1 } }

    func stop() {
        control.withLock { $0.isStopped = true }
        try? eventually("the proxy's end") { control.withLock { $0.hasEnded } }
    }
}

/// Creates loopback sockets that child processes do not inherit.
enum LoopbackSocket {
    private static let stream = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

    /// - Parameter port: The port, or 0 for any free one.
    static func listener(on port: UInt16 = 0) throws -> Int32 {
        let socket = Glibc.socket(AF_INET, stream, 0)
        guard socket >= 0 else { throw UnmetConditionError("no socket: errno \(errno)") }
        var address = loopback(port)
        let bound = withAddress(&address) { bind(socket, $0, $1) }
        guard bound == 0, listen(socket, 256) == 0 else {
            let code = errno
            close(socket)
            throw UnmetConditionError("no listening socket: errno \(code)")
        }
        setNonBlocking(socket)
        return socket
    }

    private static let givenPorts = Guarded(0)

    /// Returns a free port that stays free while its server is down, because it is below the range that Linux uses for
    /// outgoing connections.
    ///
    /// Each port is returned only once per process, and processes start at different ports.
    static func lastingPort() throws -> UInt16 {
        var last: (any Error)?
        for _ in 0..<100 {
            let count = givenPorts.withLock { count in
                defer { count += 1 }
                return count
            }
            let port = UInt16(20_000 + (Int(getpid()) * 101 + count) % 12_000)
            do {
                close(try listener(on: port))
                return port
            } catch {
                last = error
            }
        }
        throw UnmetConditionError("no free port from 20000 to 31999: \(last.map { "\($0)" } ?? "")")
    }

    static func port(of socket: Int32) -> UInt16 {
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Returns a connected socket, or nil if nothing listens on the port.
    static func connected(to port: UInt16) -> Int32? {
        let socket = Glibc.socket(AF_INET, stream, 0)
        guard socket >= 0 else { return nil }
        var address = loopback(port)
        guard withAddress(&address, { connect(socket, $0, $1) }) == 0 else {
            close(socket)
            return nil
        }
        setNonBlocking(socket)
        return socket
    }

    static func setNonBlocking(_ socket: Int32) {
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        var yes: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Closes a socket with a reset. The other side notices at once and loses the data that it has not read.
    static func reset(_ socket: Int32) {
        var hard = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        close(socket)
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func withAddress(
        _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
