import Synchronization

/// Rows of a snapshot in their encoded form, with the records that they stand for.
///
/// A server sends most rows without looking at their values. The records are made when they are first needed. It can be
/// used from any thread.
package final class EncodedRows: Sendable {
    /// The encoded rows, with the names of their collection and columns.
    package let bytes: [UInt8]
    /// The number of the rows.
    package let count: Int
    /// The id of the last record; nil if there are no rows.
    package let lastRecord: RecordID?
    private let decode: @Sendable ([UInt8]) -> [Record]
    private let made = AtomicLazyReference<Records>()

    private final class Records: Sendable {
        let records: [Record]

        init(_ records: [Record]) {
            self.records = records
        }
    }

    /// - Parameter decode: Makes the records of the bytes.
    package init(
        _ bytes: [UInt8], count: Int, lastRecord: RecordID?, decode: @escaping @Sendable ([UInt8]) -> [Record]
    ) {
        self.bytes = bytes
        self.count = count
        self.lastRecord = lastRecord
        self.decode = decode
    }

    /// The records with ids in increasing order.
    var records: [Record] {
        if let made = made.load() { return made.records }
        return made.storeIfNil(Records(decode(bytes))).records
    }
}
