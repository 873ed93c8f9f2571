import Foundation
import Glibc
import Testing

/// A server on a free port that answers every request with bytes that the test chooses, and closes the connection.
///
/// If the response is empty, the server never answers.
final class ScriptedServer: Sendable {
    private let listener: Int32
    let port: Int

    var url: String { "http://127.0.0.1:\(port)" }

    /// One request.
    struct Request: Sendable {
        let path: String
        let body: String

        /// Returns the text between a key of the body and the next quotation mark.
        func text(_ key: String) -> String? {
            guard let start = body.firstRange(of: "\"\(key)\":\"") else { return nil }
            return String(body[start.upperBound...].prefix { $0 != "\"" })
        }
    }

    convenience init(_ response: String) throws {
        try self.init { _ in response }
    }

    init(_ respond: @escaping @Sendable (Request) -> String) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(listener >= 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        try #require(isBound)
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread {
                    Self.serve(connection, respond)
                    close(connection)
                }
            }
        }
    }

    deinit {
        // `shutdown` also wakes the thread that waits in `accept`.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Reads one request and sends the response, with `REQUEST` replaced by the request id.
    private static func serve(_ connection: Int32, _ respond: (Request) -> String) {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
            guard head.count < 65_536, read(connection, &byte, 1) == 1 else { return }
            head.append(byte)
            // A TLS handshake does not contain the blank line that ends an HTTP head. Like a server without TLS, this
            // one answers the first byte of a handshake at once.
            if head == [0x16] { break }
        }
        let lines = String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline)
        let length = lines.first { $0.lowercased().hasPrefix("content-length:") }?.split(separator: " ").last ?? ""
        var body: [UInt8] = []
        while body.count < Int(length) ?? 0, read(connection, &byte, 1) == 1 { body.append(byte) }
        let path = lines.first?.split(separator: " ").dropFirst().first ?? ""
        let response = respond(Request(path: String(path), body: String(decoding: body, as: UTF8.self)))
        let request = lines.first { $0.lowercased().hasPrefix("tombolo-request:") }?.split(separator: " ").last ?? ""
        var rest = Array(response.replacing("REQUEST", with: request).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
        // Waits until the client has closed. Closing with unread bytes would reset the connection and lose the
        // response.
        if !response.isEmpty { shutdown(connection, Int32(SHUT_WR)) }
        while read(connection, &byte, 1) == 1 {}
    }

    /// Returns a response with a JSON body.
    ///
    /// - Parameters:
    ///   - isNamed: whether the response repeats the id of the request, as that of a sync server does.
    ///   - pause: the seconds that the server asks the client to wait.
    static func json(_ status: String, _ body: String, isNamed: Bool = false, pause: Int? = nil) -> String {
        var fields = isNamed ? "Tombolo-Request: REQUEST\r\nContent-Length: \(body.utf8.count)\r\n" : ""
        if let pause { fields += "Retry-After: \(pause)\r\n" }
        return "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\n\(fields)Connection: close\r\n\r\n\(body)"
    }
}
