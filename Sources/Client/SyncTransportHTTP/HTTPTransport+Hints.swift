import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import SyncCore
public import SyncModel
import SyncWire

extension HTTPTransport {
    /// Returns a stream of hints, which a separate task reads from the server's event streams until the reader stops
    /// iterating.
    ///
    /// When one event stream ends, all end, unless the server refuses the stream because the account may not read its
    /// spaces.
    public func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        let (stream, hints) = AsyncThrowingStream.makeStream(
            of: Hint.self, bufferingPolicy: .bufferingNewest(HTTPTransportLimits.waitingHints))
        let task = runtime.spawn { [self] in
            do throws(TransportError) {
                try await readStreams(for: spaces, into: hints)
                hints.finish()
            } catch {
                hints.finish(throwing: error)
            }
        }
        hints.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Reads the hints over one stream for each `spacesPerStream` spaces.
    private func readStreams(
        for spaces: [SpaceID], into hints: AsyncThrowingStream<Hint, any Error>.Continuation
    ) async throws(TransportError) {
        let size = HTTPTransportLimits.spacesPerStream
        let parts = stride(from: 0, to: spaces.count, by: size).map { Array(spaces[$0...].prefix(size)) }
        guard parts.count > 1 else { return try await readHints(for: spaces, into: hints) }
        guard parts.count <= HTTPTransportLimits.streams else {
            throw TransportError(
                .refused,
                "hints: \(spaces.count) spaces exceed the limit of \(size * HTTPTransportLimits.streams); all spaces are polled"
            )
        }
        let failure = await withTaskGroup(of: TransportError?.self) { group in
            for part in parts {
                group.addTask { [self] in
                    do throws(TransportError) {
                        try await readHints(for: part, into: hints)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            var refusals = 0
            for await end in group {
                // A server sends nothing about spaces that the account may not read. The other streams continue.
                if end?.code == .forbidden, end?.isDefinite == true {
                    refusals += 1
                    if refusals < parts.count { continue }
                }
                group.cancelAll()
                return end
            }
            return nil
        }
        if let failure { throw failure }
    }

    private func readHints(
        for spaces: [SpaceID], into hints: AsyncThrowingStream<Hint, any Error>.Continuation
    ) async throws(TransportError) {
        let secret = try await bearer()
        let id = makeRequestID()
        let path = "\(WirePath.hints)?\(WirePath.query(forHintsOf: spaces))"
        let request = request(path, secret, accept: "text/event-stream", id: id)
        do {
            let deadline = NIODeadline.now() + TimeAmount(configuration.callTimeout)
            try await streamClient.withClient { client in
                try await read(client.execute(request, deadline: deadline), to: id, deadline: deadline, into: hints)
            }
        } catch let error as WireError {
            throw TransportError(.notUnderstood, error.message)
        } catch is ServerSentEvents.LineTooLong {
            throw TransportError(
                .notUnderstood, "hints: a line of more than \(HTTPTransportLimits.eventLineBytes) bytes")
        } catch is StreamPace.Exceeded {
            throw TransportError(
                .notUnderstood,
                "hints: more than \(HTTPTransportLimits.streamBytes) bytes in \(HTTPTransportLimits.streamWindow)")
        } catch {
            throw TransportError(error, calling: "hints", configuration).hiding(secret)
        }
    }

    private func read(
        _ response: HTTPClientResponse, to request: WireRequestID, deadline: NIODeadline,
        into hints: AsyncThrowingStream<Hint, any Error>.Continuation
    ) async throws {
        let isStream =
            response.headers.first(name: "Content-Type")?.lowercased().hasPrefix("text/event-stream") == true
        guard response.status == .ok, isStream else {
            let response = try await BoundedResponse(
                response, deadline: deadline, maximumBytes: HTTPTransportLimits.errorBytes, now: runtime.now(),
                to: request)
            _ = try response.goodBody()
            throw TransportError(
                .notUnderstood, "the response is not an event stream; expected the content type text/event-stream")
        }
        var events = ServerSentEvents()
        var pace = StreamPace(now: runtime.uptime())
        for try await chunk in response.body {
            try pace.count(chunk.readableBytes, now: runtime.uptime())
            for event in try events.consume(chunk.readableBytesView) where event.name == Array("hint".utf8) {
                hints.yield(try HintCodec.decode(event.data))
            }
        }
    }
}
