public import SyncCore
public import SyncModel

/// The encoding of requests and responses.
///
/// An implementation uses the codec under test, so that damaged messages pass through it.
public protocol SimulatedWire: Sendable {
    /// The number of bytes before the body in an encoded request. Over HTTP, they are not part of the body.
    var requestHeaderBytes: Int { get }
    func encode(_ request: ServerRequest) throws -> [UInt8]
    /// Decodes a request. Throws when the bytes are not a valid request.
    func decodeRequest(_ bytes: [UInt8]) throws -> ServerRequest
    func encode(_ response: ServerResponse, to request: ServerRequest) throws -> [UInt8]
    /// Encodes the failure of a request.
    func encode(_ failure: TransportError) -> [UInt8]
    /// Decodes the response to `request`. Throws the failure that a client's transport would throw.
    func decodeResponse(_ bytes: [UInt8], to request: ServerRequest) throws(TransportError) -> ServerResponse
}
