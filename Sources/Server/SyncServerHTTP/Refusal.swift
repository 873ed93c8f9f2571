import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTP1
import SyncAuthority
import SyncWire

/// An error response to a request.
struct Refusal: Error {
    let status: HTTPResponse.Status
    let body: ErrorBody
    /// The text for the server's log; nil to log the message of the body.
    private(set) var detail: String?
    var headers: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ code: ErrorBody.Code, _ message: String, headers: HTTPFields = [:]) {
        self.status = status
        body = ErrorBody(code, message)
        self.headers = headers
    }

    /// Converts any error to a response. An error that is not meant for clients is reported without details.
    init(_ error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let failure as AuthorityError: self.init(failure)
        case let error as WireError where error.code == .malformed:
            self.init(.badRequest, .malformed, error.message)
        case let error as WireError where error.code == .damaged:
            self.init(.badRequest, .damaged, error.message)
        // The chunks of the body are malformed. The request gate has already responded.
        case is HTTPParserError: self.init(.badRequest, .malformed, "the request is not valid HTTP")
        default: self.init(.internalServerError, .failed, "the server failed")
        }
    }

    private init(_ failure: AuthorityError) {
        switch failure.code {
        case .otherAccount: self.init(.forbidden, .otherAccount, failure.message)
        case .malformed: self.init(.badRequest, .malformed, failure.message)
        case .tooLarge: self.init(.contentTooLarge, .tooLarge, failure.message)
        case .quotaExceeded: self.init(.tooManyRequests, .throttled, failure.message)
        case .unavailable: self.init(.serviceUnavailable, .unavailable, failure.message)
        }
        detail = failure.detail
        if let wait = failure.retryAfter {
            // Rounded up, so that clients never retry too early.
            headers[.retryAfter] = String(wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
        }
    }

    /// Returns the error response.
    ///
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
    /// Returns a JSON response.
    ///
    /// - Parameter reservation: a reservation to hold until the last piece of the body has been written.
    static func json(
        _ bytes: [UInt8], status: HTTPResponse.Status = .ok, holding reservation: RequestBudget.Reservation? = nil
    ) -> Response {
        Response(json: ByteBuffer(bytes: bytes), status: status, holding: reservation)
    }

    init(
        json bytes: ByteBuffer, status: HTTPResponse.Status = .ok, holding reservation: RequestBudget.Reservation? = nil
    ) {
        self.init(
            status: status, headers: .json,
            body: ResponseBody(pieces: bytes, holding: reservation))
    }
}

extension ResponseBody {
    /// Creates a body that is written in pieces, each when there is room for it, so that the progress of a slow peer is
    /// visible.
    ///
    /// - Parameter reservation: a reservation to hold until the last piece has been written.
    init(pieces whole: ByteBuffer, holding reservation: RequestBudget.Reservation?) {
        guard whole.readableBytes > SyncServerLimits.responseBytes else {
            self.init(byteBuffer: whole)
            return
        }
        self.init(contentLength: whole.readableBytes) { writer in
            defer { reservation?.leave() }
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
    /// The header fields of every response, so that caches store nothing, and browsers neither guess the type nor
    /// execute anything.
    static func plain(type: String) -> HTTPFields {
        var fields: HTTPFields = [
            .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
        ]
        if let name = HTTPField.Name("Referrer-Policy") { fields[name] = "no-referrer" }
        return fields
    }

    /// One copy that all responses share.
    fileprivate static let json = plain(type: "application/json")
}
