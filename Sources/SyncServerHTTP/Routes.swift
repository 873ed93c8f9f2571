import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Schemas
import SyncAuthority
import SyncWire

/// Which request means which call.
///
/// A path is compared byte by byte with the few that exist: no other spelling of one leads anywhere, and everything
/// but the two open routes asks for a token first (RELIABILITY S4).
struct Routes: HTTPResponder {
    typealias Context = RouteContext

    let endpoint: ServerEndpoint
    let authenticator: any Authenticator
    let configuration: SyncServerConfiguration
    let logger: Logger

    func respond(to request: Request, context: RouteContext) async throws -> Response {
        let path = request.head.path ?? ""
        let route = Route(path: path.prefix { $0 != "?" })
        do {
            let response = try await answer(request, route, context)
            log(route, response.status.code)
            return response
        } catch {
            let refusal = Refusal(error)
            log(route, refusal.status.code)
            if case .internalServerError = refusal.status {
                // The type alone: words may hold what a client sent.
                logger.error("a request failed", metadata: ["route": "\(route)", "error": "\(type(of: error))"])
            }
            cutOff(request, context)
            return refusal.response
        }
    }

    private func answer(_ request: Request, _ route: Route, _ context: RouteContext) async throws -> Response {
        if route.isOpen, request.method == route.method { return openAnswer(route) }
        let secret = try bearer(of: request)
        guard let principal = authenticator.principal(bearing: secret) else {
            throw Refusal(.unauthorized, .unauthorized, "the token is not known, or not good any more")
        }
        guard let method = route.method else { throw Refusal(.notFound, .malformed, "there is no such route") }
        guard request.method == method else {
            throw Refusal(
                .methodNotAllowed, .malformed, "\(route) wants \(method.rawValue)", headers: [.allow: method.rawValue])
        }
        switch route {
        case .hello: return .json(try await endpoint.hello(principal))
        case .push: return .json(try await endpoint.push(try await body(of: request), by: principal))
        case .pull: return .json(try await endpoint.pull(try await body(of: request), by: principal))
        case .fetch:
            guard let record = try await endpoint.fetch(try await body(of: request), by: principal) else {
                throw Refusal(.notFound, .notFound, "there is no such record, or none that you may see")
            }
            return .json(record)
        case .hints: return try await hints(for: request, principal, secret)
        case .openAPI, .health, .none: return openAnswer(route)
        }
    }

    private func openAnswer(_ route: Route) -> Response {
        route == .openAPI ? .json(WireSchema.openAPI) : .json(Array(#"{"status":"ok"}"#.utf8))
    }

    private func bearer(of request: Request) throws -> String {
        // More than one Authorization field is more than one answer to the question who asks.
        let fields = request.headers[values: .authorization]
        let words = fields.first?.split(separator: " ") ?? []
        guard fields.count == 1, words.count == 2, words[0].lowercased() == "bearer" else {
            throw Refusal(.unauthorized, .unauthorized, "a bearer token expected")
        }
        return String(words[1])
    }

    /// Reads a body within its limits. What is too long is refused before it is held.
    private func body(of request: Request) async throws -> [UInt8] {
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type == "application/json", request.headers[.contentEncoding] == nil else {
            throw Refusal(.unsupportedMediaType, .malformed, "application/json without a content encoding expected")
        }
        let limit = configuration.maximumBodyBytes
        let tooLong = Refusal(.contentTooLarge, .tooLarge, "the body is longer than \(limit) bytes")
        if let text = request.headers[.contentLength], let announced = Int(text), announced > limit { throw tooLong }
        let deadline = NIODeadline.now() + TimeAmount(configuration.bodyTimeout)
        var bytes: [UInt8] = []
        for try await chunk in request.body {
            guard bytes.count + chunk.readableBytes <= limit else { throw tooLong }
            bytes.append(contentsOf: chunk.readableBytesView)
            guard NIODeadline.now() < deadline else {
                throw Refusal(.requestTimeout, .timedOut, "the body did not come within \(configuration.bodyTimeout)")
            }
        }
        return bytes
    }

    /// Gives a client whose body was not read some time to hear why, and then cuts the connection.
    private func cutOff(_ request: Request, _ context: RouteContext) {
        guard request.method != .get, request.method != .head else { return }
        let channel = context.channel
        channel.eventLoop.scheduleTask(in: TimeAmount(SyncServerLimits.lingering)) {
            channel.close(promise: nil)
        }
    }

    private func log(_ route: Route, _ status: Int) {
        logger.debug("request", metadata: ["route": "\(route)", "status": "\(status)"])
    }
}

/// The routes that there are.
enum Route: String, CustomStringConvertible {
    case hello = "/v1/hello"
    case push = "/v1/push"
    case pull = "/v1/pull"
    case fetch = "/v1/fetch"
    case hints = "/v1/hints"
    case openAPI = "/v1/openapi"
    case health = "/healthz"
    case none = ""

    init(path: some StringProtocol) {
        self = Route(rawValue: String(path)) ?? .none
    }

    /// Whether it is answered without a token.
    var isOpen: Bool { self == .openAPI || self == .health }

    var method: HTTPRequest.Method? {
        switch self {
        case .hello, .hints, .openAPI, .health: .get
        case .push, .pull, .fetch: .post
        case .none: nil
        }
    }

    var description: String { self == .none ? "no route" : rawValue }
}

/// What a request's answer needs to know of its connection.
struct RouteContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
