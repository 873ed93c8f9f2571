import Foundation
import Glibc
package import SyncJSON

/// Sends bytes to a port of this machine, and returns everything that comes back until the other side closes.
package enum RawExchange {
    /// Returns a call of a page as its script makes it.
    package static func call(_ name: String, _ body: String, to port: Int, secret: String) -> String {
        """
        POST /api/\(name) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nOrigin: http://127.0.0.1:\(port)\r\n\
        Authorization: Bearer \(secret)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
        """
    }

    /// Returns the body of a response; nil if the response has none in JSON.
    package static func body(of response: String) -> JSONValue? {
        guard let end = response.firstRange(of: "\r\n\r\n") else { return nil }
        return try? JSONValue(Array(response[end.upperBound...].utf8))
    }

    package static func send(_ text: String, to port: Int) async -> String {
        await withCheckedContinuation { continuation in
            // A thread of its own, because the call waits for tasks.
            Thread.detachNewThread { continuation.resume(returning: exchange(Array(text.utf8), port)) }
        }
    }

    /// Opens a connection; nil if that fails.
    package static func open(_ port: Int) -> Int32? {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard connection >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return connection }
        close(connection)
        return nil
    }

    private static func exchange(_ bytes: [UInt8], _ port: Int) -> String {
        guard let connection = open(port) else { return "" }
        defer { close(connection) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        var response: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: response, as: UTF8.self) }
            response += buffer[..<count]
        }
    }
}

extension JSONValue {
    package var string: String? { if case .string(let text) = self { text } else { nil } }
    package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    package var array: [JSONValue] { if case .array(let values) = self { values } else { [] } }
}
