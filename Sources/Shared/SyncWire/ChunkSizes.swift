/// Detects a body that arrives in many tiny chunks, which cost the reader far more work than the same bytes in larger
/// chunks.
///
/// Both sides read bodies of a peer that they do not trust. The body of an honest peer passes, because links and
/// proxies cut it into packets of hundreds of bytes.
public struct ChunkSizes: Hashable, Sendable {
    /// Number of chunks after which the average length is checked.
    public static let uncheckedChunks = 1_024
    /// Minimum average length of the chunks of a body with more than `uncheckedChunks` chunks, in bytes.
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
