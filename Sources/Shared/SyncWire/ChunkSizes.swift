/// Detects a body that arrives in many tiny chunks, each of which costs its reader far more than the bytes are worth.
///
/// Both sides read bodies of a peer that they do not trust. Links and proxies cut a body into packets, which have hundreds of bytes.
public struct ChunkSizes: Hashable, Sendable {
    /// The number of chunks of any size that a body may have.
    public static let uncounted = 1_024
    /// The smallest average length, in bytes, of more chunks than that.
    public static let smallestAverage = 64

    private var chunks = 0
    private var bytes = 0

    public init() {}

    /// Counts a chunk.
    ///
    /// - Returns: the reason why the rest of the body must not be read, as a sentence without its subject; nil to continue.
    public mutating func arrived(_ count: Int) -> String? {
        chunks += 1
        bytes += count
        guard chunks > Self.uncounted, bytes / chunks < Self.smallestAverage else { return nil }
        return
            "comes in \(chunks) chunks of \(bytes / chunks) bytes on average; expected at least \(Self.smallestAverage)"
    }
}
