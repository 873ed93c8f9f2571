import Glibc
import SyncConcurrency
import SyncCore
import SyncJSON
import SyncModel
import TestRings
import Testing

@testable import syncctl

/// Tests the page's server over real sockets, with a real store.
@Suite(.ring(.test)) struct InspectServerTests {
    /// Runs `body` with the port of a server, which ends afterwards.
    private func withServer(
        deadline: Duration = .seconds(600),
        _ body: @escaping @Sendable (InspectTestbed, Int, InspectServer) async throws -> Void
    ) async throws {
        try await InspectTestbed.run { testbed in
            let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
            let server = InspectServer(inspector: testbed.inspector, secret: testbed.secret, deadline: deadline)
            let changes = testbed.store.changes.subscribe()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await testbed.inspector.news.follow(changes) }
                group.addTask {
                    do {
                        try await server.run(port: 0) { continuation.yield($0) }
                    } catch is CancellationError {
                    }
                }
                let port = try #require(await ports.first { _ in true })
                try await body(testbed, port, server)
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }

    private static func call(_ route: InspectRoute, _ body: String, _ port: Int, secret: String = "5ec2e7") -> String {
        """
        POST \(route.rawValue) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nOrigin: http://127.0.0.1:\(port)\r\n\
        Authorization: Bearer \(secret)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
        """
    }

    private static func status(_ response: String) -> String {
        String(response.split(separator: " ").dropFirst().first ?? "")
    }

    private static func body(_ response: String) throws -> JSONValue {
        let end = try #require(response.firstRange(of: "\r\n\r\n"), "\(response)")
        return try JSONValue(Array(response[end.upperBound...].utf8))
    }

    /// A connection that is accepted but not served yet must not end the program.
    @Test(.timeLimit(.minutes(10))) func `a server that ends during requests does not trap`() async throws {
        for _ in 0..<10 {
            try await withServer { _, port, _ async throws in
                await withDiscardingTaskGroup { group in
                    for _ in 0..<16 {
                        group.addTask {
                            _ = await RawExchange.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
                        }
                    }
                    group.cancelAll()
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `the page and its calls are served, one request per connection`() async throws {
        try await withServer { testbed, port, _ async throws in
            let page = await RawExchange.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
            #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.hasSuffix("</html>\n"), "\(page)")
            #expect(page.contains("Content-Security-Policy: default-src 'none';"))
            let create = Self.call(.create, #"{"collection":"user","fields":{"username":"Ned"}}"#, port)
            let made = await RawExchange.send(create + create, to: port)
            #expect(Self.status(made) == "200" && made.ranges(of: "HTTP/1.1").count == 1, "\(made)")
            #expect(try Self.body(made)["result"]?.string == "created")
            #expect(
                try testbed.store.count(matching: RecordQuery("user")) == 1, "the second request was not carried out")
        }
    }

    @Test(.timeLimit(.minutes(10))) func `requests that are refused get a sentence and change nothing`() async throws {
        try await withServer { testbed, port, _ async throws in
            let body = #"{"collection":"user","fields":{"username":"Ned"}}"#
            let wrong = await RawExchange.send(Self.call(.create, body, port, secret: "5ec2e8"), to: port)
            #expect(Self.status(wrong) == "401")
            #expect(
                try Self.body(wrong)["error"]?.string
                    == "the request does not present the secret of this run of syncctl inspect")
            let rebound = Self.call(.create, body, port)
                .replacing("Host: 127.0.0.1", with: "Host: evil.example")
            #expect(Self.status(await RawExchange.send(rebound, to: port)) == "403")
            let lost = await RawExchange.send("GET /x HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
            #expect(Self.status(lost) == "404")
            let method = await RawExchange.send("PUT / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
            #expect(Self.status(method) == "405" && method.contains("\r\nAllow: GET\r\n"))
            // A body in pieces declares no length.
            let piece = String(repeating: "x", count: 1 << 20)
            let chunk = "100000\r\n\(piece)\r\n"
            let long =
                Self.call(.create, "", port).replacing("Content-Length: 0", with: "Transfer-Encoding: chunked")
                + String(repeating: chunk, count: InspectLimits.bodyBytes / (1 << 20) + 1) + "0\r\n\r\n"
            #expect(Self.status(await RawExchange.send(long, to: port)) == "413")
            let head = "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nX: \(piece)\r\n\r\n"
            #expect(Self.status(await RawExchange.send(head, to: port)) != "200")
            let target = "GET /\(piece) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
            #expect(Self.status(await RawExchange.send(target, to: port)) != "200")
            #expect(Self.status(await RawExchange.send("nonsense\r\n\r\n", to: port)) == "400")
            let invalid = await RawExchange.send(Self.call(.create, "{", port), to: port)
            #expect(Self.status(invalid) == "400")
            #expect(try testbed.store.count(matching: RecordQuery("user")) == 0)
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a call for news ends with the next change, and names what has changed`()
        async throws
    {
        try await withServer { testbed, port, _ async throws in
            let since = testbed.inspector.news.current.latest
            async let waiting = RawExchange.send(Self.call(.news, #"{"since":\#(since)}"#, port), to: port)
            let made = await RawExchange.send(
                Self.call(.create, #"{"collection":"user","fields":{"username":"Ned"}}"#, port), to: port)
            #expect(Self.status(made) == "200")
            let news = try Self.body(await waiting)
            #expect(news["collections"]?.array.compactMap(\.string) == ["user"])
            #expect(news["outbox"] == .boolean(true) && news["status"]?["pending"]?.integer == 1)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `silent connections cannot be more than the limit, and make room when they close`()
        async throws
    {
        try await withServer { _, port, server async throws in
            let page = "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
            let silent = (0..<InspectLimits.connections).compactMap { _ in RawExchange.open(port) }
            #expect(silent.count == InspectLimits.connections)
            // Connections of several event loops may be accepted in another order.
            while server.connectionCount < InspectLimits.connections { await Task.yield() }
            #expect(await RawExchange.send(page, to: port).isEmpty)
            for connection in silent { close(connection) }
            // The server notices each close on its own event loop.
            while await RawExchange.send(page, to: port).isEmpty {}
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a request that does not arrive in time gets no response`() async throws {
        try await withServer(deadline: .milliseconds(1)) { _, port, _ async throws in
            #expect(await RawExchange.send("", to: port).isEmpty)
            #expect(await RawExchange.send("GET / HTTP/1.1\r\n", to: port).isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a port in use is an error that names it`() async throws {
        try await withServer { testbed, port, _ async throws in
            let second = InspectServer(inspector: testbed.inspector, secret: testbed.secret)
            do {
                try await second.run(port: port) { _ in Issue.record("it listens on a port in use") }
            } catch let error as CommandError {
                #expect(error.message == "another program uses the port \(port) of 127.0.0.1")
                #expect(error.advice == "choose another with --port, or leave it out for a free one")
            }
        }
    }
}
