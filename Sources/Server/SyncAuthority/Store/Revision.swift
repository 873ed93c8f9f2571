import Crypto

/// The revision of something that a store keeps and servers keep in memory, too: the models, and the members of spaces.
///
/// Only the same changes in the same order give the same revision. A database that has lost some changes and then gets
/// others therefore never has the revision of contents that a server still has in memory.
package enum Revision {
    /// Returns the revision after a change; the first change follows 0.
    ///
    /// - Parameter change: the new contents, or a description of the change that is different for different changes.
    package static func next(after revision: Int64, _ change: String) -> Int64 {
        var hash = SHA256()
        hash.update(data: Array("\(revision)\n\(change)".utf8))
        return Int64(hash.finalize().prefix(7).reduce(0) { $0 << 8 | UInt64($1) })
    }
}
