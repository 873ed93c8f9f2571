import NIOCore
import SyncCore
import SyncTransportHTTP
import TestRings
import Testing

/// Attacks on a client by a hostile server or network, numbered as in the documentation's page on security.
@Suite(.ring(.test)) struct HostileServerAttackTests {
    private static let json = "Content-Type: application/json"
    private static let hello =
        #"{"protocol":{"from":1,"to":1},"epoch":"e1","account":"ann","serverTime":"1763728464000.3","limits":{"pushBytes":1,"pushTransactions":1,"pageRows":1}}"#

    private static func hello(_ url: String) async throws -> TransportError? {
        try await TestServer.withTransport(HostileServerTests.configuration(url)) { await failure(of: $0) }
    }

    private static func failure(of transport: HTTPTransport) async -> TransportError? {
        do throws(TransportError) {
            _ = try await transport.hello()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ["Content-Length: 99999999999"], ["Content-Length: 70000"], ["Transfer-Encoding: chunked"],
        ["Connection: close"],
    ])
    func `S17: a client abandons a response that is too long, whatever length it declares`(
        fields: [String]
    ) async throws {
        let piece = String(repeating: " ", count: 4_096)
        let then = fields[0].hasPrefix("Transfer") ? "1000\r\n\(piece)\r\n" : piece
        let response = HostileServer.Response.endless(
            HostileServer.http("200 OK", [Self.json] + fields, ""), then: then)
        let failure = try await HostileServer.run(response) { url in try await Self.hello(url) }
        #expect(failure?.code == .notUnderstood)
        #expect(failure?.description.contains("longer than 65536 bytes") == true, "\(failure?.description ?? "none")")
    }

    @Test(arguments: ["000", "001", "042", "099"])
    func `S17: a status below 100 fails only the call`(status: String) async throws {
        let response = HostileServer.Response.bytes(
            HostileServer.http("\(status) x", [Self.json, "Content-Length: \(Self.hello.utf8.count)"], Self.hello))
        let failures = try await HostileServer.run(response) { url in
            try await TestServer.withTransport(HostileServerTests.configuration(url)) { transport in
                // The second call reaches the server, too.
                [await Self.failure(of: transport), await Self.failure(of: transport)]
            }
        }
        for failure in failures {
            #expect(failure?.code == .notUnderstood)
            #expect(failure?.description.contains("not valid HTTP") == true, "\(failure?.description ?? "none")")
        }
    }

    @Test func `S17: a client abandons a response in tiny chunks`() async throws {
        let response = HostileServer.Response.endless(
            HostileServer.http("200 OK", [Self.json, "Transfer-Encoding: chunked"], ""),
            then: String(repeating: "1\r\n \r\n", count: 4_000))
        let failure = try await HostileServer.run(response) { url in try await Self.hello(url) }
        #expect(failure?.code == .notUnderstood)
        #expect(
            failure?.description.contains("comes in 1025 chunks of 1 bytes") == true,
            "\(failure?.description ?? "none")")
    }

    @Test func `S17: a client abandons a response with endless header fields`() async throws {
        let response = HostileServer.Response.endless(
            "HTTP/1.1 200 OK\r\n", then: "X-Field: \(String(repeating: "x", count: 900))\r\n")
        let failure = try await HostileServer.run(response) { url in try await Self.hello(url) }
        #expect(failure?.code == .notUnderstood)
        #expect(failure?.description.contains("not valid HTTP") == true, "\(failure?.description ?? "none")")
    }

    @Test(arguments: [
        "301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect",
    ])
    func `S33: a redirect is not followed, and the token is sent nowhere else`(status: String) async throws {
        let response = HostileServer.Response.bytes(
            HostileServer.http("200 OK", [Self.json, "Content-Length: \(Self.hello.utf8.count)"], Self.hello))
        try await HostileServer.run(response) { elsewhere in
            // The redirect points to a server with a valid response, so a client that followed it would succeed.
            #expect(try await Self.hello(elsewhere) == nil)
            let redirect = HostileServer.Response.bytes(
                HostileServer.http(status, ["Location: \(elsewhere)/v1/hello", "Content-Length: 0"], ""))
            let failure = try await HostileServer.run(redirect) { url in try await Self.hello(url) }
            #expect(failure?.code == .notUnderstood)
            #expect(failure?.description.contains(status.prefix(3)) == true, "\(failure?.description ?? "none")")
        }
    }
}
