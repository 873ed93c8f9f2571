public import SyncCore
public import SyncModel
import SyncWire

/// The real codec, with headers for what HTTP carries outside the body: the route of a call, the status of an answer,
/// and the time to wait.
public struct WireForm: SimulatedWire {
    private let catalog: SchemaCatalog

    public init(catalog: SchemaCatalog) {
        self.catalog = catalog
    }

    /// Bytes that are not a valid call or answer.
    public struct Unreadable: Error, CustomStringConvertible {
        public let description: String
    }

    // MARK: Calls: route and body

    private enum Route: UInt8 {
        case hello, push, pull, fetch
    }

    public func encode(_ call: ServerCall) throws -> [UInt8] {
        switch call {
        case .hello: [Route.hello.rawValue]
        case .push(let request): try [Route.push.rawValue] + PushCodec.encode(request)
        case .pull(let request): [Route.pull.rawValue] + PullCodec.encode(request)
        case .fetch(let request): [Route.fetch.rawValue] + FetchCodec.encode(request)
        }
    }

    public func decodeCall(_ bytes: [UInt8]) throws -> ServerCall {
        guard let first = bytes.first, let route = Route(rawValue: first) else {
            throw Unreadable(description: "there is no such route")
        }
        let body = Array(bytes.dropFirst())
        return switch route {
        case .hello: .hello
        case .push: .push(try PushCodec.decodeRequest(body))
        case .pull: .pull(try PullCodec.decodeRequest(body))
        case .fetch: .fetch(try FetchCodec.decodeRequest(body))
        }
    }

    // MARK: Answers: status, wait, and body

    private static let done: UInt8 = 0
    private static let absent: UInt8 = 1
    private static let firstFailure: UInt8 = 2
    /// A flag in the status of a failure that the server itself reported.
    private static let definite: UInt8 = 0x80

    public func encode(_ answer: ServerAnswer) throws -> [UInt8] {
        switch answer {
        case .hello(let hello): return header(Self.done) + HelloCodec.encode(hello)
        case .push(let reply): return try header(Self.done) + PushCodec.encode(reply)
        case .pull(let reply): return try header(Self.done) + PullCodec.encode(reply, catalog: catalog)
        case .fetch(nil, _): return header(Self.absent)
        case .fetch(let record?, let collection):
            return try header(Self.done) + FetchCodec.encode(record, of: collection, catalog: catalog)
        case .failed(let failure):
            let place = TransportFailure.Code.allCases.firstIndex(of: failure.code) ?? 0
            let wait = UInt16(clamping: failure.retryAfter?.wholeMilliseconds ?? 0)
            let status = Self.firstFailure + UInt8(place) + (failure.isDefinite ? Self.definite : 0)
            return header(status, wait: wait)
                + ErrorBody(.failed, failure.message).encode()
        }
    }

    private func header(_ status: UInt8, wait: UInt16 = 0) -> [UInt8] {
        [status, UInt8(truncatingIfNeeded: wait), UInt8(truncatingIfNeeded: wait >> 8)]
    }

    public func decodeAnswer(_ bytes: [UInt8], to call: ServerCall) throws(TransportFailure) -> ServerAnswer {
        guard bytes.count >= 3 else { throw TransportFailure(.notUnderstood, "the answer is cut short") }
        let body = Array(bytes[3...])
        do {
            switch (bytes[0], call) {
            case (Self.done, .hello): return .hello(try HelloCodec.decode(body))
            case (Self.done, .push): return .push(try PushCodec.decodeReply(body))
            case (Self.done, .pull): return .pull(try PullCodec.decodeReply(body, catalog: catalog))
            case (Self.done, .fetch(let request)):
                return .fetch(
                    try FetchCodec.decodeReply(body, to: request, catalog: catalog), of: request.collection)
            case (Self.absent, .fetch(let request)): return .fetch(nil, of: request.collection)
            default: return .failed(try failure(bytes, body))
            }
        } catch {
            throw TransportFailure(.notUnderstood, "\(error)")
        }
    }

    private func failure(_ bytes: [UInt8], _ body: [UInt8]) throws -> TransportFailure {
        let place = Int(bytes[0] & ~Self.definite) - Int(Self.firstFailure)
        guard TransportFailure.Code.allCases.indices.contains(place) else {
            throw Unreadable(description: "there is no such status")
        }
        let wait = Int64(bytes[1]) | Int64(bytes[2]) << 8
        return TransportFailure(
            TransportFailure.Code.allCases[place], try ErrorBody.decode(body).message,
            retryAfter: wait == 0 ? nil : .milliseconds(wait), isDefinite: bytes[0] & Self.definite != 0)
    }
}
