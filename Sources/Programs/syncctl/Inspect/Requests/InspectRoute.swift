/// The routes of `syncctl inspect`. The raw value is the path.
///
/// The page and its two files contain no data and need no secret. Everything else is a call with arguments in JSON.
enum InspectRoute: String, CaseIterable, Sendable {
    case page = "/"
    case style = "/inspect.css"
    case script = "/inspect.js"
    case summary = "/api/summary"
    case news = "/api/news"
    case list = "/api/list"
    case record = "/api/record"
    case outbox = "/api/outbox"
    case journal = "/api/journal"
    case create = "/api/create"
    case update = "/api/update"
    case delete = "/api/delete"
    case restore = "/api/restore"
    case dismiss = "/api/dismiss"

    /// The file of the page; nil for a call.
    var file: InspectFile? {
        switch self {
        case .page: .page
        case .style: .style
        case .script: .script
        case .summary, .news, .list, .record, .outbox, .journal, .create, .update, .delete, .restore, .dismiss: nil
        }
    }

    /// The only method of the route.
    var method: String { file == nil ? "POST" : "GET" }
}

/// The files of the page, which are compiled into the program.
enum InspectFile: Sendable {
    case page, style, script

    var type: String {
        switch self {
        case .page: "text/html; charset=utf-8"
        case .style: "text/css; charset=utf-8"
        case .script: "text/javascript; charset=utf-8"
        }
    }

    var bytes: [UInt8] {
        switch self {
        case .page: PackageResources.inspect_html
        case .style: PackageResources.inspect_css
        case .script: PackageResources.inspect_js
        }
    }
}
