import LoopbackPage
import SyncProgram

/// The calls of the page of `syncctl inspect`.
enum InspectCall: String, CaseIterable, Sendable {
    case summary, news, list, record, outbox, journal, create, update, delete, restore, dismiss
}

/// The page of `syncctl inspect`.
struct InspectorPage: PageApplication {
    let inspector: Inspector

    var command: String { "syncctl inspect" }

    var files: [PageFile] {
        PageFile.common + [
            .html(at: "/", PackageResources.inspect_html), .script(at: "/inspect.js", PackageResources.inspect_js),
        ]
    }

    func answer(
        _ call: InspectCall, _ arguments: PageArguments, ending: (@escaping @Sendable () -> Void) -> Void
    ) async throws(PageError) -> JSONLine {
        if call == .news { await inspector.news.wait(since: try arguments.requiredNumber("since"), ending: ending) }
        return try await inspector.answer(call, arguments)
    }
}
