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
/// but the two open routes asks for a token first.
struct Routes: HTTPResponder {
    typealias Context = RouteContext

    let endpoint: ServerEndpoint
    let authenticator: any Authenticator
    let configuration: SyncServerConfiguration
    let logger: Logger

    func respond(to request: Request, context: RouteContext) async throws -> Response {
        let path = request.head.path ?? ""
        let route = Route(path: path.prefix { $0 != "?" })
        if route.isOpen, request.method == route.method { return openAnswer(route) }
        let call: Call
        do {
            call = try await accept(request, route)
        } catch {
            return refuse(error, route, request.id, closing: request.mayHaveBody ? context : nil)
        }
        do {
            let response = try await carryOut(call)
            log(route, response.status.code)
            return response
        } catch {
            return refuse(error, route, request.id, closing: nil)
        }
    }

    /// What somebody may ask for, with all of its body.
    private enum Call {
        case hello(Principal)
        case push([UInt8], Principal)
        case pull([UInt8], Principal)
        case fetch([UInt8], Principal)
        case hints(Request, Principal, secret: String)
    }

    /// Finds out who asks, and for what; reads the body only then.
    private func accept(_ request: Request, _ route: Route) async throws -> Call {
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
        case .hello: return .hello(principal)
        case .push: return .push(try await body(of: request), principal)
        case .pull: return .pull(try await body(of: request), principal)
        case .fetch: return .fetch(try await body(of: request), principal)
        case .hints: return .hints(request, principal, secret: secret)
        case .openAPI, .health, .none: throw Refusal(.notFound, .malformed, "there is no such route")
        }
    }

    private func carryOut(_ call: Call) async throws -> Response {
        switch call {
        case .hello(let principal): return .json(try await endpoint.hello(principal))
        case .push(let body, let principal): return .json(try await endpoint.push(body, by: principal))
        case .pull(let body, let principal): return .json(try await endpoint.pull(body, by: principal))
        case .fetch(let body, let principal):
            guard let record = try await endpoint.fetch(body, by: principal) else {
                throw Refusal(.notFound, .notFound, "there is no such record, or none that you may see")
            }
            return .json(record)
        case .hints(let request, let principal, let secret): return try await hints(for: request, principal, secret)
        }
    }

    /// - Parameter context: of a connection on which a body is still to come. It is told to close, and cut after some
    ///   time in which the client can hear why.
    private func refuse(
        _ error: any Error, _ route: Route, _ request: WireRequestID?, closing context: RouteContext?
    ) -> Response {
        let refusal = Refusal(error)
        log(route, refusal.status.code)
        switch refusal.status {
        case .internalServerError:
            // The type alone: words may hold what a client sent.
            logger.error("a request failed", metadata: ["route": "\(route)", "error": "\(type(of: error))"])
        case .serviceUnavailable:
            // A full or broken disk is told to whoever runs the server, and not only to those who try again.
            logger.warning(
                "a request cannot be served", metadata: ["route": "\(route)", "reason": "\(refusal.body.message)"])
        default: break
        }
        var response = refusal.response(to: request)
        if let context {
            // On HTTP/2 the channel is one stream, and the field would be malformed (RFC 9113 §8.2.2).
            if !context.isStream { response.headers[.connection] = "close" }
            let channel = context.channel
            channel.eventLoop.scheduleTask(in: TimeAmount(SyncServerLimits.lingering)) { channel.close(promise: nil) }
        }
        return response
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

    /// Reads a body within its limits, and holds no more than they allow.
    ///
    /// What is a little too long is read to its end and forgotten: a client that is still sending would otherwise see a
    /// broken connection, and not the answer.
    private func body(of request: Request) async throws -> [UInt8] {
        let type = request.headers[.contentType]?.split(separator: ";" as Character).first?.lowercased()
        guard type == "application/json", request.headers[.contentEncoding] == nil else {
            throw Refusal(.unsupportedMediaType, .malformed, "application/json without a content encoding expected")
        }
        let limit = configuration.maximumBodyBytes
        let patience = limit.multipliedReportingOverflow(by: SyncServerLimits.patienceWithBodies)
        let tooLong = Refusal(.contentTooLarge, .tooLarge, "the body is longer than \(limit) bytes")
        func isBeyondPatience(_ count: Int) -> Bool { !patience.overflow && count > patience.partialValue }
        if let text = request.headers[.contentLength], isBeyondPatience(Int(text) ?? .max) { throw tooLong }
        let began = NIODeadline.now()
        var bytes: [UInt8] = []
        var count = 0
        for try await chunk in request.body {
            count += chunk.readableBytes
            guard !isBeyondPatience(count) else { throw tooLong }
            if count <= limit { bytes.append(contentsOf: chunk.readableBytesView) } else { bytes = [] }
            let allowed = configuration.bodyTimeout + .seconds(count / SyncServerLimits.slowestBody)
            guard NIODeadline.now() < began + TimeAmount(allowed) else {
                throw Refusal(
                    .requestTimeout, .timedOut,
                    "the body did not come in time: \(count) bytes in \(allowed)")
            }
        }
        guard count <= limit else { throw tooLong }
        return bytes
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
    /// Whether this is one of many streams on a connection of HTTP/2.
    var isStream: Bool { channel.parent?.parent != nil }
}

extension Request {
    /// The id that the client gave it, to be repeated in the body of an error.
    fileprivate var id: WireRequestID? {
        HTTPField.Name(WireRequestID.header).flatMap { headers[$0] }.flatMap(WireRequestID.init(rawValue:))
    }

    /// Whether bytes may follow the head.
    fileprivate var mayHaveBody: Bool {
        (headers[.contentLength] ?? "0") != "0" || headers[.transferEncoding] != nil || method == .post
    }
}
