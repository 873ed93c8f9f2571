package import SyncModel

/// The paths of the protocol, except those of its calls, which are in the table of calls (`ServerCall.path`).
package enum WirePath {
    /// The beginning of every path of this version of the protocol.
    static let version = "/v1/"
    /// The stream of hints, server-sent events in response to GET.
    package static let hints = version + "hints"
    /// The description of the protocol.
    package static let openAPI = version + "openapi"

    /// Returns the query that requests the hints of `spaces`. The names of spaces need no escaping in a URL.
    package static func query(forHintsOf spaces: [SpaceID]) -> String {
        spaces.map { parameter + $0.rawValue }.joined(separator: "&")
    }

    /// Parses a query for hints. Returns each space once; nil when the query contains anything else.
    package static func spaces(inQuery query: some StringProtocol) -> [SpaceID]? {
        var spaces: [SpaceID] = []
        for item in query.split(separator: "&") {
            guard item.hasPrefix(parameter), let space = SpaceID(rawValue: String(item.dropFirst(parameter.count)))
            else { return nil }
            if !spaces.contains(space) { spaces.append(space) }
        }
        return spaces
    }

    private static let parameter = "space="
}
