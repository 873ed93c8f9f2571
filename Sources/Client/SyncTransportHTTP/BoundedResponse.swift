import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import SyncCore
import SyncModel
import SyncWire

/// An HTTP response, read within a deadline and a maximum size. An error body that is too long is cut off.
struct BoundedResponse {
    let status: Int
    let isJSON: Bool
    let retryAfter: Duration?
    let bytes: [UInt8]
    /// The id of the request that this response should answer.
    let request: WireRequestID
    /// The id of the request that the head of the response names; nil if it names none.
    let answeredRequest: String?

    /// Reads a response.
    ///
    /// The client enforces the deadline only until the head arrives, so the body is checked against the deadline here,
    /// chunk by chunk. The read timeout limits the wait for each chunk.
    ///
    /// - Throws: `TransportError` when the response is too long, too slow, or in too many tiny chunks; otherwise the
    ///   client's error.
    init(
        _ response: HTTPClientResponse, deadline: NIODeadline, maximumBytes: Int, now: WallTime,
        to request: WireRequestID
    ) async throws {
        self.request = request
        status = Int(response.status.code)
        isJSON = Self.isJSON(response.headers.first(name: "Content-Type"))
        answeredRequest = response.headers.first(name: WireRequestID.header)
        retryAfter = response.headers.first(name: "Retry-After").flatMap { RetryAfter.duration($0, now: now) }
        let limit = status == 200 ? maximumBytes : HTTPTransportLimits.errorBytes
        if let text = response.headers.first(name: "Content-Length"), let announced = Int(text), announced > limit {
            guard status != 200 else { throw Self.tooLong(limit) }
            bytes = []
            return
        }
        var body: [UInt8] = []
        var chunks = ChunkSizes()
        for try await chunk in response.body {
            if let fault = chunks.fault(afterChunkOf: chunk.readableBytes) {
                throw TransportError(.notUnderstood, "the response \(fault)")
            }
            if body.count + chunk.readableBytes > limit {
                guard status != 200 else { throw Self.tooLong(limit) }
                break
            }
            body.append(contentsOf: chunk.readableBytesView)
            // Keep waiting for a slow link that still delivers, but not for one that only trickles.
            if NIODeadline.now() > deadline + .seconds(Int64(body.count / HTTPTransportLimits.slowestResponse)) {
                throw TransportError(.timedOut, "the response did not end in time, after \(body.count) bytes")
            }
        }
        bytes = body
    }

    private static func tooLong(_ limit: Int) -> TransportError {
        TransportError(.notUnderstood, "the response is longer than \(limit) bytes")
    }

    private static func isJSON(_ contentType: String?) -> Bool {
        guard let type = contentType?.split(separator: ";", omittingEmptySubsequences: false).first else {
            return false
        }
        return type.lowercased().trimmingSpaces == "application/json"
    }

    /// The server's own error about this request; nil when the response came from elsewhere.
    var error: ErrorBody? {
        guard isJSON, status != 200, let body = try? ErrorBody.decode(bytes), body.request == request else {
            return nil
        }
        return body
    }

    /// Returns the body of a successful response. Throws the matching failure for any other.
    func goodBody() throws(TransportError) -> [UInt8] {
        guard status == 200 else { throw failure }
        guard isJSON else {
            throw TransportError(
                .notUnderstood, "the response is not JSON: perhaps the network requires a sign-in")
        }
        guard answeredRequest == request.rawValue else {
            throw TransportError(
                .notUnderstood,
                answeredRequest == nil
                    ? "the response is not from a sync server, or a proxy removed its header \(WireRequestID.header)"
                    : "the response belongs to another request: perhaps a proxy or a cache confused them")
        }
        return bytes
    }

    var failure: TransportError {
        guard let error else {
            return TransportError(
                statusCode,
                "status \(status), without the error body of a sync server: perhaps a proxy or a gateway responded",
                retryAfter: retryAfter.map { min($0, HTTPTransportLimits.longestForeignPause) })
        }
        let code = TransportError.Code(error.code) ?? statusCode
        // The request may have been damaged on its way, or have met a failing server, and is intact on this device.
        // Such a response decides nothing about its contents.
        if error.code == .damaged || (500..<600).contains(status) && code.isAboutContents {
            return TransportError(.serverFailed, error.message, retryAfter: retryAfter)
        }
        return TransportError(code, error.message, retryAfter: retryAfter, isDefinite: true)
    }

    private var statusCode: TransportError.Code {
        switch status {
        case 401: .unauthorized
        case 403: .forbidden
        case 408: .timedOut
        case 413: .tooLarge
        case 426: .incompatible
        case 429: .throttled
        // A network that requires a sign-in (RFC 6585 §6).
        case 511: .notUnderstood
        case 400..<500: .refused
        case 500..<600: .serverFailed
        default: .notUnderstood
        }
    }
}

extension TransportError.Code {
    /// Returns nil for a code of a newer server.
    fileprivate init?(_ code: ErrorBody.Code) {
        switch code {
        case .malformed, .notFound: self = .refused
        case .unauthorized: self = .unauthorized
        case .forbidden: self = .forbidden
        case .otherAccount: self = .otherAccount
        case .timedOut: self = .timedOut
        case .tooLarge: self = .tooLarge
        case .throttled: self = .throttled
        case .unavailable, .failed, .damaged: self = .serverFailed
        default: return nil
        }
    }

    /// Whether the code says that the contents of the request are at fault.
    fileprivate var isAboutContents: Bool {
        switch self {
        case .refused, .forbidden, .tooLarge: true
        case .unreachable, .timedOut, .unauthorized, .otherAccount, .throttled, .serverFailed, .incompatible,
            .notUnderstood, .cancelled:
            false
        }
    }
}

extension String {
    fileprivate var trimmingSpaces: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        return start.dropLast(start.reversed().prefix { $0 == " " || $0 == "\t" }.count)
    }
}
