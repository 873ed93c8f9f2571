import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import SyncAuthority
import SyncWire

/// A request that is not answered as it wished.
struct Refusal: Error {
    let status: HTTPResponse.Status
    let body: ErrorBody
    var headers: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ code: ErrorBody.Code, _ message: String, headers: HTTPFields = [:]) {
        self.status = status
        body = ErrorBody(code, message)
        self.headers = headers
    }

    /// What a client is told of any error: of one that is not meant for it, nothing.
    init(_ error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let failure as AuthorityFailure: self.init(failure)
        case let error as WireError where error.code == .malformed:
            self.init(.badRequest, .malformed, error.message)
        case let error as WireError where error.code == .damaged:
            self.init(.badRequest, .damaged, error.message)
        default: self.init(.internalServerError, .failed, "the server failed")
        }
    }

    private init(_ failure: AuthorityFailure) {
        switch failure.code {
        case .otherAccount: self.init(.forbidden, .otherAccount, failure.message)
        case .malformed: self.init(.badRequest, .malformed, failure.message)
        case .tooLarge: self.init(.contentTooLarge, .tooLarge, failure.message)
        case .unavailable: self.init(.serviceUnavailable, .unavailable, failure.message)
        }
        if let wait = failure.retryAfter {
            // Rounded up: never sooner than was asked for.
            headers[.retryAfter] = String(wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
        }
    }

    /// - Parameter request: the id that the client gave its request; nil when it gave none.
    func response(to request: WireRequestID?) -> Response {
        let body = ErrorBody(body.code, body.message, request: request)
        var response = Response.json(body.encode(), status: status)
        for field in headers { response.headers.append(field) }
        if status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }
}

extension Response {
    static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: .plain(type: "application/json"),
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension HTTPFields {
    /// The fields of every answer: nothing is kept by caches, guessed at or run by browsers.
    static func plain(type: String) -> HTTPFields {
        var fields: HTTPFields = [
            .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
        ]
        if let name = HTTPField.Name("Referrer-Policy") { fields[name] = "no-referrer" }
        return fields
    }
}
