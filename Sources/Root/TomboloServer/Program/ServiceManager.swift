import Glibc

/// The service manager that started this process, such as systemd. It waits for messages about the server's state
/// (sd_notify(3)).
struct ServiceManager: Sendable {
    /// A state of the server, as the text of its message.
    enum State: String, CaseIterable, Sendable {
        /// The server accepts requests.
        case ready = "READY=1"
        /// The server finishes its open requests, and ends.
        case stopping = "STOPPING=1"
    }

    /// The path of the manager's socket. A leading `@` stands for the zero byte of an abstract address.
    private let socket: String

    /// Creates the manager that the environment variable `NOTIFY_SOCKET` names; nil if no manager waits for messages.
    init?(variables: [String: String]) {
        guard let socket = variables["NOTIFY_SOCKET"], !socket.isEmpty else { return nil }
        self.socket = socket
    }

    /// Tells the manager the state of the server.
    func report(_ state: State) throws(ServiceManagerError) {
        var (address, length) = try address()
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure(state, errno) }
        defer { close(descriptor) }
        let text = Array(state.rawValue.utf8)
        let count = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), address, length)
            }
        }
        guard count == text.count else { throw failure(state, errno) }
    }

    private func address() throws(ServiceManagerError) -> (sockaddr_un, socklen_t) {
        var bytes = Array(socket.utf8)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard let first = socket.first, first == "/" || first == "@", bytes.count > 1,
            bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        else {
            throw ServiceManagerError(
                description:
                    "NOTIFY_SOCKET: cannot use \(socket); expected an absolute path, or @ and a name, of at most \(MemoryLayout.size(ofValue: address.sun_path) - 1) bytes"
            )
        }
        if first == "@" { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // The length of an abstract address counts no byte after the name.
        return (address, socklen_t(MemoryLayout.size(ofValue: address.sun_family) + bytes.count))
    }

    private func failure(_ state: State, _ code: Int32) -> ServiceManagerError {
        ServiceManagerError(
            description: "NOTIFY_SOCKET: cannot send \(state.rawValue) to \(socket): \(String(cString: strerror(code)))"
        )
    }
}

/// The error when a service manager cannot be told the state of the server.
struct ServiceManagerError: Error, CustomStringConvertible {
    let description: String
}
