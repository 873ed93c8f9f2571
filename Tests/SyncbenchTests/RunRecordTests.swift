import BenchmarkUsers
import Foundation
import Testing

@testable import syncbench

/// The gate compares the ratios of two runs, and nothing else.
@Suite struct RunRecordTests {
    @Test func `a ratio that falls by more than a tenth is named`() {
        let earlier = record([figure(.write, "write", 0.5), figure(.read, "read", 0.8)])
        let later = record([figure(.write, "write", 0.44), figure(.read, "read", 0.79)])
        #expect(later.falls(since: earlier) == ["P3 write 1,000 users writes/cpu-s: 0.440 is 12 % below 0.500"])
    }

    @Test func `a fall of a tenth, and any rise, pass`() {
        let earlier = record([figure(.write, "write", 0.5), figure(.read, "read", 0.8)])
        let later = record([figure(.write, "write", 0.45), figure(.read, "read", 4)])
        #expect(later.falls(since: earlier).isEmpty)
        #expect(later.comparable(with: earlier) == 2)
    }

    @Test func `absolute figures are not compared`() {
        let earlier = record([figure(.memory, "memory", nil, ours: 40)])
        let later = record([figure(.memory, "memory", nil, ours: 400)])
        #expect(later.falls(since: earlier).isEmpty)
        #expect(later.comparable(with: earlier) == 0)
    }

    @Test func `figures of another size, or of one run only, are not compared`() {
        let earlier = record([figure(.write, "write", 0.5), figure(.read, "read", 0.8), figure(.list, "list", 1)])
        let later = record([figure(.write, "write", 0.1, size: "10 users"), figure(.read, "read", 0.8)])
        #expect(later.falls(since: earlier).isEmpty)
        #expect(later.comparable(with: earlier) == 1)
    }

    @Test func `ratios of wall-clock times are not compared`() {
        let earlier = record([figure(.push, "push", 0.5, unit: "pushes/s"), figure(.start, "start", 0.5, unit: "ms")])
        let later = record([figure(.push, "push", 0.1, unit: "pushes/s"), figure(.start, "start", 0.1, unit: "ms")])
        #expect(later.falls(since: earlier).isEmpty)
        #expect(later.comparable(with: earlier) == 0)
    }

    @Test func `a record survives its file`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "record-\(getpid()).json").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let written = record([figure(.write, "write", 0.5), figure(.memory, "memory", nil)])
        try written.write(to: file)
        #expect(try RunRecord(file: file) == written)
    }

    @Test func `a file that is not a record is named`() {
        #expect(throws: BenchmarkError.self) { try RunRecord(file: "/nowhere/record.json") }
    }

    @Test func `a line begins with the row and the ratio`() {
        let line = figure(.write, "write", 0.25, ours: 9_500).line
        #expect(line == "P3 0.25 write, 1,000 users (9,500 against 38,000 writes/cpu-s)")
    }

    @Test func `without a basis, a line begins with the row and the value`() {
        let line = figure(.memory, "peak memory", nil, ours: 45.5).line
        #expect(line == "P2 45.50 writes/cpu-s: peak memory, 1,000 users; no basis")
    }

    @Test func `quantiles lie between the values`() {
        #expect([3.0, 1, 2].median == 2)
        #expect([4.0, 1, 2, 3].median == 2.5)
        #expect([1.0, 2, 3, 4, 5].quantile(0.99) == 4.96)
        #expect([Double]().median.isNaN)
    }

    private func figure(
        _ row: BenchmarkRow, _ name: String, _ ratio: Double?, ours: Double = 100, size: String = "1,000 users",
        unit: String = "writes/cpu-s"
    ) -> Figure {
        Figure(
            row: row, name: name, size: size, unit: unit, ours: ours, basis: ratio.map { ours / $0 },
            ratio: ratio)
    }

    private func record(_ figures: [Figure]) -> RunRecord {
        RunRecord(at: "2026-11-26T12:00:00Z", machine: "two cores", rows: 100_000, rounds: 5, figures: figures)
    }
}
