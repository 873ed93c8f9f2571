/// Detects a body that arrives in many tiny chunks, each of which costs its reader far more than the bytes are worth.
///
/// Both sides read bodies of a peer that they do not trust. Links and proxies cut a body into packets, which have
/// hundreds of bytes.
public struct ChunkSizes: Hashable, Sendable {
    /// Number of chunks after which the average length is checked.
    public static let uncheckedChunks = 1_024
    /// Minimum average length of the chunks of a longer body, in bytes.
    public static let minimumAverage = 64

    private var chunks = 0
    private var bytes = 0

    public init() {}

    /// Counts a chunk.
    ///
    /// - Returns: the reason why the rest of the body must not be read, as a sentence without its subject; nil to
    ///   continue.
    public mutating func fault(afterChunkOf count: Int) -> String? {
        chunks += 1
        bytes += count
        guard chunks > Self.uncheckedChunks, bytes / chunks < Self.minimumAverage else { return nil }
        return
            "comes in \(chunks) chunks of \(bytes / chunks) bytes on average; expected at least \(Self.minimumAverage)"
    }
}
