import Foundation

/// A page of small log-log charts as SVG, one for each figure.
struct GrowthPlot {
    let growths: [Growth]
    let title: String

    private static let columns = 3
    private static let width = 380.0
    private static let height = 250.0
    private static let top = 60.0
    private static let blue = "#0b62a8"
    private static let gray = "#555555"
    /// The part of a chart that has the curve; its labels are around it.
    private static let area = (left: 56.0, top: 44.0, right: 366.0, bottom: 214.0)

    var svg: String {
        let rows = (growths.count + Self.columns - 1) / Self.columns
        let size = (width: Self.width * Double(Self.columns), height: Self.top + Self.height * Double(rows))
        var lines = [
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(Int(size.width)) \#(Int(size.height))""#
                + #" font-family="sans-serif" font-size="11">"#,
            #"<rect width="100%" height="100%" fill="white"/>"#,
            Self.text(16, 26, title, size: 15),
            Self.text(
                16, 46,
                "Cost of one unit by the number n of records that exist, both logarithmic, with the fitted power law. "
                    + "Blue: the engine. Gray: the basis.",
                color: Self.gray),
        ]
        for (index, growth) in growths.enumerated() {
            let x = Self.width * Double(index % Self.columns)
            let y = Self.top + Self.height * Double(index / Self.columns)
            lines.append(#"<g transform="translate(\#(Int(x)) \#(Int(y)))">"#)
            lines += chart(of: growth)
            lines.append("</g>")
        }
        lines.append("</svg>")
        return lines.joined(separator: "\n") + "\n"
    }

    private func chart(of growth: Growth) -> [String] {
        let area = Self.area
        var lines = [
            Self.text(16, 18, "\(growth.row.rawValue)  \(growth.exponents)  (\(growth.unit))", size: 13),
            Self.text(16, 34, growth.name.count > 64 ? growth.name.prefix(63) + "…" : growth.name, color: Self.gray),
        ]
        let x = Scale(growth.points.map(\.records), from: area.left, to: area.right)
        // At least a decade on either side of the middle, so that noise does not look like growth.
        let y = Scale((growth.points + growth.basis).map(\.microseconds), from: area.bottom, to: area.top, decades: 2)
        for power in x.powers {
            let place = x.place(pow(10, Double(power)))
            lines.append(Self.line(place, area.top, place, area.bottom))
            lines.append(Self.text(place - 8, area.bottom + 16, "10^\(power)"))
        }
        for power in y.powers {
            let place = y.place(pow(10, Double(power)))
            lines.append(Self.line(area.left, place, area.right, place))
            lines.append(Self.text(8, place + 4, Self.duration(pow(10, Double(power)))))
        }
        lines.append(Self.curve(growth.basis, x, y, color: Self.gray))
        lines.append(Self.curve(growth.points, x, y, color: Self.blue))
        for point in growth.points {
            let place = (x.place(point.records), y.place(point.microseconds))
            lines.append(#"<circle cx="\#(Int(place.0))" cy="\#(Int(place.1))" r="3" fill="\#(Self.blue)"/>"#)
            let left = min(place.0, area.right - 30)
            lines.append(Self.text(left, place.1 - 8, Self.duration(point.microseconds)))
        }
        return lines
    }

    private static func curve(_ points: [Growth.Point], _ x: Scale, _ y: Scale, color: String) -> String {
        let path = points.map { String(format: "%.1f,%.1f", x.place($0.records), y.place($0.microseconds)) }
        return #"<polyline points="\#(path.joined(separator: " "))" fill="none" stroke="\#(color)" stroke-width="2"/>"#
    }

    private static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
        #"<line x1="\#(Int(x1))" y1="\#(Int(y1))" x2="\#(Int(x2))" y2="\#(Int(y2))" stroke="lightgray"/>"#
    }

    private static func text(
        _ x: Double, _ y: Double, _ text: some StringProtocol, size: Int = 11, color: String = "black"
    ) -> String {
        let escaped = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        return #"<text x="\#(Int(x))" y="\#(Int(y))" font-size="\#(size)" fill="\#(color)">\#(escaped)</text>"#
    }

    /// Returns a duration in the unit that fits it.
    static func duration(_ microseconds: Double) -> String {
        switch microseconds {
        case ..<1: String(format: "%.3g ns", microseconds * 1_000)
        case ..<1_000: String(format: "%.3g µs", microseconds)
        case ..<1_000_000: String(format: "%.3g ms", microseconds / 1_000)
        default: String(format: "%.3g s", microseconds / 1_000_000)
        }
    }

    /// A logarithmic axis.
    private struct Scale {
        private let low: Double
        private let high: Double
        private let from: Double
        private let to: Double

        init(_ values: [Double], from: Double, to: Double, decades: Double = 1) {
            let logs = values.map { log10($0) }
            let (low, high) = (logs.min() ?? 0, logs.max() ?? 1)
            let missing = max(0, decades - (high - low)) / 2
            self.low = low - missing
            self.high = high + missing
            self.from = from
            self.to = to
        }

        /// The powers of ten on the axis.
        var powers: ClosedRange<Int> {
            let first = Int((low - 1e-9).rounded(.up))
            return first...max(first, Int((high + 1e-9).rounded(.down)))
        }

        func place(_ value: Double) -> Double {
            from + (log10(value) - low) / (high - low) * (to - from)
        }
    }
}
