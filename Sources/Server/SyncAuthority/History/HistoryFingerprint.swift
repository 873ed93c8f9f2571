import Crypto
public import SyncModel

/// The fingerprint of a space's history up to one version.
///
/// `fingerprint(v)` is SHA-256 over `fingerprint(v − 1)`, v, the changes of commit v, its author, and its time,
/// truncated to 16 bytes. Two histories with the same fingerprint at a version have the same commits up to that
/// version.
public struct HistoryFingerprint: Hashable, Sendable {
    /// The first 16 bytes of the hash.
    public let bits: Identifier128

    /// Wraps a fingerprint that was stored.
    public init(bits: Identifier128) {
        self.bits = bits
    }

    /// The fingerprint of a space before its first commit.
    public static let start = HistoryFingerprint(bits: Identifier128(high: 0, low: 0))

    /// Returns the fingerprint at `commit`, given that this is the fingerprint at the version before it.
    package func extended(by commit: Commit, of author: CommitAuthor) -> HistoryFingerprint {
        var digest = CanonicalDigest()
        digest.add(bits)
        digest.add(commit.version.rawValue)
        digest.add(author)
        digest.add(commit.changes.count)
        for change in commit.changes { digest.add(change) }
        return HistoryFingerprint(bits: digest.first128Bits)
    }
}

/// A SHA-256 hash over values in a form that is the same on every machine.
///
/// Each text is preceded by its length, and each choice by a number, so that different lists of values never produce
/// the same bytes.
struct CanonicalDigest {
    private var hash = SHA256()

    var first128Bits: Identifier128 { Identifier128(digest: hash.finalize()) }

    mutating func add(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: UInt64(truncatingIfNeeded: number).bigEndian) { hash.update(bufferPointer: $0) }
    }

    mutating func add(_ bits: Identifier128) {
        bits.withBytes { hash.update(bufferPointer: $0) }
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            add(bytes.count)
            hash.update(bufferPointer: UnsafeRawBufferPointer(bytes))
        }
    }

    mutating func add(_ author: CommitAuthor) {
        add(author.principal.name)
        add(author.identity.client.bits)
        add(author.identity.incarnation)
        add(author.number.rawValue)
        add(author.committedAt.milliseconds)
    }

    mutating func add(_ change: RecordChange) {
        add(change.collection.rawValue)
        add(change.id.bits)
        switch change.effect {
        case .created(let uid, let patch):
            add(0)
            add(uid.rawValue)
            add(patch)
        case .updated(let patch):
            add(1)
            add(patch)
        case .deleted:
            add(2)
        }
    }

    private mutating func add(_ patch: Patch) {
        add(patch.count)
        for (field, value) in patch {
            add(field.rawValue)
            add(value)
        }
    }

    private mutating func add(_ value: FieldValue) {
        switch value {
        case .null: add(0)
        case .boolean(let value):
            add(1)
            add(value ? 1 : 0)
        case .integer(let value):
            add(2)
            add(value)
        case .real(let value):
            add(3)
            add(value.bitPattern)
        case .text(let value):
            add(4)
            add(value)
        case .reference(let value):
            add(5)
            add(value.bits)
        case .json(let value):
            add(6)
            add(value)
        }
    }
}

extension Identifier128 {
    /// Creates an identifier from the first 16 bytes of a digest or an authentication code.
    init(digest: some Sequence<UInt8>) {
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for (position, byte) in digest.prefix(16).enumerated() {
            if position < 8 {
                words.high = words.high << 8 | UInt64(byte)
            } else {
                words.low = words.low << 8 | UInt64(byte)
            }
        }
        self.init(high: words.high, low: words.low)
    }
}
