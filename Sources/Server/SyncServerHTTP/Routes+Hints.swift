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
    /// Server-sent events: a hint for each space at first and whenever something was committed in it, a comment line now and then, until
    /// the client goes, the token is not good any more, or the server shuts down.
    ///
    /// - Parameter seat: given back when the stream ends.
    func hints(
        for request: Request, _ principal: Principal, _ secret: String, _ seat: RequestBudget.Seat
    ) async throws -> Response {
        let wanted = try Self.spaces(in: request.head.path ?? "")
        // Of the others nothing is told; that one of them may not be read is for its pull to say.
        let spaces = try await endpoint.readable(among: wanted, to: principal)
        guard !spaces.isEmpty else {
            let names = wanted.map(\.rawValue).joined(separator: ", ")
            throw Refusal(.forbidden, .forbidden, "there is none of these spaces, or none that you may read: \(names)")
        }
        // The heads are read after that: whoever has seen them misses no commit.
        let commits = endpoint.authority.commits.subscribe()
        let heads = try await endpoint.heads(of: spaces, for: principal)
        let body = request.body
        return Response(
            status: .ok, headers: .plain(type: "text/event-stream"),
            body: ResponseBody { [self] writer in
                defer { seat.leave() }
                try await body.consumeWithCancellationOnInboundClose { _ in
                    try await send(heads.heads, commits, of: Set(spaces), to: &writer) {
                        try await self.principal(bearing: secret) == principal
                    }
                }
                try await writer.finish(nil)
            })
    }

    /// `?space=a&space=b`: at least one, and nothing else.
    private static func spaces(in path: String) throws -> [SpaceID] {
        let query = path.split(separator: "?" as Character, maxSplits: 1, omittingEmptySubsequences: false).dropFirst()
        var spaces: [SpaceID] = []
        for item in query.first?.split(separator: "&" as Character) ?? [] {
            guard item.hasPrefix("space="), let space = SpaceID(rawValue: String(item.dropFirst(6))) else {
                throw Refusal(.badRequest, .malformed, "?space=<name>&space=<name>… expected")
            }
            if !spaces.contains(space) { spaces.append(space) }
        }
        guard (1...SyncServerLimits.spacesPerStream).contains(spaces.count) else {
            throw Refusal(
                .badRequest, .malformed, "?space=<name> expected, at most \(SyncServerLimits.spacesPerStream) of them")
        }
        return spaces
    }

    private func send(
        _ heads: [SpaceID: Version], _ commits: Broadcast<SpaceHeads>.Subscription, of spaces: Set<SpaceID>,
        to writer: inout any ResponseBodyWriter, while isWelcome: @Sendable () async throws -> Bool
    ) async throws {
        let news = Broadcast<StreamNews>()
        let subscription = news.subscribe()
        let interval = TimeAmount(configuration.heartbeat)
        let heartbeat = MultiThreadedEventLoopGroup.singleton.any()
            .scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in news.publish(StreamNews(heads: [:])) }
        defer { heartbeat.cancel() }
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await commit in commits {
                        if let own = StreamNews(of: commit, in: spaces) { news.publish(own) }
                    }
                    news.finish()
                }
                try await writer.write(ByteBuffer(string: ": welcome\n\n"))
                try await writer.write(StreamNews(heads: heads).text)
                for await item in subscription {
                    guard try await isWelcome() else { break }
                    try await writer.write(item.text)
                }
                group.cancelAll()
            }
        } onGracefulShutdown: {
            news.finish()
        }
    }
}

/// The next message of an event stream. Without heads it is a sign of life.
struct StreamNews: Coalescing {
    var heads: [SpaceID: Version]

    init(heads: [SpaceID: Version]) {
        self.heads = heads
    }

    /// Nil when none of the commits is in `spaces`: not even a sign of life tells of those elsewhere.
    init?(of commits: SpaceHeads, in spaces: Set<SpaceID>) {
        heads = commits.heads.filter { spaces.contains($0.key) }
        if heads.isEmpty { return nil }
    }

    mutating func absorb(_ later: StreamNews) {
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
