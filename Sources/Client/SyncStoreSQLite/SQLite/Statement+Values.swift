import SQLiteDatabase
import SyncCore
import SyncModel

// The values of records, as they are stored in columns.
extension Statement {
    func bind(_ index: Int32, _ id: RecordID) {
        id.bits.withBytes { bind(index, blob: UnsafeRawBufferPointer($0)) }
    }

    func bind(_ index: Int32, _ value: FieldValue) {
        switch value {
        case .null: bindNull(index)
        case .boolean(let value): bind(index, Int64(value ? 1 : 0))
        case .integer(let value): bind(index, value)
        case .real(let value): bind(index, real: value)
        case .text(let value), .json(let value): bind(index, value)
        case .reference(let id): bind(index, id)
        }
    }

    /// Returns a number of things or bytes.
    ///
    /// - Parameter name: the name of the number in the error.
    /// - Throws: `corrupt` for a number that no database reaches, with which sums could overflow.
    func count(_ column: Int32, _ name: @autoclosure () -> String) throws(StoreError) -> Int64 {
        let count = integer(column)
        guard (0...StoreLimits.largestCount).contains(count) else {
            throw StoreError(.corrupt, "\(name()) is \(count); expected 0 to \(StoreLimits.largestCount)")
        }
        return count
    }

    /// Returns the record id in a column of 16 bytes.
    func recordID(_ column: Int32) throws(StoreError) -> RecordID {
        guard let bits = withBytes(column, { Identifier128(bytes: $0) }) else {
            throw StoreError(.corrupt, "a record id in the database is not 16 bytes long")
        }
        return RecordID(bits: bits)
    }
}
