import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import SyncConcurrency

/// Serves a page on the loopback address, one request per connection.
///
/// A connection that carries one request cannot confuse two, and is over when its response is.
package struct PageServer<Application: PageApplication>: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    private let application: Application
    private let secret: PageSecret
    /// The time in which a whole request must arrive.
    private let deadline: Duration
    private let open = Guarded(0)

    /// The number of open connections.
    var connectionCount: Int { open.withLock { $0 } }

    package init(
        _ application: Application, secret: PageSecret, deadline: Duration = PageLimits.requestDeadline
    ) {
        self.application = application
        self.deadline = deadline
        self.secret = secret
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameters:
    ///   - port: the port; 0 lets the system choose one.
    ///   - onListening: called once with the address of the page, which contains the secret.
    /// - Throws: `PageServerError` when it cannot listen; otherwise the error of `onListening`, or `CancellationError`.
    package func run(port: Int, onListening: @Sendable (_ address: String) throws -> Void) async throws {
        // A connection is wrapped when it is served. A wrapper that nobody serves, because the server ends first, would
        // trap.
        let listener: NIOAsyncChannel<any Channel, Never>
        do {
            listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: PageLimits.backlog)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.autoRead, value: false)
                .bind(host: PageHost.name, port: port) { $0.eventLoop.makeSucceededFuture($0) }
        } catch let error as IOError {
            throw PageServerError(listening: error, on: port)
        }
        try await listener.executeThenClose { connections in
            guard let bound = listener.channel.localAddress?.port else {
                throw PageServerError(.systemFailed, "the system has not told the port on which it listens")
            }
            let gate = PageGate(application: application, port: bound, secret: secret)
            try onListening("http://\(PageHost.name):\(bound)/#key=\(secret.text)")
            try await withThrowingDiscardingTaskGroup { group in
                for try await channel in connections {
                    let count = open.withLock { count in
                        count += 1
                        return count
                    }
                    group.addTask {
                        await serve(channel, gate, isAllowed: count <= PageLimits.connections)
                        open.withLock { $0 -= 1 }
                    }
                }
            }
        }
    }

    private static func connection(over channel: any Channel) throws -> Connection {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = PageLimits.headerBytes
        limits.maxHeaderListSize = PageLimits.headerBytes
        limits.maxHeaderFieldCount = PageLimits.headerFields
        try channel.pipeline.syncOperations.addHandler(HeadLimit())
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
    }

    private func serve(_ channel: any Channel, _ gate: PageGate<Application>, isAllowed: Bool) async {
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
        _ channel: any Channel, _ inbound: NIOAsyncChannelInboundStream<HTTPServerRequestPart>,
        _ gate: PageGate<Application>
    ) async throws {
        var parts = inbound.makeAsyncIterator()
        let arrival = channel.closing(after: deadline)
        let received = try await request(&parts, gate)
        arrival.cancel()
        guard let received else { return }
        let response: PageResponse
        do throws(PageError) {
            let (route, body) = try received.get()
            response = try await respond(to: route, body, channel)
        } catch {
            response = PageResponse(error)
        }
        let delivery = channel.closing(after: PageLimits.responseDeadline)
        defer { delivery.cancel() }
        try await channel.deliver(response)
        guard case .failure = received else { return }
        // If the connection were closed while the peer still sends, the system would discard the response.
        let rest = channel.closing(after: PageLimits.refusalDelay)
        defer { rest.cancel() }
        while let part = try await parts.next(isolation: #isolation) {
            if case .end = part { break }
        }
    }

    /// Reads a request. The body of a request that the gate refuses is not read.
    ///
    /// - Returns: nil if the peer left.
    private func request(
        _ parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator, _ gate: PageGate<Application>
    ) async throws -> Result<(PageRoute<Application.Call>, [UInt8]), PageError>? {
        guard case .head(let head) = try await parts.next(isolation: #isolation) else { return nil }
        let route: PageRoute<Application.Call>
        do throws(PageError) {
            route = try gate.route(of: PageHead(head))
        } catch {
            return .failure(error)
        }
        var body: [UInt8] = []
        while let part = try await parts.next(isolation: #isolation) {
            switch part {
            case .head: return nil
            case .body(let piece):
                guard body.count + piece.readableBytes <= PageLimits.bodyBytes else {
                    return .failure(.tooLarge)
                }
                body += piece.readableBytesView
            case .end: return .success((route, body))
            }
        }
        return nil
    }

    private func respond(
        to route: PageRoute<Application.Call>, _ body: [UInt8], _ channel: any Channel
    ) async throws(PageError) -> PageResponse {
        switch route {
        case .file(let file): return PageResponse(file)
        case .call(let call):
            let arguments = try PageArguments(body)
            let line = try await application.answer(call, arguments) { end in
                let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(PageLimits.newsTimeout)) { end() }
                // The browser cancels the call when the page is closed.
                channel.closeFuture.whenComplete { _ in
                    timeout.cancel()
                    end()
                }
            }
            return PageResponse(line)
        }
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
    fileprivate func deliver(_ response: PageResponse) async throws {
        let (head, body) = (response.head, response.body)
        let written = eventLoop.flatSubmit {
            self.write(HTTPServerResponsePart.head(head), promise: nil)
            self.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
            return self.writeAndFlush(HTTPServerResponsePart.end(nil))
        }
        try await written.get()
    }
}

extension PageHead {
    init(_ head: HTTPRequestHead) {
        self.init(
            method: head.method.rawValue, target: head.uri,
            fields: head.headers.map { (name: $0.name.lowercased(), value: $0.value) })
    }
}
