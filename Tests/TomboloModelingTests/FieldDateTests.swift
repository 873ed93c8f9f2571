import SyncModel
import Testing

@testable import TomboloModeling

/// The text of dates in fields.
@Suite struct FieldDateTests {
    private let due = FieldSchema.integer("due").holdingDates()

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:01Z", 1_000_000), ("1969-12-31T23:59:59.999999Z", -1),
            ("2026-12-01T10:00:00.5Z", 1_796_119_200_500_000), ("2026-12-01T10:00:00.000001Z", 1_796_119_200_000_001),
            ("1583-01-01T00:00:00Z", -12_212_553_600_000_000), ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
            ("2024-02-29T12:34:56Z", 1_709_210_096_000_000),
        ] as [(String, Int64)])
    func `a date and its text are the same value`(text: String, microseconds: Int64) {
        #expect(due.dateText(.integer(microseconds)) == text)
        #expect(due.date(text) == .integer(microseconds))
    }

    @Test(
        arguments: [
            ("2026-12-01", 1_796_083_200_000_000), ("2026-12-01 10:00Z", 1_796_119_200_000_000),
            ("2026-12-01t12:00+02:00", 1_796_119_200_000_000), ("2026-12-01T04:30:00-05:30", 1_796_119_200_000_000),
            ("2026-12-02T00:30:00.25+14:30", 1_796_119_200_250_000), ("1796119200000000", 1_796_119_200_000_000),
            ("0", 0), ("2026-12-01T10:00:00.1234569Z", 1_796_119_200_123_456),
        ] as [(String, Int64)])
    func `other forms of a date are read, too`(text: String, microseconds: Int64) {
        #expect(due.date(text) == .integer(microseconds))
    }

    @Test(arguments: [
        "", "today", "2026-13-01", "2026-02-30", "2025-02-29", "26-12-01", "2026-12-1", "2026-12-01T", "2026-12-01T10Z",
        "2026-12-01T10:00", "2026-12-01T24:00Z", "2026-12-01T10:60Z", "2026-12-01T10:00:60Z", "2026-12-01T10:00:00.Z",
        "2026-12-01T10:00:00.123456xZ", "20261201", "2026", "-1", "9999-12-31T23:00:00-12:00", "2026-12-01T10:00Zx",
        "2026-12-01T10:00+2", "2026-12-01T10:00+24:00",
        "2026-12-01T+10:00Z", "2026-12-01T10:00 Z", "12/1/2026", "٢٠٢٦-12-01", "2026-12-01T10:00:00.5.5Z", "1e9",
        "1582-10-15", "0001-01-01",
    ])
    func `a text that is no date is not read`(text: String) {
        #expect(due.date(text) == nil)
    }

    @Test func `a date of a year before 1583 or after 9999 is shown as a number`() {
        for number in [Int64.min, -12_212_553_600_000_001, 253_402_300_800_000_000, .max] {
            #expect(due.dateText(.integer(number)) == nil)
            #expect(due.date("\(number)") == .integer(number))
        }
    }

    @Test func `only a field with dates has a text of dates`() {
        #expect(FieldSchema.integer("count").dateText(.integer(0)) == nil)
        #expect(FieldSchema.integer("count").date("2026-12-01") == nil)
        #expect(due.dateText(.null) == nil && due.dateText(.text("2026-12-01")) == nil)
    }

    @Test func `dates throughout the range come back`() throws {
        // The step is a prime number, so that the times have all digits.
        for number in stride(from: -12_212_553_600_000_000, through: 253_402_300_799_999_999, by: 265_614_854_400_017) {
            let text = try #require(due.dateText(.integer(Int64(number))))
            #expect(due.date(text) == .integer(Int64(number)), "\(number)")
        }
    }
}
