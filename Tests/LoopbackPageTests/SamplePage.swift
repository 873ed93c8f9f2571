import LoopbackPage
import SyncConcurrency
import SyncProgram

/// A page for tests, which counts the calls that change something.
struct SamplePage: PageApplication {
    enum Call: String, CaseIterable, Sendable {
        case news, list, change
    }

    let changes = Guarded(0)
    private let waiters = Guarded<[@Sendable () -> Void]>([])
    private let waiting = AsyncStream.makeStream(of: Void.self)

    var command: String { "sample inspect" }

    var files: [PageFile] {
        PageFile.common + [
            .html(at: "/", Array("<!DOCTYPE html>\n</html>\n".utf8)),
            .script(at: "/sample.js", Array("export {};".utf8)),
        ]
    }

    func answer(
        _ call: Call, _ arguments: PageArguments, ending: (@escaping @Sendable () -> Void) -> Void
    ) async throws(PageError) -> JSONLine {
        switch call {
        case .news:
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            waiters.withLock { $0.append { continuation.finish() } }
            ending { continuation.finish() }
            waiting.continuation.yield()
            for await _ in stream {}
        case .list: break
        case .change:
            guard try arguments.requiredText("value") != "refused" else { throw PageError(422, "this is refused") }
            changes.withLock { $0 += 1 }
            for release in waiters.withLock({ $0 }) { release() }
        }
        var line = JSONLine()
        line.set("changes", changes.withLock { $0 })
        return line
    }

    /// Returns when one more call for news waits.
    func newsIsAwaited() async {
        for await _ in waiting.stream { return }
    }
}
