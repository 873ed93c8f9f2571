import Foundation
import Glibc
import Testing

/// A server on a free port that answers every request with the same bytes and closes the connection. With an empty
/// response it never answers.
final class ScriptedServer: Sendable {
    private let listener: Int32
    let port: Int

    var url: String { "http://127.0.0.1:\(port)" }

    init(_ response: String) throws {
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
                Self.serve(connection, response)
                close(connection)
            }
        }
    }

    deinit {
        // This also ends the wait of the accepting thread.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Reads one request head and sends the response, with `REQUEST` replaced by the request id. Request bodies are not
    /// read.
    private static func serve(_ connection: Int32, _ response: String) {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
            guard head.count < 65_536, read(connection, &byte, 1) == 1 else { return }
            head.append(byte)
            // A TLS handshake has no end of a head, so it is answered at once, like by a server without TLS.
            if head == [0x16] { break }
        }
        let lines = String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline)
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

    static func json(_ status: String, _ body: String) -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\(body)"
    }
}
