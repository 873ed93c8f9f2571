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

    private struct Rig {
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
        let rig = try Rig()
        try rig.send(String(repeating: Self.get, count: 300))
        #expect(rig.routes.heads.count == 1 && rig.routes.ends == 1)
        // The parser received one slice of the bytes, which limits the number of requests parsed ahead.
        #expect(rig.gate.heldParts <= 2 * SyncServerLimits.parsedBytes / Self.get.utf8.count)
        #expect(rig.pacer.heldBytes >= 299 * Self.get.utf8.count - SyncServerLimits.parsedBytes)
        for count in 1...300 {
            #expect(rig.routes.heads.count == count)
            rig.response()
        }
        #expect(rig.routes.heads.count == 300 && rig.routes.ends == 300)
        #expect(rig.gate.heldParts == 0 && rig.pacer.heldBytes == 0)
        try rig.end()
    }

    @Test func `the next request waits until the previous response has left the socket`() throws {
        let rig = try Rig()
        try rig.send(Self.get + Self.get)
        rig.socket.isStuck = true
        rig.response()
        #expect(rig.routes.heads.count == 1)
        rig.socket.isStuck = false
        rig.channel.flush()
        #expect(rig.routes.heads.count == 2)
        try rig.end()
    }

    @Test func `nothing more is read from the socket while a request is being answered`() throws {
        let rig = try Rig()
        let before = rig.socket.reads
        try rig.send(Self.get)
        rig.channel.read()
        #expect(rig.socket.reads == before)
        rig.response()
        #expect(rig.socket.reads == before + 1)
        try rig.end()
    }

    @Test func `a peer that sends more data than can be held is cut`() throws {
        let rig = try Rig()
        try rig.send(Self.get + String(repeating: "x", count: SyncServerLimits.heldBytes + 1))
        #expect(!rig.channel.isActive)
    }

    @Test func `a long body passes completely before the next request`() throws {
        let rig = try Rig()
        let length = 5 * SyncServerLimits.parsedBytes + 17
        try rig.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n")
        try rig.send(String(repeating: "x", count: length) + Self.get)
        #expect(rig.routes.bodyBytes == length && rig.routes.ends == 1 && rig.routes.heads.count == 1)
        rig.response()
        #expect(rig.routes.heads.count == 2)
        try rig.end()
    }

    @Test func `the end of input is delivered after all requests`() throws {
        let rig = try Rig()
        try rig.send(String(repeating: Self.get, count: 100))
        rig.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!rig.routes.inputIsClosed)
        for _ in 0..<100 { rig.response() }
        #expect(rig.routes.inputIsClosed && rig.routes.heads.count == 100)
        try rig.end()
    }

    @Test func `a silent connection is closed at the deadline, and a slow head is answered with status 408`() throws {
        let silent = try Rig()
        silent.advance(9)
        #expect(silent.channel.isActive)
        silent.advance(1)
        #expect(!silent.channel.isActive)

        let slow = try Rig()
        for byte in "GET / HTTP/1.1\r\nHost: a\r\nX: " {
            slow.advance(0)
            try slow.send(String(byte))
        }
        slow.advance(10)
        #expect(try slow.sent().hasPrefix("HTTP/1.1 408 "))
        slow.advance(5)
        #expect(!slow.channel.isActive)
    }

    @Test func `a head that arrives byte by byte gets no extra time`() throws {
        let rig = try Rig()
        try rig.send("GET / HTTP/1.1\r\nX: ")
        for _ in 0..<10 {
            #expect(!rig.gate.isClosing)
            try rig.send("x")
            rig.advance(1)
        }
        #expect(rig.gate.isClosing)
        rig.advance(5)
        #expect(!rig.channel.isActive)
    }

    @Test func `after the first request, the deadline of a head starts with its first byte`() throws {
        let rig = try Rig()
        try rig.send(Self.get)
        rig.response()
        rig.advance(60)
        #expect(rig.channel.isActive)
        try rig.send("GET / HT")
        rig.advance(9)
        #expect(!rig.gate.isClosing)
        rig.advance(1)
        #expect(rig.gate.isClosing)
        try rig.end()
    }

    @Test func `an invalid request is refused, reaches no route, and ends the connection`() throws {
        let rig = try Rig()
        try rig.send("GET / HTTP/1.1\r\n\r\n" + Self.get)
        #expect(rig.routes.heads.isEmpty)
        let response = try rig.sent()
        #expect(response.hasPrefix("HTTP/1.1 400 ") && response.contains("Connection: close"))
        #expect(response.contains("Host"))
        rig.advance(5)
        #expect(!rig.channel.isActive)
    }

    @Test func `an invalid request after a valid one is answered second`() throws {
        let rig = try Rig()
        try rig.send(Self.get + "NONSENSE\r\n\r\n")
        #expect(rig.routes.heads.count == 1)
        #expect(try rig.sent().isEmpty)
        rig.response()
        let text = try rig.sent()
        #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("HTTP/1.1 400 "))
        try rig.end()
    }

    @Test func `a route's late response to a broken body is not sent`() throws {
        let rig = try Rig()
        try rig.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        rig.response(.internalServerError)
        let text = try rig.sent()
        #expect(text.hasPrefix("HTTP/1.1 400 ") && !text.contains("500"))
        try rig.end()
    }

    @Test func `a connection whose body continues after its response is cut`() throws {
        let rig = try Rig()
        try rig.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        rig.response()
        for _ in 0..<5 {
            if rig.channel.isActive { try rig.send("1\r\nx\r\n") }
            rig.advance(1)
        }
        #expect(!rig.channel.isActive)
    }

    @Test func `the start and the end of each request are counted, even if the connection is cut`() throws {
        final class Counts { var began = 0, ended = 0 }
        let counts = Counts()
        let rig = try Rig(.init(requestBegan: { counts.began += 1 }, requestEnded: { counts.ended += 1 }))
        try rig.send(Self.get + Self.get)
        #expect(counts.began == 1 && counts.ended == 0)
        rig.response()
        #expect(counts.began == 2 && counts.ended == 1)
        try rig.channel.close().wait()
        #expect(counts.began == 2 && counts.ended == 2)
    }

    @Test(arguments: 0..<30) func `requests are parsed the same for any split of the bytes`(seed: UInt64) throws {
        let random = TestServer.random(seed: seed)
        let rig = try Rig()
        var text: [UInt8] = []
        for _ in 0..<20 {
            text += Array(Self.get.utf8)
            let body = String(repeating: "x", count: Int(random() % 5_000))
            text += Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
        }
        while !text.isEmpty {
            let count = min(text.count, 1 + Int(random() % 4_000))
            try rig.channel.writeInbound(ByteBuffer(bytes: text[..<count]))
            text.removeFirst(count)
            if random() % 3 == 0, rig.routes.ends > 0, rig.routes.ends == rig.routes.heads.count,
                rig.pacer.heldBytes > 0
            {
                rig.response()
            }
            while rig.pacer.heldBytes > 100_000 { rig.response() }
        }
        while rig.routes.ends < 40 { rig.response() }
        #expect(rig.routes.heads.count == 40 && rig.gate.heldParts == 0)
        #expect(!rig.gate.isClosing)
        try rig.end()
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
