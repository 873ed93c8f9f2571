import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTP1
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

    /// Tells a client of any error: of one that is not meant for it, nothing.
    init(_ error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let failure as AuthorityFailure: self.init(failure)
        case let error as WireError where error.code == .malformed:
            self.init(.badRequest, .malformed, error.message)
        case let error as WireError where error.code == .damaged:
            self.init(.badRequest, .damaged, error.message)
        // A body whose chunks are not what they say. Over HTTP/1.1 the request's gate has answered already.
        case is HTTPParserError: self.init(.badRequest, .malformed, "the request is not valid HTTP")
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
    /// - Parameter seat: held until the last piece of the body is written.
    static func json(
        _ bytes: [UInt8], status: HTTPResponse.Status = .ok, holding seat: RequestBudget.Seat? = nil
    ) -> Response {
        Response(json: ByteBuffer(bytes: bytes), status: status, holding: seat)
    }

    init(json bytes: ByteBuffer, status: HTTPResponse.Status = .ok, holding seat: RequestBudget.Seat? = nil) {
        self.init(
            status: status, headers: .plain(type: "application/json"),
            body: ResponseBody(pieces: bytes, holding: seat))
    }
}

extension ResponseBody {
    /// A body that is written in pieces, each when there is room for it: what waits for a slow peer is seen to shrink.
    ///
    /// - Parameter seat: held until the last piece is written.
    init(pieces whole: ByteBuffer, holding seat: RequestBudget.Seat?) {
        guard whole.readableBytes > SyncServerLimits.responseBytes else {
            self.init(byteBuffer: whole)
            return
        }
        self.init(contentLength: whole.readableBytes) { writer in
            defer { seat?.leave() }
            var rest = whole
            while let piece = rest.readSlice(length: min(rest.readableBytes, SyncServerLimits.responseBytes)),
                piece.readableBytes > 0
            {
                try await writer.write(piece)
            }
            try await writer.finish(nil)
        }
    }
}

extension HTTPFields {
    /// The fields of every response, so that caches keep nothing, and browsers guess and run nothing.
    static func plain(type: String) -> HTTPFields {
        var fields: HTTPFields = [
            .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
        ]
        if let name = HTTPField.Name("Referrer-Policy") { fields[name] = "no-referrer" }
        return fields
    }
}
