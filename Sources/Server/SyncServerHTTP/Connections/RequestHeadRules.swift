import NIOHTTP1

/// Rules for the head of a request beyond its grammar, so that no two parties interpret it differently (RFC 9112).
enum RequestHeadRules {
    /// Returns the reason to reject a head; nil when it follows the rules.
    static func violation(of head: HTTPRequestHead) -> String? {
        guard head.version == .http1_1 || head.version == .http1_0 else {
            return "the request is of another version of HTTP; expected HTTP/1.1"
        }
        let hosts = head.headers["host"]
        // HTTP/1.0 does not require a Host field (RFC 9112 §3.2).
        guard hosts.count == 1 || (hosts.isEmpty && head.version == .http1_0) else {
            return "the request has \(hosts.count) Host fields; expected exactly one"
        }
        if let host = hosts.first, !isHost(host) { return "the Host field is not a host name with an optional port" }
        let lengths = head.headers["content-length"]
        let encodings = head.headers["transfer-encoding"]
        guard lengths.count <= 1 else {
            return "the request has \(lengths.count) Content-Length fields; expected at most one"
        }
        // Accept digits only, because Swift also parses "+2". The number must fit into `Int`, because parties may treat
        // an overflow differently.
        if let length = lengths.first, Int(length) == nil || !length.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return "the Content-Length field is not a decimal number, or too large"
        }
        guard lengths.isEmpty || encodings.isEmpty else {
            return "the request has both Content-Length and Transfer-Encoding; expected one of them"
        }
        guard encodings.isEmpty || (encodings.count == 1 && encodings[0].lowercased() == "chunked") else {
            return "the Transfer-Encoding is not supported; expected chunked"
        }
        guard encodings.isEmpty || head.version == .http1_1 else {
            return "Transfer-Encoding needs HTTP/1.1"
        }
        return nil
    }

    /// Returns whether the peer waits for permission before it sends the body (RFC 9110 §10.1.1).
    static func expectsContinue(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_1
            && (head.headers.contains(name: "transfer-encoding") || head.headers.contains(name: "content-length"))
            && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }

    /// Returns whether the text has only characters of a host name, an IPv4 or bracketed IPv6 address, and a port (RFC
    /// 3986 §3.2.2). An empty text is valid. A comma is refused, because it may join two fields.
    private static func isHost(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._~!$&'()*+;=:[]%".utf8.contains(byte)
            }
        }
    }
}
