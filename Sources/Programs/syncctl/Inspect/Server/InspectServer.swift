import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import SyncConcurrency
import SyncModel

/// Serves the page on the loopback address, one request per connection.
///
/// A connection that carries one request cannot confuse two, and is over when its response is.
struct InspectServer: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    let inspector: Inspector
    let secret: InspectSecret
    /// The time in which a whole request must arrive.
    private let deadline: Duration
    private let open = Guarded(0)

    /// The number of open connections.
    var connectionCount: Int { open.withLock { $0 } }

    init(inspector: Inspector, secret: InspectSecret, deadline: Duration = InspectLimits.requestDeadline) {
        self.inspector = inspector
        self.deadline = deadline
        self.secret = secret
    }

    /// The only address that it listens on.
    static let host = "127.0.0.1"

    /// Serves until the task is cancelled.
    ///
    /// - Parameters:
    ///   - port: the port; 0 lets the system choose one.
    ///   - onListening: called once with the port on which it listens.
    func run(port: Int, onListening: @Sendable (Int) -> Void) async throws {
        // A connection is wrapped when it is served. A wrapper that nobody serves, because the server ends first, would trap.
        let listener: NIOAsyncChannel<any Channel, Never>
        do {
            listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: InspectLimits.backlog)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.autoRead, value: false)
                .bind(host: Self.host, port: port) { $0.eventLoop.makeSucceededFuture($0) }
        } catch let error as IOError {
            throw CommandError(listening: error, on: port)
        }
        guard let bound = listener.channel.localAddress?.port else {
            throw CommandError(.machine, "the system has not told the port on which it listens")
        }
        let gate = InspectGate(port: bound, secret: secret)
        onListening(bound)
        try await listener.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await channel in connections {
                    let count = open.withLock { count in
                        count += 1
                        return count
                    }
                    group.addTask {
                        await serve(channel, gate, isAllowed: count <= InspectLimits.connections)
                        open.withLock { $0 -= 1 }
                    }
                }
            }
        }
    }

    private static func connection(over channel: any Channel) throws -> Connection {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = InspectLimits.headerBytes
        limits.maxHeaderListSize = InspectLimits.headerBytes
        limits.maxHeaderFieldCount = InspectLimits.headerFields
        try channel.pipeline.syncOperations.addHandler(HeadLimit())
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
    }

    private func serve(_ channel: any Channel, _ gate: InspectGate, isAllowed: Bool) async {
        let wrapped = channel.eventLoop.submit {
            let connection = try Self.connection(over: channel)
            // From now on, there is a reader.
            channel.setOption(.autoRead, value: true).whenFailure { _ in channel.close(promise: nil) }
            return connection
        }
        guard let connection = try? await wrapped.get() else {
            channel.close(promise: nil)
            return
        }
        // A peer that breaks HTTP, or leaves, gets no response and needs no report.
        try? await connection.executeThenClose { inbound, _ in
            guard isAllowed else { return }
            try await exchange(channel, inbound, gate)
        }
    }

    private func exchange(
        _ channel: any Channel, _ inbound: NIOAsyncChannelInboundStream<HTTPServerRequestPart>, _ gate: InspectGate
    ) async throws {
        var parts = inbound.makeAsyncIterator()
        let arrival = channel.closing(after: deadline)
        let received = try await request(&parts, gate)
        arrival.cancel()
        guard let received else { return }
        let response: InspectResponse
        do {
            let (route, body) = try received.get()
            response = try await respond(to: route, body, channel)
        } catch {
            response = InspectResponse(InspectRefusal(wrapping: error))
        }
        let delivery = channel.closing(after: InspectLimits.responseDeadline)
        defer { delivery.cancel() }
        try await channel.deliver(response)
        guard case .failure = received else { return }
        // If the connection were closed while the peer still sends, the system would discard the response.
        let rest = channel.closing(after: InspectLimits.refusalDelay)
        defer { rest.cancel() }
        while let part = try await parts.next(isolation: #isolation) {
            if case .end = part { break }
        }
    }

    /// Reads a request. The body of a request that the gate refuses is not read.
    ///
    /// - Returns: nil if the peer left.
    private func request(
        _ parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator, _ gate: InspectGate
    ) async throws -> Result<(InspectRoute, [UInt8]), InspectRefusal>? {
        guard case .head(let head) = try await parts.next(isolation: #isolation) else { return nil }
        let route: InspectRoute
        do throws(InspectRefusal) {
            route = try gate.route(of: InspectHead(head))
        } catch {
            return .failure(error)
        }
        var body: [UInt8] = []
        while let part = try await parts.next(isolation: #isolation) {
            switch part {
            case .head: return nil
            case .body(let piece):
                guard body.count + piece.readableBytes <= InspectLimits.bodyBytes else {
                    return .failure(InspectGate.tooLarge)
                }
                body += piece.readableBytesView
            case .end: return .success((route, body))
            }
        }
        return nil
    }

    private func respond(to route: InspectRoute, _ body: [UInt8], _ channel: any Channel) async throws
        -> InspectResponse
    {
        if let file = route.file { return InspectResponse(file) }
        if route == .news {
            let since = try InspectArguments(body).requiredNumber("since")
            await inspector.news.wait(since: since) { end in
                let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(InspectLimits.newsTimeout)) { end() }
                // The browser cancels the call when the page is closed.
                channel.closeFuture.whenComplete { _ in
                    timeout.cancel()
                    end()
                }
            }
            try Task.checkCancellation()
        }
        return InspectResponse(try await inspector.answer(route, body))
    }
}

extension Channel {
    /// Closes the channel after a time, unless the task is cancelled before.
    fileprivate func closing(after time: Duration) -> Scheduled<Void> {
        eventLoop.scheduleTask(in: TimeAmount(time)) { self.close(promise: nil) }
    }

    /// Writes a response, and returns when the system has all of it.
    ///
    /// The writer of `NIOAsyncChannel` returns earlier, and closing the channel would then drop the rest.
    fileprivate func deliver(_ response: InspectResponse) async throws {
        let (head, body) = (response.head, response.body)
        let written = eventLoop.flatSubmit {
            self.write(HTTPServerResponsePart.head(head), promise: nil)
            self.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
            return self.writeAndFlush(HTTPServerResponsePart.end(nil))
        }
        try await written.get()
    }
}

extension InspectHead {
    init(_ head: HTTPRequestHead) {
        self.init(
            method: head.method.rawValue, target: head.uri,
            fields: head.headers.map { (name: $0.name.lowercased(), value: $0.value) })
    }
}

extension CommandError {
    /// Creates the error for a port that cannot be used.
    fileprivate init(listening error: IOError, on port: Int) {
        switch error.errnoCode {
        case EADDRINUSE:
            self.init(
                .failed, "another program uses the port \(port) of \(InspectServer.host)",
                advice: "choose another with --port, or leave it out for a free one")
        case EACCES, EPERM:
            self.init(
                .failed, "this user may not listen on the port \(port)", advice: "choose a port from 1024 to 65535")
        default:
            self.init(
                .machine,
                "cannot listen on \(InspectServer.host):\(port): \(String(cString: strerror(error.errnoCode)))")
        }
    }
}
