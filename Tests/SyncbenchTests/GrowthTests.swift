import Testing

@testable import syncbench

/// The exponent distinguishes a cost that grows with the number of records from one that does not.
@Suite struct GrowthTests {
    @Test(arguments: [0.0, 0.5, 1, 2])
    func `the exponent of a power law is found`(exponent: Double) throws {
        let growth = growth([1, 10, 100].map { ($0, 3 * power($0, exponent)) })
        #expect(abs(try #require(Growth.exponent(of: growth.points)) - exponent) < 1e-9)
    }

    @Test func `noise around a constant has an exponent near zero`() throws {
        let growth = growth([(1_000, 10), (10_000, 11), (100_000, 9.5)])
        #expect(abs(try #require(Growth.exponent(of: growth.points))) < 0.05)
    }

    @Test func `one size has no exponent`() {
        #expect(growth([(1_000, 10)]).exponents.isEmpty)
        #expect(growth([(1_000, 10), (1_000, 12)]).exponents.isEmpty)
        #expect(growth([]).exponents.isEmpty)
    }

    @Test func `figures of several runs are joined by row and name`() {
        func figure(
            _ row: BenchmarkRow, _ unit: String, _ ours: Double, _ size: String, basis: Double? = nil
        ) -> Figure {
            Figure(row: row, name: "work", size: size, unit: unit, ours: ours, basis: basis)
        }
        let growths = Growth.of([
            (
                1_000,
                [
                    figure(.write, "writes/cpu-s", 1_000, "small"), figure(.write, "writes/s", 900, "small"),
                    figure(.start, "ms", 2, "small"),
                ]
            ),
            (
                10_000,
                [figure(.write, "writes/cpu-s", 500, "large", basis: 4_000), figure(.memory, "MiB", 40, "large")]
            ),
        ])
        #expect(growths.map(\.row) == [.write, .write, .start])
        #expect(
            growths.first?.points == [
                Growth.Point(records: 1_000, microseconds: 1_000), Growth.Point(records: 10_000, microseconds: 2_000),
            ])
        #expect(growths.first?.basis == [Growth.Point(records: 10_000, microseconds: 250)])
        #expect(growths.last?.points == [Growth.Point(records: 1_000, microseconds: 2_000)])
    }

    @Test func `the plot names each row with its exponent, and escapes names`() {
        var growth = growth([(1_000, 10), (10_000, 100)])
        growth = Growth(row: .write, name: "a < b & c", unit: "writes/s", points: growth.points)
        let svg = GrowthPlot(growths: [growth], title: "costs").svg
        #expect(svg.contains("P3  n^1.00"))
        #expect(svg.contains("a &lt; b &amp; c"))
        #expect(svg.hasSuffix("</svg>\n"))
    }

    private func growth(_ points: [(Double, Double)]) -> Growth {
        Growth(
            row: .write, name: "work", unit: "writes/cpu-s",
            points: points.map { Growth.Point(records: $0.0, microseconds: $0.1) })
    }

    /// The power of a base for the exponents that the tests use.
    private func power(_ base: Double, _ exponent: Double) -> Double {
        switch exponent {
        case 0: 1
        case 0.5: base.squareRoot()
        case 1: base
        default: base * base
        }
    }
}
