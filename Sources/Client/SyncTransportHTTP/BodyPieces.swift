import NIOCore

/// The body of a request in pieces. The next piece is read once the connection has accepted the previous one.
///
/// If a long body were passed as a whole, it would count as sent while most of it still waits in memory, and the server
/// would seem silent while a slow link carries the rest.
struct BodyPieces: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let body: ByteBuffer

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(rest: body)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ByteBuffer

        mutating func next() async -> ByteBuffer? {
            guard rest.readableBytes > 0 else { return nil }
            return rest.readSlice(length: Swift.min(HTTPTransportLimits.pieceBytes, rest.readableBytes))
        }
    }
}
