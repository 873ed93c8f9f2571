import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Schemas
import SyncAuthority
import SyncModel
import SyncWire

/// The routes of the server.
///
/// A path must equal one of the few existing routes, so that no other spelling of a path matches. Every route except
/// the two open ones requires a token first. The number of concurrent requests of one principal is limited.
struct Routes: HTTPResponder {
    typealias Context = RouteContext

    let endpoint: ServerEndpoint
    let authentication: Authentication
    let configuration: SyncServerConfiguration
    let connections: OpenConnections
    let health: StoreHealth
    let budget: RequestBudget
    let rates: RequestRates
    /// The metrics to count in; nil counts nothing.
    let metrics: RequestMetrics?
    let logger: Logger

    func respond(to request: Request, context: RouteContext) async throws -> Response {
        let began = NIODeadline.now()
        let route = Route(path: String((request.head.path ?? "").prefix { $0 != "?" }))
        var response = await response(to: request, route, context)
        metrics?.responded(to: route, response.status.code, after: Duration(NIODeadline.now() - began))
        if let id = request.id { response.headers[.requestID] = id.rawValue }
        return response
    }

    private func response(to request: Request, _ route: Route, _ context: RouteContext) async -> Response {
        // The body of an open or refused request is not read: the connection closes after the response instead.
        let closing = request.mayHaveBody ? context : nil
        if route.isOpen, request.method == route.method { return await openResponse(route, closing: closing) }
        let accepted: AcceptedRequest
        do {
            accepted = try await accept(request, route, context)
        } catch {
            return refuse(error, route, request.id, closing: closing)
        }
        do {
            let response = try await carryOut(accepted)
            log(route, response.status.code)
            return response
        } catch {
            if let failure = error as? AuthorityError, failure.isStoreDamaged { health.damageFound() }
            return refuse(error, route, request.id, closing: nil)
        }
    }

    /// A request that was accepted, with its complete body and its reservation in the budget.
    private enum AcceptedRequest {
        case call(ServerCall, [UInt8], Principal, RequestBudget.Reservation)
        case hints(Request, Principal, secret: String, RequestBudget.Reservation)
    }

    /// Returns the principal of a token; nil for an unknown token.
    func principal(bearing secret: String) async throws -> Principal? {
        try await endpoint.principal(bearing: secret, by: authentication)
    }

    /// Authenticates the request and finds its route, and only then reads the body.
    private func accept(_ request: Request, _ route: Route, _ context: RouteContext) async throws
        -> AcceptedRequest
    {
        let secret = try bearer(of: request)
        guard let principal = try await principal(bearing: secret) else {
            throw Self.unknownToken
        }
        connections.authenticated(context.channel)
        guard let method = route.method else { throw Refusal(.notFound, .malformed, "the route does not exist") }
        guard request.method == method else {
            throw Refusal(
                .methodNotAllowed, .malformed, "\(route) requires \(method.rawValue)",
                headers: [.allow: method.rawValue])
        }
        if let wait = rates.admit(principal) { throw throttled(for: wait) }
        guard let reservation = budget.reservation(for: principal, route == .hints ? .stream : .request) else {
            throw busy
        }
        switch route {
        case .call(let call):
            let began = NIODeadline.now()
            let body = call.method == .post ? try await body(of: request, by: principal, reservation, context) : []
            // A slow body may take half an hour, and the token may have been revoked in the meantime.
            if NIODeadline.now() - began > configuration.tokenAge,
                try await self.principal(bearing: secret) != principal
            {
                throw Self.unknownToken
            }
            return .call(call, body, principal, reservation)
        case .hints:
            connections.streamBegan(context.channel)
            return .hints(request, principal, secret: secret, reservation)
        case .openAPI, .health, .readiness, .none: throw Refusal(.notFound, .malformed, "the route does not exist")
        }
    }

    private static let unknownToken = Refusal(
        .unauthorized, .unauthorized, "the token is unknown, expired, or revoked")

    private var busy: Refusal {
        Refusal(
            .tooManyRequests, .throttled, "too many requests of this account are in progress; try again later",
            headers: [.retryAfter: "\(SyncServerLimits.busyRetrySeconds)"])
    }

    private func throttled(for wait: TimeAmount) -> Refusal {
        // Rounded up, so that the next request is admitted.
        let seconds = (wait.nanoseconds + 999_999_999) / 1_000_000_000
        return Refusal(
            .tooManyRequests, .throttled,
            "this account may send \(configuration.requestsPerSecond) requests and transfer \(configuration.bytesPerSecond) bytes per second; try again in \(seconds) s",
            headers: [.retryAfter: "\(seconds)"])
    }

