import Foundation
import SyncAuthority
import SyncModel

/// Builds a blob of big-endian numbers.
struct BlobWriter {
    private(set) var data: Data

    init(reserving count: Int) {
        data = Data(capacity: count)
    }

    mutating func write(_ number: UInt64) {
        withUnsafeBytes(of: number.bigEndian) { data.append(contentsOf: $0) }
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

/// Reads a blob of big-endian numbers. A blob that is too short is reported as corrupt.
struct BlobReader {
    private let data: Data
    private var position = 0
    private let what: String

    init(_ data: Data, _ what: String) {
        self.data = data
        self.what = what
    }

    var isAtEnd: Bool { position == data.count }

    mutating func number() throws(AuthorityStoreFailure) -> UInt64 {
        guard data.count - position >= 8 else { throw AuthorityStoreFailure(.corrupt, "\(what) ends too early") }
        defer { position += 8 }
        return data.withUnsafeBytes { bytes in
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    mutating func version() throws(AuthorityStoreFailure) -> Version {
        Version(Int64(bitPattern: try number()))
    }

    mutating func stamp() throws(AuthorityStoreFailure) -> Stamp {
        let time = HybridTime(rawValue: try number())
        return Stamp(time: time, client: ClientID(bits: try identifier()))
    }

    mutating func origin() throws(AuthorityStoreFailure) -> FieldOrigin {
        let version = try version()
        let stamp = try stamp()
        return FieldOrigin(version: version, stamp: stamp, incarnation: Int(clamping: try number()))
    }

    mutating func identifier() throws(AuthorityStoreFailure) -> Identifier128 {
        let high = try number()
        return Identifier128(high: high, low: try number())
    }

    mutating func end() throws(AuthorityStoreFailure) {
        guard isAtEnd else { throw AuthorityStoreFailure(.corrupt, "\(what) is too long") }
    }
}

extension Identifier128 {
    var data: Data {
        withBytes { Data($0) }
    }

    init(stored data: Data, _ what: String) throws(AuthorityStoreFailure) {
        var reader = BlobReader(data, what)
        self = try reader.identifier()
        try reader.end()
    }
}

extension HistoryChain {
    var data: Data { bits.data }

    init(stored data: Data) throws(AuthorityStoreFailure) {
        self.init(bits: try Identifier128(stored: data, "a fingerprint"))
    }
}

extension Stamp {
    var data: Data {
        var writer = BlobWriter(reserving: 24)
        writer.write(self)
        return writer.data
    }

    init(stored data: Data, _ what: String) throws(AuthorityStoreFailure) {
        var reader = BlobReader(data, what)
        self = try reader.stamp()
        try reader.end()
    }
}

extension PlainName {
    init(stored text: String, _ what: String) throws(AuthorityStoreFailure) {
        guard let name = Self(rawValue: text) else {
            throw AuthorityStoreFailure(.corrupt, "\(what) is no plain name")
        }
        self = name
    }
}
