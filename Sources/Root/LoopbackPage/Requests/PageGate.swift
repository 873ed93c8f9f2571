/// The head of a request, without its transport.
struct PageHead: Sendable {
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
/// The port accepts connections of everyone on this machine, and of every web page that a browser here shows. The
/// `Host` stops pages whose name was rebound to this address, the `Origin` stops pages of other sites, and the secret
/// stops all others.
struct PageGate<Application: PageApplication>: Sendable {
    let application: Application
    let port: Int
    let secret: PageSecret

    /// Returns the route of an allowed request.
    func route(of head: PageHead) throws(PageError) -> PageRoute<Application.Call> {
        let hosts = head.values(of: "host")
        guard hosts.count == 1, authorities.contains(hosts[0]) else {
            throw PageError(
                403, "the request does not name this address as its Host; expected \(authority)",
                advice: "open the address that \(application.command) has printed")
        }
        let origins = head.values(of: "origin")
        guard origins.count <= 1, origins.allSatisfy({ origin in authorities.contains { origin == "http://\($0)" } })
        else { throw PageError(403, "the request comes from a page of another origin") }
        guard let route = route(to: head.target) else {
            throw PageError(404, "there is nothing at this path", advice: "the page is at /")
        }
        guard head.method == route.method else {
            var refusal = PageError(405, "\(head.target) accepts only \(route.method)")
            refusal.allowedMethod = route.method
            throw refusal
        }
        guard case .call = route else { return route }
        // A browser tells who has made a request. Another page of this machine may have the same host on another port.
        guard head.values(of: "sec-fetch-site").allSatisfy({ $0 == "same-origin" }) else {
            throw PageError(403, "the request comes from a page of another origin")
        }
        let tokens = head.values(of: "authorization")
        guard tokens.count == 1, secret.isPresented(by: tokens[0]) else {
            throw PageError(
                401, "the request does not present the secret of this run of \(application.command)",
                advice: "open the whole address that \(application.command) has printed, with the part after #")
        }
        guard head.values(of: "content-type").map({ $0.lowercased() }) == ["application/json"] else {
            throw PageError(415, "the request is not of type application/json")
        }
        for length in head.values(of: "content-length") where (Int(length) ?? .max) > PageLimits.bodyBytes {
            throw .tooLarge
        }
        return route
    }

    private func route(to target: String) -> PageRoute<Application.Call>? {
        if let file = application.files.first(where: { $0.path == target }) { return .file(file) }
        let prefix = "/api/"
        guard target.utf8.starts(with: prefix.utf8) else { return nil }
        let name = String(decoding: target.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        return Application.Call(rawValue: name).map { .call($0) }
    }

    private var authority: String { "\(PageHost.name):\(port)" }

    /// The names of this address. A browser leaves out the port of HTTP.
    private var authorities: [String] { port == 80 ? [authority, PageHost.name] : [authority] }
}

extension PageError {
    static let tooLarge = PageError(
        413, "the request is longer than \(PageLimits.bodyBytes) bytes", advice: "write fewer or smaller values")
}