    private func carryOut(_ accepted: AcceptedRequest) async throws -> Response {
        switch accepted {
        case .call(let call, let body, let principal, let reservation):
            guard let response = try await endpoint.respond(to: call, body, by: principal, metrics) else {
                throw Refusal(.notFound, .notFound, "the record does not exist, or you may not see it")
            }
            rates.charge(response.count, to: principal)
            metrics?.transferred(.call(call), received: body.count, sent: response.count)
            return .json(response, holding: reservation)
        case .hints(let request, let principal, let secret, let reservation):
            return try await hints(for: request, principal, secret, reservation)
        }
    }

    /// Returns the error response to a request, and logs it.
    ///
    /// - Parameter context: set if a body is still to arrive on the connection. The connection is then marked to close,
    ///   and cut after the client has had time to read the response.
    private func refuse(
        _ error: any Error, _ route: Route, _ request: WireRequestID?, closing context: RouteContext?
    ) -> Response {
        let refusal = Refusal(error)
        log(route, refusal.status.code)
        switch refusal.status {
        case .internalServerError:
            // Log only the type, because the message may contain data that a client sent.
            logger.error("a request failed", metadata: ["route": "\(route)", "error": "\(type(of: error))"])
        case .serviceUnavailable:
            // The operator must learn about a full or broken disk as well, not only the clients that retry.
            logger.warning(
                "a request cannot be served",
                metadata: ["route": "\(route)", "reason": "\(refusal.detail ?? refusal.body.message)"])
        default: break
        }
        var response = refusal.response(to: request)
        if let context { context.close(after: &response) }
        return response
    }

    private func openResponse(_ route: Route, closing context: RouteContext?) async -> Response {
        var response =
            switch route {
            case .health: await healthResponse { try await health.check() }
            case .readiness: await healthResponse { try await health.checkForWrites() }
            default: Response(json: Self.openAPI)
            }
        if let context { context.close(after: &response) }
        return response
    }

    /// One copy that all responses share.
    private static let openAPI = ByteBuffer(bytes: WireSchema.openAPI)

