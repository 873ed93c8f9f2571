import Testing

/// HTTP/1.1 requests that two programs might interpret differently (S13 in the documentation's page on security).
///
/// Each is followed by a hidden request. If the server answers the hidden request, it has interpreted the first one in
/// a way that a proxy in front of it may not share.
enum SmugglingCorpus {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: [UInt8]

        var testDescription: String { name }

        init(_ name: String, _ text: String) {
            self.name = name
            bytes = Array(text.utf8)
        }

        init(_ name: String, bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }
    }

    static let hidden = "GET /healthz HTTP/1.1\r\nHost: hidden\r\n\r\n"

    static let all: [Case] =
        encodings + encodingLines + lengths + twoLengths + lengthAndEncoding + hosts + requestLines + lines + chunks
        + bytes

    /// Returns a POST with these lines, followed by the hidden request.
    private static func post(_ name: String, _ lines: [String], body: String = "0\r\n\r\n") -> Case {
        Case(
            name,
            "POST /healthz HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n" + body + hidden)
    }

    /// Returns a GET with these lines, followed by the hidden request.
    private static func get(_ name: String, _ lines: [String]) -> Case {
        Case(name, "GET /healthz HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n" + hidden)
    }

    private static let encodings: [Case] = [
        "identity", "gzip", "deflate", "compress", "gzip, chunked", "chunked, gzip", "chunked, identity",
        "identity, chunked", "chunked, chunked", "chunked,", ",chunked", "chunked;q=1", "xchunked", "chunkedx",
        "chunke",
        "chunked gzip", "\"chunked\"", "'chunked'", "0", "", "trailers", "chunked\u{b}", "\u{b}chunked", "chunked\u{c}",
        "\u{a0}chunked", "ｃhunked",
    ].map { post("Transfer-Encoding: \($0.debugDescription)", ["Transfer-Encoding: \($0)"]) }

    private static let encodingLines: [Case] = [
        ["Transfer-Encoding : chunked"], ["Transfer-Encoding\t: chunked"], ["Transfer-Encoding:", " chunked"],
        ["Transfer-Encoding: chunked", " , identity"], ["X: y", "\tTransfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
        ["transfer-encoding: gzip", "TRANSFER-ENCODING: chunked"], ["Transfer-Encoding\u{0}: chunked"],
        ["Transfer-\u{0}Encoding: chunked"], ["\u{0}Transfer-Encoding: chunked"],
    ].map { post("\($0)", $0) }

    private static let lengths: [Case] = [
        "-1", "+2", "0x2", "2 2", "2,2", "2, 3", "2;", "2e0", "1_0", "２", "٢", "", "NaN", "\"2\"", "2.0", "two",
        "99999999999999999999", "18446744073709551616", "9223372036854775808", "2\u{b}", "\u{b}2", "2\u{a0}",
    ].map { post("Content-Length: \($0.debugDescription)", ["Content-Length: \($0)"], body: "{}") }

    private static let twoLengths: [Case] = [
        ["Content-Length: 2", "Content-Length: 2"], ["Content-Length: 2", "Content-Length: 3"],
        ["Content-Length: 0", "Content-Length: 2"], ["Content-Length: 2", "Content-Length: 0"],
        ["content-length: 2", "CONTENT-LENGTH: 40"], ["Content-Length: 2", "X: y", "Content-Length: 2"],
        ["Content-Length: 2", " 2"], ["Content-Length:", " 2"], ["Content-Length : 2"], ["Content-Length\t: 2"],
    ].map { post("\($0)", $0, body: "{}") }

    private static let lengthAndEncoding: [Case] = [
        ["Content-Length: 5", "Transfer-Encoding: chunked"], ["Transfer-Encoding: chunked", "Content-Length: 5"],
        ["content-length: 5", "transfer-encoding: chunked"], ["Content-Length: 0", "Transfer-Encoding: chunked"],
        ["Content-Length: 5", "Transfer-Encoding: identity"],
        ["Content-Length: 5", "X: y", "Transfer-Encoding: chunked"],
        ["Content-Length: 5", "Transfer-Encoding: xchunked"],
    ].map { post("\($0)", $0) }

    private static let hosts: [Case] =
        [
            [], ["Host: a", "Host: a"], ["Host: a", "Host: b"], ["Host:", "Host:"], ["Host: a b"], ["Host: a/b"],
            ["Host: ann@a"], ["Host: a,b"], ["Host: a#b"], ["Host: a?b"], ["Host: a\\b"], ["Host: <a>"], ["Host: é"],
            ["Host : a"], [" Host: a"], ["Host: a", " b"], ["host: a", "HOST: b"], ["Host: \"a\""],
        ].map { get("hosts \($0)", $0) }

    private static let requestLines: [Case] = [
        "GET /healthz HTTP/1.1 ", "GET /healthz HTTP/1.1 x",
        "GET\t/healthz\tHTTP/1.1", "GET /healthz", "GET", "GET /healthz HTTP/2.0", "GET /healthz HTTP/0.9",
        "GET /healthz HTTP/1.2", "GET /healthz HTTP/11", "GET /healthz HTTP/1.", "GET /healthz http/1.1",
        "GET /healthz HTTPS/1.1", "GET /healthz XTTP/1.1", "get /healthz HTTP/1.1", "NONSENSE /healthz HTTP/1.1",
        "GET healthz HTTP/1.1", "GET /heal thz HTTP/1.1", " GET /healthz HTTP/1.1", "GET:/healthz HTTP/1.1",
        "GET /\u{0}healthz HTTP/1.1", "G\u{0}T /healthz HTTP/1.1", "GET /healthz\u{1} HTTP/1.1",
        "PRI * HTTP/2.0", "GET /healthz HTTP/1.1\u{0}",
    ].map { Case($0.debugDescription, "\($0)\r\nHost: a\r\n\r\n" + hidden) }

    private static let lines: [Case] = [
        "X", "X y", ": y", "X Y: z", "X(: y", "X@: y", "X[]: y", "é: y", "X: a\u{0}b", "X\u{0}: y", "X: a\u{1}b",
        "X: a\u{7f}b", "X: y\r z", "X : y", "X: y\r\n folded", "X: y\r\n\tfolded", "\"X\": y", "X\u{b}: y",
    ].map { get("line \($0.debugDescription)", ["Host: a", $0]) }

    private static let chunks: [Case] = [
        "zz\r\n", "-1\r\n", "0x1\r\nx\r\n0\r\n\r\n", "1g\r\nx\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\n",
        "10000000000000000\r\n", "\r\n", ";\r\n", "1\r\nxx\r\n0\r\n\r\n", "1\r\nx0\r\n\r\n", "1,1\r\nx\r\n0\r\n\r\n",
        "1\u{0}\r\nx\r\n0\r\n\r\n", "+1\r\nx\r\n0\r\n\r\n", "1\rx\r\n0\r\n\r\n",
    ].map { post("chunk \($0.debugDescription)", ["Transfer-Encoding: chunked"], body: $0) }

    private static let bytes: [Case] = [
        Case("bare line feeds", "GET /healthz HTTP/1.1\nHost: a\n\n" + hidden),
        Case("a bare line feed within", "GET /healthz HTTP/1.1\r\nHost: a\nX: y\r\n\r\n" + hidden),
        Case("a bare line feed at the end", "GET /healthz HTTP/1.1\r\nHost: a\r\n\n" + hidden),
        Case("bare carriage returns", "GET /healthz HTTP/1.1\rHost: a\r\r" + hidden),
        Case("doubled carriage returns", "GET /healthz HTTP/1.1\r\r\nHost: a\r\r\n\r\r\n" + hidden),
        Case("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden),
        Case("a hello of TLS", bytes: [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0] + Array(hidden.utf8)),
        Case("bytes that are no text", bytes: Array(0x80...0xFF) + Array(("\r\n\r\n" + hidden).utf8)),
        Case("zero bytes", bytes: Array(repeating: 0, count: 64) + Array(hidden.utf8)),
    ]
}
