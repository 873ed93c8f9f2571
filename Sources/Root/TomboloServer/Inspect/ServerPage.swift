import LoopbackPage
import SyncConcurrency
import SyncCore
import SyncProgram

/// The calls of the page of a server's database. None of them writes.
enum ServerPageCall: String, CaseIterable, Sendable {
    case summary, news, spaces, list, record, commits, commit, conflicts, members, clients
}

/// The page of a server's database.
struct ServerPage: PageApplication {
    let inspector: ServerInspector
    let runtime: EngineRuntime
    let command: String

    var files: [PageFile] {
        PageFile.common + [
            .html(at: "/", PackageResources.server_html), .script(at: "/server.js", PackageResources.server_js),
        ]
    }

    func answer(
        _ call: ServerPageCall, _ arguments: PageArguments, ending: (@escaping @Sendable () -> Void) -> Void
    ) async throws(PageError) -> JSONLine {
        if call == .news { try await waitForNews(since: try arguments.requiredNumber("since"), ending: ending) }
        return try await inspector.answer(call, arguments)
    }

    /// Returns when there is news since a number, or soon after `ending` has ended the wait.
    ///
    /// Nothing tells this process about the commits of others, so it looks for them, as long as a page waits.
    private func waitForNews(
        since number: Int64, ending: (@escaping @Sendable () -> Void) -> Void
    ) async throws(PageError) {
        let isOver = Guarded(false)
        ending { isOver.withLock { $0 = true } }
        while try await inspector.newsNumber() == number, !isOver.withLock({ $0 }) {
            do {
                try await runtime.clock.sleep(for: InspectLimits.newsInterval)
            } catch {
                throw PageError(503, "\(command) has ended")
            }
        }
    }
}
