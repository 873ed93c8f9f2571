import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestRings
import Testing

@testable import SyncServerHTTP

/// Tests the gate and the pacer around NIO's parser with virtual time.
@Suite(.ring(.unit)) struct RequestGateTests {
    private static let get = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"

    /// Stands in for the routes, and records the parts of requests that reach them.
    private final class Routes: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart

        var heads: [HTTPRequestHead] = []
        var ends = 0
        var bodyBytes = 0
        var inputIsClosed = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): heads.append(head)
            case .body(let bytes): bodyBytes += bytes.readableBytes
            case .end: ends += 1
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .inputClosed? = event as? ChannelEvent { inputIsClosed = true }
        }
    }

    private struct Testbed {
        let channel = EmbeddedChannel()
        let routes = Routes()
        let gate: RequestGate
        let pacer: RequestPacer
        let socket = StuckSocket()

        init(_ activity: RequestGate.Activity = .init()) throws {
            gate = RequestGate(activity: activity)
            pacer = RequestPacer(gate)
            let decoder = ByteToMessageHandler(
                HTTPRequestDecoder(
                    leftOverBytesStrategy: .dropBytes))
            try channel.pipeline.syncOperations.addHandlers(
                socket, pacer, HTTPResponseEncoder(), decoder, gate, routes)
            try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

        func response(_ status: HTTPResponseStatus = .ok) {
            channel.write(
                HTTPServerResponsePart.head(
                    .init(version: .http1_1, status: status, headers: ["Content-Length": "0"])), promise: nil)
            channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        }

        /// Returns the bytes sent to the peer, as text.
        func sent() throws -> String {
            var text = ""
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
            return text
        }

        func advance(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

        func end() throws { _ = try channel.finish(acceptAlreadyClosed: true) }
    }

    @Test func `of many pipelined requests only one is read, and the rest are held as bytes`() throws {
        let testbed = try Testbed()
        try testbed.send(String(repeating: Self.get, count: 300))
        #expect(testbed.routes.heads.count == 1 && testbed.routes.ends == 1)
        // The parser received one slice of the bytes, which limits the number of requests parsed ahead.
        #expect(testbed.gate.heldParts <= 2 * SyncServerLimits.parsedBytes / Self.get.utf8.count)
        #expect(testbed.pacer.heldBytes >= 299 * Self.get.utf8.count - SyncServerLimits.parsedBytes)
        for count in 1...300 {
            #expect(testbed.routes.heads.count == count)
            testbed.response()
        }
        #expect(testbed.routes.heads.count == 300 && testbed.routes.ends == 300)
        #expect(testbed.gate.heldParts == 0 && testbed.pacer.heldBytes == 0)
        try testbed.end()
    }

    @Test func `the response to HEAD has no body, and the next one has`() throws {
        let testbed = try Testbed()
        for method in ["HEAD", "GET"] {
            try testbed.send("\(method) /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = HTTPResponseHead(version: .http1_1, status: .notFound, headers: ["Content-Length": "5"])
            testbed.channel.write(HTTPServerResponsePart.head(head), promise: nil)
            let body = testbed.channel.writeAndFlush(
                HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "12345"))))
            testbed.channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
            try body.wait()
            #expect(
                try testbed.sent() == "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n"
                    + (method == "GET" ? "12345" : ""))
        }
        try testbed.end()
    }

    @Test func `the next request waits until the previous response has left the socket`() throws {
        let testbed = try Testbed()
        try testbed.send(Self.get + Self.get)
        testbed.socket.isStuck = true
        testbed.response()
        #expect(testbed.routes.heads.count == 1)
        testbed.socket.isStuck = false
        testbed.channel.flush()
        #expect(testbed.routes.heads.count == 2)
        try testbed.end()
    }

    @Test func `nothing more is read from the socket while a request is being answered`() throws {
        let testbed = try Testbed()
        let before = testbed.socket.reads
        try testbed.send(Self.get)
        testbed.channel.read()
        #expect(testbed.socket.reads == before)
        testbed.response()
        #expect(testbed.socket.reads == before + 1)
        try testbed.end()
    }

    @Test func `a peer that sends more data than can be held is cut`() throws {
        let testbed = try Testbed()
        try testbed.send(Self.get + String(repeating: "x", count: SyncServerLimits.heldBytes + 1))
        #expect(!testbed.channel.isActive)
    }

    @Test func `a long body passes completely before the next request`() throws {
        let testbed = try Testbed()
        let length = 5 * SyncServerLimits.parsedBytes + 17
        try testbed.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n")
        try testbed.send(String(repeating: "x", count: length) + Self.get)
        #expect(testbed.routes.bodyBytes == length && testbed.routes.ends == 1 && testbed.routes.heads.count == 1)
        testbed.response()
        #expect(testbed.routes.heads.count == 2)
        try testbed.end()
    }

    @Test func `the end of input is delivered after all requests`() throws {
        let testbed = try Testbed()
        try testbed.send(String(repeating: Self.get, count: 100))
        testbed.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!testbed.routes.inputIsClosed)
        for _ in 0..<100 { testbed.response() }
        #expect(testbed.routes.inputIsClosed && testbed.routes.heads.count == 100)
        try testbed.end()
    }

    @Test func `a silent connection is closed at the deadline, and a slow head is answered with status 408`() throws {
        let silent = try Testbed()
        silent.advance(9)
        #expect(silent.channel.isActive)
        silent.advance(1)
        #expect(!silent.channel.isActive)

        let slow = try Testbed()
        for byte in "GET / HTTP/1.1\r\nHost: a\r\nX: " {
            try slow.send(String(byte))
        }
        slow.advance(10)
        #expect(try slow.sent().hasPrefix("HTTP/1.1 408 "))
        slow.advance(5)
        #expect(!slow.channel.isActive)
    }

    @Test func `a head that arrives byte by byte gets no extra time`() throws {
        let testbed = try Testbed()
        try testbed.send("GET / HTTP/1.1\r\nX: ")
        for _ in 0..<10 {
            #expect(!testbed.gate.isClosing)
            try testbed.send("x")
            testbed.advance(1)
        }
        #expect(testbed.gate.isClosing)
        testbed.advance(5)
        #expect(!testbed.channel.isActive)
    }

    @Test func `after the first request, the deadline of a head starts with its first byte`() throws {
        let testbed = try Testbed()
        try testbed.send(Self.get)
        testbed.response()
        testbed.advance(60)
        #expect(testbed.channel.isActive)
        try testbed.send("GET / HT")
        testbed.advance(9)
        #expect(!testbed.gate.isClosing)
        testbed.advance(1)
        #expect(testbed.gate.isClosing)
        try testbed.end()
    }

    @Test func `an invalid request is refused, reaches no route, and ends the connection`() throws {
        let testbed = try Testbed()
        try testbed.send("GET / HTTP/1.1\r\n\r\n" + Self.get)
        #expect(testbed.routes.heads.isEmpty)
        let response = try testbed.sent()
        #expect(response.hasPrefix("HTTP/1.1 400 ") && response.contains("Connection: close"))
        #expect(response.contains("Host"))
        testbed.advance(5)
        #expect(!testbed.channel.isActive)
    }

    @Test func `an invalid request after a valid one is answered second`() throws {
        let testbed = try Testbed()
        try testbed.send(Self.get + "NONSENSE\r\n\r\n")
        #expect(testbed.routes.heads.count == 1)
        #expect(try testbed.sent().isEmpty)
        testbed.response()
        let text = try testbed.sent()
        #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("HTTP/1.1 400 "))
        try testbed.end()
    }

    @Test func `a route's late response to a broken body is not sent`() throws {
        let testbed = try Testbed()
        try testbed.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        testbed.response(.internalServerError)
        let text = try testbed.sent()
        #expect(text.hasPrefix("HTTP/1.1 400 ") && !text.contains("500"))
        try testbed.end()
    }

    @Test func `a connection whose body continues after its response is cut`() throws {
        let testbed = try Testbed()
        try testbed.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        testbed.response()
        for _ in 0..<5 {
            if testbed.channel.isActive { try testbed.send("1\r\nx\r\n") }
            testbed.advance(1)
        }
        #expect(!testbed.channel.isActive)
    }

    @Test func `the start and the end of each request are counted, even if the connection is cut`() throws {
        final class Counts { var began = 0, ended = 0 }
        let counts = Counts()
        let testbed = try Testbed(.init(requestBegan: { counts.began += 1 }, requestEnded: { counts.ended += 1 }))
        try testbed.send(Self.get + Self.get)
        #expect(counts.began == 1 && counts.ended == 0)
        testbed.response()
        #expect(counts.began == 2 && counts.ended == 1)
        try testbed.channel.close().wait()
        #expect(counts.began == 2 && counts.ended == 2)
    }

    @Test(arguments: 0..<30) func `requests are parsed the same for any split of the bytes`(seed: UInt64) throws {
        let random = TestServer.random(seed: seed)
        let testbed = try Testbed()
        var text: [UInt8] = []
        for _ in 0..<20 {
            text += Array(Self.get.utf8)
            let body = String(repeating: "x", count: Int(random() % 5_000))
            text += Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
        }
        while !text.isEmpty {
            let count = min(text.count, 1 + Int(random() % 4_000))
            try testbed.channel.writeInbound(ByteBuffer(bytes: text[..<count]))
            text.removeFirst(count)
            if random() % 3 == 0, testbed.routes.ends > 0, testbed.routes.ends == testbed.routes.heads.count,
                testbed.pacer.heldBytes > 0
            {
                testbed.response()
            }
            while testbed.pacer.heldBytes > 100_000 { testbed.response() }
        }
        while testbed.routes.ends < 40 { testbed.response() }
        #expect(testbed.routes.heads.count == 40 && testbed.gate.heldParts == 0)
        #expect(!testbed.gate.isClosing)
        try testbed.end()
    }
}

/// A stand-in for a socket whose peer can stop reading.
final class StuckSocket: ChannelDuplexHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    var isStuck = false
    var reads = 0

    func flush(context: ChannelHandlerContext) {
        if !isStuck { context.flush() }
    }

    func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }

    /// Completes a close of the output without effect, because `EmbeddedChannel` has no half-closed state.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output { promise?.succeed() } else { context.close(mode: mode, promise: promise) }
    }
}
