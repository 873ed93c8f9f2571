import Foundation
import Testing

@testable import TomboloServer

/// Tests the messages to a service manager, over real sockets.
@Suite struct ServiceManagerTests {
    private let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false) + "/notify-\(UUID())"

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    @Test(arguments: [false, true]) func `the states arrive at the socket of the manager`(isAbstract: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let name = isAbstract ? "@tombolo-\(UUID())" : folder + "/socket"
        let socket = try ManagerSocket(name)
        let manager = try #require(ServiceManager(variables: ["NOTIFY_SOCKET": name]))
        for state in ServiceManager.State.allCases { try manager.report(state) }
        #expect(socket.message() == "READY=1")
        #expect(socket.message() == "STOPPING=1")
        #expect(socket.message() == nil)
    }

    @Test func `without a socket, no manager waits for messages`() {
        #expect(ServiceManager(variables: [:]) == nil)
        #expect(ServiceManager(variables: ["NOTIFY_SOCKET": ""]) == nil)
    }

    @Test func `a socket that nobody reads is reported with the reason`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/socket"
        let manager = try #require(ServiceManager(variables: ["NOTIFY_SOCKET": path]))
        let error = #expect(throws: ServiceManagerError.self) { try manager.report(.ready) }
        #expect(error?.description == "NOTIFY_SOCKET: cannot send READY=1 to \(path): No such file or directory")
    }

    @Test(arguments: ["socket", "vsock:2:1234", "/", "@", "/" + String(repeating: "a", count: 107)])
    func `an address that is not one of a local socket is refused`(address: String) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let manager = try #require(ServiceManager(variables: ["NOTIFY_SOCKET": address]))
        let error = #expect(throws: ServiceManagerError.self) { try manager.report(.ready) }
        #expect(
            error?.description
                == "NOTIFY_SOCKET: cannot use \(address); expected an absolute path, or @ and a name, of at most 107 bytes"
        )
    }
}

/// The socket of a service manager.
private final class ManagerSocket {
    private let descriptor: Int32

    /// Binds a socket to a path, or to an abstract address, whose name begins with `@`.
    init(_ name: String) throws {
        var bytes = Array(name.utf8)
        if name.hasPrefix("@") { bytes[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout.size(ofValue: address.sun_family) + bytes.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        self.descriptor = descriptor
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        try #require(isBound, "\(String(cString: strerror(errno)))")
    }

    deinit { close(descriptor) }

    /// Returns the next message that has arrived; nil if there is none. A message has arrived as soon as it is sent.
    func message() -> String? {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
