/// The destination of a request: a file of the page, or a call with arguments in JSON.
enum PageRoute<Call: Sendable>: Sendable {
    case file(PageFile)
    case call(Call)

    /// The only method of the route.
    var method: String {
        switch self {
        case .file: "GET"
        case .call: "POST"
        }
    }
}
