import SyncAuthority
import SyncModel

/// Builds a blob of big-endian numbers.
struct BlobWriter {
    private(set) var bytes: [UInt8] = []

    init(reserving count: Int) {
        bytes.reserveCapacity(count)
    }

    mutating func write(_ number: UInt64) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(_ version: Version) { write(UInt64(bitPattern: version.rawValue)) }

    mutating func write(_ stamp: Stamp) {
        write(stamp.time.rawValue)
        write(stamp.client.bits.high)
        write(stamp.client.bits.low)
    }

    mutating func write(_ origin: FieldOrigin) {
        write(origin.version)
        write(origin.stamp)
        write(UInt64(origin.incarnation))
    }
}

/// Reads a blob of big-endian numbers. Throws `corrupt` for a blob of the wrong length.
///
/// Valid only while the bytes are valid.
struct BlobReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    /// The name of the blob in error messages.
    private let what: String

    init(_ bytes: UnsafeRawBufferPointer, _ what: String) {
        self.bytes = bytes
        self.what = what
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func number() throws(AuthorityStoreError) -> UInt64 {
        guard bytes.count - position >= 8 else { throw AuthorityStoreError(.corrupt, "\(what) ends too early") }
        defer { position += 8 }
        return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    mutating func version() throws(AuthorityStoreError) -> Version {
        Version(Int64(bitPattern: try number()))
    }

    mutating func stamp() throws(AuthorityStoreError) -> Stamp {
        let time = HybridTime(rawValue: try number())
        return Stamp(time: time, client: ClientID(bits: try identifier()))
    }

    mutating func origin() throws(AuthorityStoreError) -> FieldOrigin {
        let version = try version()
        let stamp = try stamp()
        return FieldOrigin(version: version, stamp: stamp, incarnation: Int(clamping: try number()))
    }

    mutating func identifier() throws(AuthorityStoreError) -> Identifier128 {
        let high = try number()
        return Identifier128(high: high, low: try number())
    }

    mutating func end() throws(AuthorityStoreError) {
        guard isAtEnd else { throw AuthorityStoreError(.corrupt, "\(what) is too long") }
    }
}

extension Identifier128 {
    var bytes: [UInt8] {
        withBytes { Array($0) }
    }
}

extension HistoryFingerprint {
    var bytes: [UInt8] { bits.bytes }
}

extension Stamp {
    var bytes: [UInt8] {
        var writer = BlobWriter(reserving: 24)
        writer.write(self)
        return writer.bytes
    }
}

extension SQLCursor {
    /// Reads a blob of numbers to its end.
    func blob<Value>(
        _ column: Int32, _ what: String, _ read: (inout BlobReader) throws(AuthorityStoreError) -> Value
    ) throws(AuthorityStoreError) -> Value {
        try withBytes(column) { (bytes) throws(AuthorityStoreError) in
            var reader = BlobReader(bytes, what)
            let value = try read(&reader)
            try reader.end()
            return value
        }
    }

    func identifier(_ column: Int32, _ what: String) throws(AuthorityStoreError) -> Identifier128 {
        try blob(column, what) { (reader) throws(AuthorityStoreError) in try reader.identifier() }
    }

    func stamp(_ column: Int32, _ what: String) throws(AuthorityStoreError) -> Stamp {
        try blob(column, what) { (reader) throws(AuthorityStoreError) in try reader.stamp() }
    }
}
