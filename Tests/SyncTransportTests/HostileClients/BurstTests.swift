import NIOCore
import NIOPosix
import SyncAuthority
import SyncCore
import SyncTransportHTTP
import TestRings
import Testing

@testable import SyncServerHTTP

/// Tests many connections and many requests at once. The tests count responses and connections, and measure no times.
@Suite(.ring(.test)) struct BurstTests {
    private static let authorized = "Authorization: Bearer \(TestServer.good)"

    /// Opens connections that send nothing, and returns them from the oldest to the newest.
    private static func silent(_ count: Int, to port: Int) async throws -> [any Channel] {
        var channels: [any Channel] = []
        for _ in 0..<count {
            channels.append(
                try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: port).get())
        }
        return channels
    }

    @Test func `S14: pipelined requests are all answered in order`() async throws {
        let count = 300
        let ids = (0..<count).map { "00000000000000000000000000" + String(100_000 + $0) }
        let text = try await TestServer.run(TestServer.authority()) { port in
            let requests = ids.map {
                "GET /v1/hello HTTP/1.1\r\nHost: a\r\n\(Self.authorized)\r\nTombolo-Request: \($0)\r\n\r\n"
            }
            let last = "GET /v1/openapi HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            return try await RawRequest.send([requests.joined() + last], to: port)
        }
        #expect(text.count(of: "HTTP/1.1 200 OK") == count + 1)
        #expect(text.count(of: "\"epoch\":\"test-epoch\"") == count)
        // Each response repeats the id of its request.
        let answered = text.matches(of: /(?i:tombolo-request): ([0-9a-f]{32})/).map { String($0.1) }
        #expect(Array(answered.prefix(count)) == ids)
    }

    @Test func `a request with Expect: 100-continue gets 100 Continue before its body`() async throws {
        let head = RawRequest.http(
            "POST /v1/pull",
            ["Authorization: Bearer \(TestServer.good)", "Content-Type: application/json", "Content-Length: 2"]
                + ["Expect: 100-continue"])
        try await TestServer.run(TestServer.authority()) { port in
            let conversation = try await Conversation(to: port)
            let permission = try await conversation.send(head) { $0.contains("\r\n\r\n") }
            #expect(permission == "HTTP/1.1 100 Continue\r\n\r\n")
            let response = try await conversation.send("{}") { $0.contains("\r\n\r\n") }
            #expect(response.hasPrefix("HTTP/1.1 "), "\(response)")
            #expect(!response.hasPrefix("HTTP/1.1 100"), "\(response)")
            conversation.end()
        }
    }

    @Test func `S14: the oldest silent connections are closed for new ones`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.maximumConnectionsPerAddress = 10
        let status = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            let channels = try await Self.silent(30, to: port)
            // The server accepts the connections in order, so it closes these 20.
            for channel in channels.prefix(20) { try await channel.closeFuture.get() }
            let response = try await RawRequest.send([RawRequest.http("GET /v1/hello", [Self.authorized])], to: port)
            for channel in channels { channel.close(promise: nil) }
            return response.prefix(12)
        }
        #expect(status == "HTTP/1.1 200")
    }

    @Test func `S14: a client with a token keeps its connection while strangers come and go`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.maximumConnections = 8
        configuration.maximumConnectionsPerAddress = 1_000
        let text = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            let channels = Channels()
            let request = "GET /v1/hello HTTP/1.1\r\nHost: a\r\n\(Self.authorized)\r\n\r\n"
            let conversation = try await Conversation(to: port)
            var text = try await conversation.send(request, until: { $0.hasSuffix("}}") })
            for channel in try await Self.silent(40, to: port) { channels.all.append(channel) }
            // The server closes at least the oldest 32 of the 40 silent connections, and keeps the authenticated one.
            for channel in channels.all.prefix(40 - 8) { try await channel.closeFuture.get() }
            text += try await conversation.send(
                request.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n"), until: { _ in false })
            for channel in channels.all { channel.close(promise: nil) }
            return text
        }
        #expect(text.count(of: "HTTP/1.1 200 OK") == 2, "\(text)")
    }

    @Test func `S26: an account that opens too many event streams is told when to retry`() async throws {
        let request = "GET /v1/hints?space=default HTTP/1.1\r\nHost: a\r\n\(Self.authorized)\r\n\r\n"
        var configuration = SyncServerConfiguration()
        configuration.maximumConnectionsPerAddress = 1_000
        let response = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            var open: [Conversation] = []
            for _ in 0..<SyncServerLimits.streamsPerPrincipal {
                let conversation = try await Conversation(to: port)
                _ = try await conversation.send(request, until: { $0.contains(": welcome") })
                open.append(conversation)
            }
            let response = try await RawRequest.send([request], to: port) { $0.contains("}}") }
            for conversation in open { conversation.end() }
            return response
        }
        #expect(response.hasPrefix("HTTP/1.1 429 ") && response.contains("throttled"), "\(response)")
        #expect(response.lowercased().contains("retry-after: 1\r\n"))
    }

    @Test func `S26: an account that sends too many requests is told when to retry, others are served`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.requestsPerSecond = 1
        let (refused, other) = try await TestServer.run(
            TestServer.authority(), configuration: configuration, authenticator: TwoTokens()
        ) { port in
            let greedy = RawRequest.http("GET /v1/hello", [Self.authorized])
            var response = ""
            // An account may send ten requests at once. The loop sends more than one request per second, so one of the
            // later ones is refused.
            for _ in 0..<1_000 where !response.hasPrefix("HTTP/1.1 429") {
                response = try await RawRequest.send([greedy], to: port)
            }
            return (response, try await RawRequest.send([Self.helloOfBen], to: port) { $0.contains("}}") })
        }
        #expect(refused.hasPrefix("HTTP/1.1 429 ") && refused.contains("throttled"), "\(refused)")
        #expect(refused.lowercased().contains("retry-after: 1\r\n"), "\(refused)")
        #expect(other.hasPrefix("HTTP/1.1 200 OK"), "\(other)")
    }

    @Test func `the event streams of one account do not lock out other accounts at its address`() async throws {
        let stream = "GET /v1/hints?space=default HTTP/1.1\r\nHost: a\r\n\(Self.authorized)\r\n\r\n"
        let perAddress = SyncServerConfiguration().maximumConnectionsPerAddress
        let response = try await TestServer.run(TestServer.authority(), authenticator: TwoTokens()) { port in
            var open: [Conversation] = []
            for _ in 0..<perAddress {
                let conversation = try await Conversation(to: port)
                _ = try await conversation.send(stream, until: { $0.contains(": welcome") || $0.contains("}}") })
                open.append(conversation)
            }
            let response = try await RawRequest.send([Self.helloOfBen], to: port) { $0.contains("}}") }
            for conversation in open { conversation.end() }
            return response
        }
        #expect(response.hasPrefix("HTTP/1.1 200 OK"), "\(response)")
    }

    /// A request of the account ben.
    private static let helloOfBen =
        "GET /v1/hello HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(TwoTokens.ben)\r\n\r\n"

    private final class Channels {
        var all: [any Channel] = []
    }
}
