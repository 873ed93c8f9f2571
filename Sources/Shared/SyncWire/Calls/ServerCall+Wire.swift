package import SyncModel

// The table of the protocol's calls. Every adapter of both sides reads it, and no other code names a route or chooses a
// codec. Each function below is a column of the table, and each case of its `switch` is the entry of a call.

extension ServerCall {
    package enum Method: Hashable, Sendable {
        /// The request has no body.
        case get
        /// The request has a body, which is JSON.
        case post
    }

    package var method: Method {
        switch self {
        case .hello: .get
        case .push, .pull, .fetch: .post
        }
    }

    package var path: String { WirePath.version + rawValue }

    /// Whether "not found" is a response to the call, rather than a failure. For such a response,
    /// `ServerResponse.encode` returns nil.
    package var mayBeNotFound: Bool {
        switch self {
        case .hello, .push, .pull: false
        case .fetch: true
        }
    }
}

extension ServerRequest {
    /// Encodes the body; empty when the call's method is `get`. Throws `unencodable` when a value has no form on the
    /// wire.
    package func encode() throws(WireError) -> [UInt8] {
        switch self {
        case .hello: []
        case .push(let request): try PushCodec.encode(request)
        case .pull(let request): PullCodec.encode(request)
        case .fetch(let request): FetchCodec.encode(request)
        }
    }

    /// Decodes the body of a call strictly.
    package static func decode(_ body: [UInt8], of call: ServerCall) throws(WireError) -> ServerRequest {
        switch call {
        case .hello: .hello
        case .push: .push(try PushCodec.decodeRequest(body))
        case .pull: .pull(try PullCodec.decodeRequest(body))
        case .fetch: .fetch(try FetchCodec.decodeRequest(body))
        }
    }
}

extension ServerResponse {
    /// Encodes the body of the response to `request`; nil for "not found".
    ///
    /// - Parameter catalog: the source of the column names of records.
    package func encode(to request: ServerRequest, catalog: SchemaCatalog) throws(WireError) -> [UInt8]? {
        switch (self, request) {
        case (.hello(let hello), .hello): HelloCodec.encode(hello)
        case (.push(let response), .push(let request)): try PushCodec.encode(response, to: request)
        case (.pull(let response), .pull): try PullCodec.encode(response, catalog: catalog)
        case (.fetch(let record?), .fetch(let request)):
            try FetchCodec.encode(record, of: request.collection, catalog: catalog)
        case (.fetch(nil), .fetch): nil
        case (.hello, _), (.push, _), (.pull, _), (.fetch, _):
            throw WireError(.unencodable, "\(request.call.rawValue): this is the response to another call")
        }
    }

    /// Decodes the response to `request`.
    ///
    /// - Parameter body: the body of the response; nil for "not found".
    package static func decode(
        _ body: [UInt8]?, to request: ServerRequest, catalog: SchemaCatalog
    ) throws(WireError) -> ServerResponse {
        switch (body, request) {
        case (let body?, .hello): return .hello(try HelloCodec.decode(body))
        case (let body?, .push(let request)): return .push(try PushCodec.decodeResponse(body, to: request))
        case (let body?, .pull): return .pull(try PullCodec.decodeResponse(body, catalog: catalog))
        case (let body?, .fetch(let request)):
            return .fetch(try FetchCodec.decodeResponse(body, to: request, catalog: catalog))
        case (nil, .fetch): return .fetch(nil)
        case (nil, .hello), (nil, .push), (nil, .pull):
            throw WireError(.malformed, "\(request.call.rawValue): expected a response, found none")
        }
    }
}
