public import SyncCore
public import SyncModel
import SyncWire

/// The real codec, with headers for what HTTP carries outside the body: the call of a request, the status of a
/// response, and the time to wait.
public struct WireForm: SimulatedWire {
    private let catalog: SchemaCatalog

    public init(catalog: SchemaCatalog) {
        self.catalog = catalog
    }

    /// Bytes that are not a valid request or response.
    public struct Unreadable: Error, CustomStringConvertible {
        public let description: String
    }

    // MARK: Requests: call and body

    public var requestHeaderBytes: Int { 1 }

    public func encode(_ request: ServerRequest) throws -> [UInt8] {
        let place = ServerCall.allCases.firstIndex(of: request.call) ?? 0
        return try [UInt8(place)] + request.encode()
    }

    public func decodeRequest(_ bytes: [UInt8]) throws -> ServerRequest {
        guard let first = bytes.first, ServerCall.allCases.indices.contains(Int(first)) else {
            throw Unreadable(description: "there is no such call")
        }
        return try ServerRequest.decode(Array(bytes.dropFirst()), of: ServerCall.allCases[Int(first)])
    }

    // MARK: Responses: status, wait, and body

    private static let done: UInt8 = 0
    private static let absent: UInt8 = 1
    private static let firstFailure: UInt8 = 2
    /// A flag in the status of a failure that the server itself reported.
    private static let definite: UInt8 = 0x80

    public func encode(_ response: ServerResponse, to request: ServerRequest) throws -> [UInt8] {
        guard let body = try response.encode(to: request, catalog: catalog) else { return header(Self.absent) }
        return header(Self.done) + body
    }

    public func encode(_ failure: TransportError) -> [UInt8] {
        let place = TransportError.Code.allCases.firstIndex(of: failure.code) ?? 0
        let wait = UInt16(clamping: failure.retryAfter?.wholeMilliseconds ?? 0)
        let status = Self.firstFailure + UInt8(place) + (failure.isDefinite ? Self.definite : 0)
        return header(status, wait: wait) + ErrorBody(.failed, failure.message).encode()
    }

    private func header(_ status: UInt8, wait: UInt16 = 0) -> [UInt8] {
        [status, UInt8(truncatingIfNeeded: wait), UInt8(truncatingIfNeeded: wait >> 8)]
    }

    public func decodeResponse(
        _ bytes: [UInt8], to request: ServerRequest
    ) throws(TransportError) -> ServerResponse {
        guard bytes.count >= 3 else { throw TransportError(.notUnderstood, "the response is cut short") }
        let body = Array(bytes[3...])
        let failure: TransportError
        do {
            switch bytes[0] {
            case Self.done: return try ServerResponse.decode(body, to: request, catalog: catalog)
            case Self.absent: return try ServerResponse.decode(nil, to: request, catalog: catalog)
            default: failure = try self.failure(bytes, body)
            }
        } catch {
            throw TransportError(.notUnderstood, "\(error)")
        }
        throw failure
    }

    private func failure(_ bytes: [UInt8], _ body: [UInt8]) throws -> TransportError {
        let place = Int(bytes[0] & ~Self.definite) - Int(Self.firstFailure)
        guard TransportError.Code.allCases.indices.contains(place) else {
            throw Unreadable(description: "there is no such status")
        }
        let wait = Int64(bytes[1]) | Int64(bytes[2]) << 8
        return TransportError(
            TransportError.Code.allCases[place], try ErrorBody.decode(body).message,
            retryAfter: wait == 0 ? nil : .milliseconds(wait), isDefinite: bytes[0] & Self.definite != 0)
    }
}
