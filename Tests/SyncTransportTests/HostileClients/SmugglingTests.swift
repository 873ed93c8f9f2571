import NIOCore
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.test)) struct SmugglingTests {
    @Test func `S13: an ambiguous request is refused, and nothing after it is answered`()
        async throws
    {
        #expect(SmugglingCorpus.all.count >= 100)
        let answers = try await TestServer.run(TestServer.authority()) { port in
            var answers: [String] = []
            for item in SmugglingCorpus.all {
                // The server closes the connection after it refuses the request. A response to the hidden request ends
                // the wait too.
                answers.append(
                    try await RawRequest.send(bytes: item.bytes, to: port) { $0.contains(#""status":"ok""#) })
            }
            return answers
        }
        for (item, response) in zip(SmugglingCorpus.all, answers) {
            #expect(response.hasPrefix("HTTP/1.1 400 "), "\(item.name): \(response.prefix(60))")
            #expect(response.count(of: "HTTP/1.1 ") == 1, "\(item.name): \(response)")
            #expect(response.contains("Connection: close"), "\(item.name)")
        }
    }

    /// Requests that look odd but have only one meaning.
    @Test(arguments: [
        "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", "GET /healthz HTTP/1.1\r\nhost:a:80\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: é\r\n\r\n",
        "GET /healthz?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        // RFC 9112 §3 lets a server split the line at any white space.
        "GET  /healthz  HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func `S13: an odd request with only one meaning is answered`(request: String) async throws {
        let response = try await TestServer.run(TestServer.authority()) { port in
            try await RawRequest.send([request], to: port) { $0.contains("\r\n\r\n") }
        }
        #expect(response.hasPrefix("HTTP/1.1 200 "), "\(response)")
    }

    @Test(arguments: [
        "GET /healthz HTTP/1.1\r\nHost: a\r\n" + (0..<100_000).map { "X-\($0): 1\r\n" }.joined(),
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 1_000_000),
        "GET /healthz HTTP/1.1\r\nHost: a\r\n" + String(repeating: "x", count: 1_000_000),
    ])
    func `S14: an endless head is refused before it has been read`(head: String) async throws {
        let response = try await TestServer.run(TestServer.authority()) { port in
            try await RawRequest.send([head], to: port) { $0.contains("\r\n\r\n") }
        }
        #expect(response.hasPrefix("HTTP/1.1 431 "), "\(response.prefix(200))")
    }

    @Test func `S14: an endless request target is refused before it has been read`() async throws {
        let response = try await TestServer.run(TestServer.authority()) { port in
            try await RawRequest.send(["GET /" + String(repeating: "x", count: 1_000_000)], to: port) {
                $0.contains("\r\n\r\n")
            }
        }
        #expect(response.hasPrefix("HTTP/1.1 431 "), "\(response.prefix(200))")
    }
}
