/// The head of a request, without its transport.
struct InspectHead: Sendable {
    let method: String
    /// The target of the request, as it was sent.
    let target: String
    /// The fields, with their names in lower case.
    let fields: [(name: String, value: String)]

    func values(of name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }
}

/// The checks of a request that need only its head.
///
/// The port accepts connections of everyone on this machine, and of every web page that a browser here shows. The `Host`
/// stops pages whose name was rebound to this address, the `Origin` stops pages of other sites, and the secret stops all
/// others.
struct InspectGate: Sendable {
    let port: Int
    let secret: InspectSecret

    /// Returns the route of an allowed request.
    func route(of head: InspectHead) throws(InspectRefusal) -> InspectRoute {
        let hosts = head.values(of: "host")
        guard hosts == [authority] else {
            throw InspectRefusal(
                403, "the request does not name this address as its Host; expected 127.0.0.1:\(port)",
                advice: "open the address that syncctl inspect has printed")
        }
        let origins = head.values(of: "origin")
        guard origins.count <= 1, origins.allSatisfy({ $0 == "http://\(authority)" })
        else { throw InspectRefusal(403, "the request comes from a page of another origin") }
        guard let route = InspectRoute(rawValue: head.target) else {
            throw InspectRefusal(404, "there is nothing at this path", advice: "the page is at /")
        }
        guard head.method == route.method else {
            var refusal = InspectRefusal(405, "\(route.rawValue) accepts only \(route.method)")
            refusal.allowedMethod = route.method
            throw refusal
        }
        guard route.file == nil else { return route }
        // A browser tells who has made a request. Another page of this machine may have the same host on another port.
        guard head.values(of: "sec-fetch-site").allSatisfy({ $0 == "same-origin" }) else {
            throw InspectRefusal(403, "the request comes from a page of another origin")
        }
        let tokens = head.values(of: "authorization")
        guard tokens.count == 1, secret.isPresented(by: tokens[0]) else {
            throw InspectRefusal(
                401, "the request does not present the secret of this run of syncctl inspect",
                advice: "open the whole address that syncctl inspect has printed, with the part after #")
        }
        guard head.values(of: "content-type").map({ $0.lowercased() }) == ["application/json"] else {
            throw InspectRefusal(415, "the request is not of type application/json")
        }
        for length in head.values(of: "content-length") where (Int(length) ?? .max) > InspectLimits.bodyBytes {
            throw Self.tooLarge
        }
        return route
    }

    static let tooLarge = InspectRefusal(
        413, "the request is longer than \(InspectLimits.bodyBytes) bytes", advice: "write fewer or smaller values")

    /// The only name of the page. A browser may take `localhost` for ::1, where another user's program may listen.
    private var authority: String { "127.0.0.1:\(port)" }
}
