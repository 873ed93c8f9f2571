import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOPosix
import ServiceLifecycle
import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncWire

extension Routes {
    /// Responds with server-sent events.
    ///
    /// The stream starts with a hint for each space. Later commits cause further hints, which may be merged. A comment
    /// line is the heartbeat. The stream ends when the client disconnects, when the server shuts down, or when the
    /// token is no longer valid or may read other spaces than at the start. The server checks the token before each
    /// message. After the end of a stream, a client polls sooner, and so finds out which spaces it has lost or gained.
    ///
    /// - Parameter reservation: a reservation to return when the stream ends.
    func hints(
        for request: Request, _ principal: Principal, _ secret: String, _ reservation: RequestBudget.Reservation
    ) async throws -> Response {
        let wanted = try Self.spaces(in: request.head.path ?? "")
        // Spaces that the principal may not read are left out silently. A pull of such a space reports that it may not
        // be read.
        let spaces = try await endpoint.readable(among: wanted, to: principal)
        guard !spaces.isEmpty else {
            let names = wanted.map(\.rawValue).joined(separator: ", ")
            throw Refusal(.forbidden, .forbidden, "none of these spaces exists, or you may not read them: \(names)")
        }
        // Subscribe before reading the heads, so that a client that has these heads misses no commit.
        let commits = endpoint.authority.commits.subscribe()
        let heads = try await endpoint.heads(of: spaces, for: principal)
        let body = request.body
        return Response(
            status: .ok, headers: .plain(type: "text/event-stream"),
            body: ResponseBody { [self] writer in
                defer { reservation.leave() }
                try await body.consumeWithCancellationOnInboundClose { _ in
                    try await send(heads.heads, commits, of: Set(spaces), to: &writer) {
                        guard try await self.principal(bearing: secret) == principal else { return false }
                        return try await self.endpoint.readable(among: wanted, to: principal) == spaces
                    }
                }
                try await writer.finish(nil)
            })
    }

    /// Parses `?space=a&space=b`: at least one space, and no other parameters.
    private static func spaces(in path: String) throws -> [SpaceID] {
        let query = path.split(separator: "?" as Character, maxSplits: 1, omittingEmptySubsequences: false).dropFirst()
        guard let spaces = WirePath.spaces(inQuery: query.first ?? "") else {
            throw Refusal(.badRequest, .malformed, "expected ?space=<name>&space=<name>…")
        }
        guard (1...SyncServerLimits.spacesPerStream).contains(spaces.count) else {
            throw Refusal(
                .badRequest, .malformed, "expected 1 to \(SyncServerLimits.spacesPerStream) parameters ?space=<name>")
        }
        return spaces
    }

    private func send(
        _ heads: [SpaceID: Version], _ commits: Broadcast<SpaceHeads>.Subscription, of spaces: Set<SpaceID>,
        to writer: inout any ResponseBodyWriter, while isAuthorized: @Sendable () async throws -> Bool
    ) async throws {
        let messages = Broadcast<StreamHints>()
        let subscription = messages.subscribe()
        let interval = TimeAmount(configuration.heartbeat)
        let heartbeat = MultiThreadedEventLoopGroup.singleton.any()
            .scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
                messages.publish(StreamHints(heads: [:]))
            }
        defer { heartbeat.cancel() }
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await commit in commits {
                        if let hints = StreamHints(of: commit, in: spaces) { messages.publish(hints) }
                    }
                    messages.finish()
                }
                try await writer.write(ByteBuffer(string: ": welcome\n\n"))
                try await writer.write(StreamHints(heads: heads).text)
                var sent = StreamHints(heads: heads)
                for await item in subscription {
                    guard try await isAuthorized() else { break }
                    guard let news = sent.note(item) else { continue }
                    try await writer.write(news.text)
                }
                group.cancelAll()
            }
        } onGracefulShutdown: {
            messages.finish()
        }
    }
}

/// The next message of an event stream. Without heads, it is a heartbeat.
struct StreamHints: Coalescing {
    var heads: [SpaceID: Version]

    init(heads: [SpaceID: Version]) {
        self.heads = heads
    }

    /// Returns nil when no commit is in `spaces`. Hints without heads would be sent as a heartbeat, which would reveal
    /// that something was committed in another space.
    init?(of commits: SpaceHeads, in spaces: Set<SpaceID>) {
        heads = commits.heads.filter { spaces.contains($0.key) }
        if heads.isEmpty { return nil }
    }

    /// Adds a message to those that were sent, and returns its part that is new; nil without one. A database may report
    /// a commit of this server again. An earlier head is new, because a restored database goes back.
    mutating func note(_ next: StreamHints) -> StreamHints? {
        let news = StreamHints(heads: next.heads.filter { heads[$0.key] != $0.value })
        heads.merge(news.heads) { $1 }
        return next.heads.isEmpty || !news.heads.isEmpty ? news : nil
    }

    mutating func absorb(_ later: StreamHints) {
        heads.merge(later.heads) { max($0, $1) }
    }

    var text: ByteBuffer {
        let hints = heads.sorted { $0.key < $1.key }
        guard !hints.isEmpty else { return ByteBuffer(string: ": alive\n\n") }
        var buffer = ByteBuffer()
        for (space, head) in hints {
            buffer.writeString("event: hint\ndata: ")
            buffer.writeBytes(HintCodec.encode(Hint(space: space, head: head)))
            buffer.writeString("\n\n")
        }
        return buffer
    }
}