    private func healthResponse(_ check: () async throws -> Void) async -> Response {
        do {
            try await check()
            return .json(Array(#"{"status":"ok"}"#.utf8))
        } catch {
            // The details go only to the log, because this route is open to everyone.
            logger.debug("the store is not available", metadata: ["error": "\(error)"])
            let isDamaged = error is StoreHealth.DamageFound || (error as? AuthorityError)?.isStoreDamaged == true
            let reason = isDamaged ? "damaged" : (error as? StoreHealth.NoWrites)?.rawValue ?? "store"
            let body = #"{"status":"unavailable","reason":"\#(reason)"}"#
            return .json(Array(body.utf8), status: .serviceUnavailable)
        }
    }

    private func bearer(of request: Request) throws -> String {
        // A request with several Authorization fields could be attributed to several principals.
        let fields = request.headers[values: .authorization]
        let words = fields.first?.split(separator: " ") ?? []
        guard fields.count == 1, words.count == 2, words[0].lowercased() == "bearer" else {
            throw Refusal(.unauthorized, .unauthorized, "expected a bearer token")
        }
        return String(words[1])
    }

    /// Reads a body within its limits, and holds no more bytes than they allow.
    ///
    /// A body that is slightly too long is read to its end and discarded. Otherwise, a client that is still sending
    /// would see a broken connection instead of the response.
    private func body(
        of request: Request, by principal: Principal, _ reservation: RequestBudget.Reservation, _ context: RouteContext
    ) async throws -> [UInt8] {
        let type = request.headers[.contentType]?.split(separator: ";" as Character).first?.lowercased()
        guard type == "application/json", request.headers[.contentEncoding] == nil else {
            throw Refusal(.unsupportedMediaType, .malformed, "expected application/json without a content encoding")
        }
        if let text = request.headers[.contentLength], isFarTooLong(Int(text) ?? .max) { throw bodyTooLong }
        // The usual body is short and arrives with its head. It needs no timer.
        if connections.hasWholeRequest(context.channel) {
            return try await bytes(of: request.body, by: principal, reservation)
        }
        let timer = BodyTimer(
            BodyAllowance(timeout: configuration.bodyTimeout, now: .now()), on: context.channel.eventLoop)
        @Sendable func late() -> Refusal {
            let allowance = timer.allowance
            return Refusal(
                .requestTimeout, .timedOut,
                "the body did not arrive in time: \(allowance.received) bytes within \(allowance.allowed)")
        }
        return try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            // The timer ends the wait for a body that has stopped arriving.
            group.addTask { if try await timer.expires() { throw late() } else { nil } }
            group.addTask {
                defer { timer.stop() }
                return try await bytes(of: request.body, by: principal, reservation) { count in
                    guard timer.arrived(count) else { throw late() }
                }
            }
            while let bytes = try await group.next() {
                if let bytes { return bytes }
            }
            throw late()
        }
    }

    /// Reads a body to its end, and charges what has arrived to the principal, also if the body is refused.
    ///
    /// - Parameter arrived: called with the length of each chunk. An error that it throws ends the reading.
    private func bytes(
        of body: RequestBody, by principal: Principal, _ reservation: RequestBudget.Reservation,
        arrived: (Int) throws -> Void = { _ in }
    ) async throws -> [UInt8] {
        let limit = configuration.maximumBodyBytes
        var bytes: [UInt8] = []
        var count = 0
        var chunks = ChunkSizes()
        defer { rates.charge(count, to: principal) }
        for try await chunk in body {
            if let fault = chunks.fault(afterChunkOf: chunk.readableBytes) {
                throw Refusal(.badRequest, .malformed, "the body \(fault)")
            }
            count += chunk.readableBytes
            guard !isFarTooLong(count) else { throw bodyTooLong }
            if count <= limit {
                guard reservation.take(chunk.readableBytes) else { throw busy }
                bytes.append(contentsOf: chunk.readableBytesView)
            } else {
                bytes = []
                reservation.releaseBody()
            }
            try arrived(chunk.readableBytes)
        }
        guard count <= limit else { throw bodyTooLong }
        return bytes
    }

    private var bodyTooLong: Refusal {
        Refusal(.contentTooLarge, .tooLarge, "the body is longer than \(configuration.maximumBodyBytes) bytes")
    }

    /// Whether a body is so long that the rest of it is not even read.
    private func isFarTooLong(_ count: Int) -> Bool {
        let longest = configuration.maximumBodyBytes.multipliedReportingOverflow(by: SyncServerLimits.unreadBodies)
        return !longest.overflow && count > longest.partialValue
    }

    private func log(_ route: Route, _ status: Int) {
        logger.debug("request", metadata: ["route": "\(route)", "status": "\(status)"])
    }
}

/// The routes: the calls of the protocol, the stream of hints, the description of the protocol, and the checks of the
/// health and the readiness.
///
/// `none` stands for any other path.
enum Route: Hashable, CustomStringConvertible {
    case call(ServerCall)
    case hints, openAPI, health, readiness, none

    init(path: String) {
        self = Self.routes[path] ?? .none
    }

    /// The routes by their paths.
    private static let routes = Dictionary(
        uniqueKeysWithValues: (ServerCall.allCases.map(Route.call) + [.hints, .openAPI, .health, .readiness]).map {
            ($0.description, $0)
        })

    /// Whether the route needs no token.
    var isOpen: Bool { [.openAPI, .health, .readiness].contains(self) }

    var method: HTTPRequest.Method? {
        switch self {
        case .call(let call): call.method == .get ? .get : .post
        case .hints, .openAPI, .health, .readiness: .get
        case .none: nil
        }
    }

    var description: String {
        switch self {
        case .call(let call): call.path
        case .hints: WirePath.hints
        case .openAPI: WirePath.openAPI
        case .health: "/healthz"
        case .readiness: "/readyz"
        case .none: "no route"
        }
    }
}

/// The request context, with the connection that the response may have to close.
struct RouteContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Announces that the connection closes, and cuts it after the peer has had time to read the response.
    func close(after response: inout Response) {
        response.headers[.connection] = "close"
        channel.eventLoop.scheduleTask(in: TimeAmount(SyncServerLimits.closeDelay)) { [channel] in
            channel.close(promise: nil)
        }
    }
}

extension Request {
    /// The id that the client gave to the request, which the response repeats.
    fileprivate var id: WireRequestID? { headers[.requestID].flatMap(WireRequestID.init(rawValue:)) }

    /// Whether bytes may follow the head.
    var mayHaveBody: Bool {
        (headers[.contentLength] ?? "0") != "0" || headers[.transferEncoding] != nil || method == .post
    }
}

extension HTTPField.Name {
    fileprivate static let requestID = HTTPField.Name(WireRequestID.header)!
}
