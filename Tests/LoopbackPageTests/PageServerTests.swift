import Glibc
import PageChecks
import SyncConcurrency
import SyncJSON
import TestRings
import Testing

@testable import LoopbackPage

/// Tests the server of pages over real sockets.
@Suite(.ring(.test)) struct PageServerTests {
    /// Runs `body` with the port of a server, which ends afterwards.
    private func withServer(
        deadline: Duration = .seconds(600),
        _ body: @escaping @Sendable (SamplePage, Int, PageServer<SamplePage>) async throws -> Void
    ) async throws {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let page = SamplePage()
        let server = PageServer(page, secret: PageSecret(text: "5ec2e7"), deadline: deadline)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await server.run(port: 0) { address in
                        let parts = address.wholeMatch(of: #/http://127\.0\.0\.1:([0-9]+)/\#key=5ec2e7/#)
                        continuation.yield(try #require(parts.flatMap { Int($0.1) }, "\(address)"))
                    }
                } catch is CancellationError {
                }
            }
            let port = try #require(await ports.first { _ in true })
            try await body(page, port, server)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    private static func call(_ call: SamplePage.Call, _ body: String, _ port: Int, secret: String = "5ec2e7") -> String
    {
        RawExchange.call(call.rawValue, body, to: port, secret: secret)
    }

    private static func status(_ response: String) -> String {
        String(response.split(separator: " ").dropFirst().first ?? "")
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
        try await withServer { page, port, _ async throws in
            let file = await RawExchange.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", to: port)
            #expect(file.hasPrefix("HTTP/1.1 200 OK\r\n") && file.hasSuffix("</html>\n"), "\(file)")
            #expect(file.contains("Content-Security-Policy: default-src 'none';"))
            let change = Self.call(.change, #"{"value":"x"}"#, port)
            let changed = await RawExchange.send(change + change, to: port)
            #expect(Self.status(changed) == "200" && changed.ranges(of: "HTTP/1.1").count == 1, "\(changed)")
            #expect(RawExchange.body(of: changed)?["changes"]?.integer == 1)
            #expect(page.changes.withLock { $0 } == 1, "the second request was not carried out")
            let refused = await RawExchange.send(Self.call(.change, #"{"value":"refused"}"#, port), to: port)
            #expect(Self.status(refused) == "422")
            #expect(RawExchange.body(of: refused)?["error"]?.string == "this is refused")
        }
    }

    @Test(.timeLimit(.minutes(10))) func `requests that are refused get a sentence and change nothing`() async throws {
        try await withServer { page, port, _ async throws in
            let body = #"{"value":"x"}"#
            let wrong = await RawExchange.send(Self.call(.change, body, port, secret: "5ec2e8"), to: port)
            #expect(Self.status(wrong) == "401")
            #expect(
                RawExchange.body(of: wrong)?["error"]?.string
                    == "the request does not present the secret of this run of sample inspect")
            let rebound = Self.call(.change, body, port)
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
                Self.call(.change, "", port).replacing("Content-Length: 0", with: "Transfer-Encoding: chunked")
                + String(repeating: chunk, count: PageLimits.bodyBytes / (1 << 20) + 1) + "0\r\n\r\n"
            #expect(Self.status(await RawExchange.send(long, to: port)) == "413")
            let head = "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nX: \(piece)\r\n\r\n"
            #expect(Self.status(await RawExchange.send(head, to: port)) != "200")
            let target = "GET /\(piece) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
            #expect(Self.status(await RawExchange.send(target, to: port)) != "200")
            #expect(Self.status(await RawExchange.send("nonsense\r\n\r\n", to: port)) == "400")
            let invalid = await RawExchange.send(Self.call(.change, "{", port), to: port)
            #expect(Self.status(invalid) == "400")
            #expect(page.changes.withLock { $0 } == 0)
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a call may wait, and others are answered meanwhile`() async throws {
        try await withServer { page, port, _ async throws in
            async let waiting = RawExchange.send(Self.call(.news, "{}", port), to: port)
            await page.newsIsAwaited()
            let changed = await RawExchange.send(Self.call(.change, #"{"value":"x"}"#, port), to: port)
            #expect(Self.status(changed) == "200")
            #expect(RawExchange.body(of: await waiting)?["changes"]?.integer == 1)
        }
    }

    /// Otherwise the call would wait, and the connection count, until its timeout.
    @Test(.timeLimit(.minutes(10))) func `a call ends when the browser leaves`() async throws {
        try await withServer { page, port, server async throws in
            let connection = try #require(RawExchange.open(port))
            let bytes = Array(Self.call(.news, "{}", port).utf8)
            #expect(bytes.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, 0) } == bytes.count)
            await page.newsIsAwaited()
            close(connection)
            while server.connectionCount > 0 { await Task.yield() }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `silent connections cannot be more than the limit, and make room when they close`()
        async throws
    {
        try await withServer { _, port, server async throws in
            let request = "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
            let silent = (0..<PageLimits.connections).compactMap { _ in RawExchange.open(port) }
            #expect(silent.count == PageLimits.connections)
            // Connections of several event loops may be accepted in another order.
            while server.connectionCount < PageLimits.connections { await Task.yield() }
            #expect(await RawExchange.send(request, to: port).isEmpty)
            for connection in silent { close(connection) }
            // The server notices each close on its own event loop.
            while await RawExchange.send(request, to: port).isEmpty {}
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a request that does not arrive in time gets no response`() async throws {
        try await withServer(deadline: .milliseconds(1)) { _, port, _ async throws in
            #expect(await RawExchange.send("", to: port).isEmpty)
            #expect(await RawExchange.send("GET / HTTP/1.1\r\n", to: port).isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a port in use is an error that names it`() async throws {
        try await withServer { page, port, _ async throws in
            let second = PageServer(page, secret: PageSecret(text: "5ec2e8"))
            let error = await #expect(throws: PageServerError.self) {
                try await second.run(port: port) { _ in Issue.record("it listens on a port in use") }
            }
            #expect(error?.message == "another program uses the port \(port) of 127.0.0.1")
            #expect(error?.advice == "choose another with --port, or leave it out for a free one")
            #expect(error?.code == .portInUse)
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a server whose address cannot be told ends`() async throws {
        struct Untold: Error {}
        let server = PageServer(SamplePage(), secret: PageSecret(text: "5ec2e7"))
        await #expect(throws: Untold.self) { try await server.run(port: 0) { _ in throw Untold() } }
    }
}
