import NIOCore

/// The body of a request in pieces, of which the next is taken once the connection has taken the one before.
///
/// Given as a whole, a long body would count as sent while most of it still waits in memory, and the server as silent
/// for all the time that a slow link needs for it.
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
