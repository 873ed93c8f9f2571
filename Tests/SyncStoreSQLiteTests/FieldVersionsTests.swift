import SyncModel
import TestRings
import Testing

@testable import SyncStoreSQLite

@Suite(.ring(.unit)) struct FieldVersionsTests {
    private static func record(_ versions: [Int64], of version: Int64) -> Record {
        var record = Record(
            id: RecordID(bits: Identifier128(high: 1, low: 2)), uid: .none, version: Version(version),
            values: versions.map { .integer($0) })
        record.fieldVersions = versions.map { Version($0) }
        return record
    }

    private static func decoded(_ bytes: [UInt8], _ order: [Int]) -> [Int64]? {
        bytes.withUnsafeBytes { FieldVersions.decode($0, order: order, version: Version(9)) }?.map(\.rawValue)
    }

    @Test func `builds that declare fields in different orders read the same versions`() throws {
        // Columns a, b, c in the order of the database. The model declares c, a, b.
        let bytes = try #require(FieldVersions.encode(Self.record([300, 1, 2], of: 300), order: [1, 2, 0]))
        #expect(Self.decoded(bytes, [1, 2, 0]) == [300, 1, 2])
        #expect(Self.decoded(bytes, [0, 1, 2]) == [1, 2, 300])
        // A later build has a new field between them, which got the last column.
        #expect(Self.decoded(bytes, [0, 2, 3, 1]) == [1, 9, 2, 300])
        // A blob with more versions than columns is damaged.
        #expect(Self.decoded(bytes, [0, 1]) == nil)
        #expect(Self.decoded([0x80], [0]) == nil)
    }
}
