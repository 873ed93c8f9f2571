import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import SyncCore
public import SyncModel
import SyncWire

extension HTTPTransport {
    /// Reads the server's event stream in a task of its own, until the stream's reader goes away.
    public func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        let (stream, hints) = AsyncThrowingStream.makeStream(
            of: Hint.self, bufferingPolicy: .bufferingNewest(HTTPTransportLimits.waitingHints))
        let task = runtime.spawn { [self] in
            do throws(TransportFailure) {
                try await readHints(for: spaces, into: hints)
                hints.finish()
            } catch {
                hints.finish(throwing: error)
            }
        }
        hints.onTermination = { _ in task.cancel() }
        return stream
    }

    private func readHints(
        for spaces: [SpaceID], into hints: AsyncThrowingStream<Hint, any Error>.Continuation
    ) async throws(TransportFailure) {
        let secret = try await bearer()
        // The names of spaces need no escape in a URL.
        let query = spaces.map { "space=\($0)" }.joined(separator: "&")
        let id = makeRequestID()
        let request = request(.GET, "hints?\(query)", secret, accept: "text/event-stream", id: id)
        do {
            let deadline = NIODeadline.now() + TimeAmount(configuration.callTimeout)
            try await streamClient.withClient { client in
                try await read(client.execute(request, deadline: deadline), to: id, deadline: deadline, into: hints)
            }
        } catch let error as WireError {
            throw TransportFailure(.notUnderstood, error.message)
        } catch is ServerSentEvents.LineTooLong {
            throw TransportFailure(
                .notUnderstood, "hints: a line of more than \(HTTPTransportLimits.eventLineBytes) bytes")
        } catch {
            throw TransportFailure(error, calling: "hints", configuration).hiding(secret)
        }
    }

    private func read(
        _ response: HTTPClientResponse, to request: WireRequestID, deadline: NIODeadline,
        into hints: AsyncThrowingStream<Hint, any Error>.Continuation
    ) async throws {
        let isStream =
            response.headers.first(name: "Content-Type")?.lowercased().hasPrefix("text/event-stream") == true
        guard response.status == .ok, isStream else {
            let answer = try await HTTPAnswer(
                response, deadline: deadline, maximumBytes: HTTPTransportLimits.errorBytes, now: runtime.now(),
                to: request)
            _ = try answer.goodBody()
            throw TransportFailure(.notUnderstood, "the answer is no event stream")
        }
        var events = ServerSentEvents()
        for try await chunk in response.body {
            for event in try events.consume(chunk.readableBytesView) where event.name == Array("hint".utf8) {
                hints.yield(try HintCodec.decode(event.data))
            }
        }
    }
}
