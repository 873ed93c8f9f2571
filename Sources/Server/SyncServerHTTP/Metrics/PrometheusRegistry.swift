package import CoreMetrics
import SyncConcurrency

/// A backend of swift-metrics that keeps all metrics in memory and writes them in the text format of Prometheus.
///
/// Characters that Prometheus does not allow in a name are replaced by `_`. The number of series is bounded, because a
/// label with a new value for each request would otherwise fill the memory: each request for a further series is
/// counted as dropped, and the series is not shown. Source: the format 0.0.4 at
/// https://prometheus.io/docs/instrumenting/exposition_formats/
package final class PrometheusRegistry: MetricsFactory {
    private struct Family {
        let kind: MetricKind
        var help: String?
        /// The series by their labels, as they are written: `{route="/v1/pull"}`, or empty.
        var series: [String: MetricSeries] = [:]
    }

    /// A metric whose value is read when the text is written.
    private struct Reading {
        let name: String
        let kind: MetricKind
        let help: String
        let value: @Sendable () async -> Double?
    }

    private struct State {
        var families: [String: Family] = [:]
        var readings: [Reading] = []
        var seriesCount = 0
        var dropped = 0
    }

    private let maximumSeries: Int
    private let state = Guarded(State())

    /// Creates an empty registry.
    package init(maximumSeries: Int = 10_000) {
        self.maximumSeries = maximumSeries
    }

    // MARK: Registering

    /// Sets the description of a metric.
    package func describe(_ name: String, _ kind: MetricKind, _ help: String) {
        let name = Self.name(name)
        state.withLock { $0.families[name, default: Family(kind: kind)].help = help }
    }

    /// Adds a metric without labels whose value is read each time the text is written.
    ///
    /// - Parameter value: returns the value; nil leaves the metric out.
    package func read(
        _ name: String, _ kind: MetricKind, _ help: String, _ value: @escaping @Sendable () async -> Double?
    ) {
        state.withLock { $0.readings.append(Reading(name: name, kind: kind, help: help, value: value)) }
    }

    /// Returns the series of a metric with these labels, and creates it if it is new.
    ///
    /// A metric keeps its first kind. A series of another kind, or beyond the maximum, is not shown.
    private func series(_ label: String, _ dimensions: [(String, String)], _ kind: MetricKind) -> MetricSeries {
        let name = Self.name(label)
        let labels = Self.labels(dimensions)
        return state.withLock { state in
            var family = state.families[name] ?? Family(kind: kind)
            if family.kind == kind, let known = family.series[labels] { return known }
            let series = MetricSeries(kind)
            guard family.kind == kind, state.seriesCount < maximumSeries else {
                state.dropped += 1
                return series
            }
            family.series[labels] = series
            state.families[name] = family
            state.seriesCount += 1
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in
            for (name, family) in state.families {
                guard let labels = family.series.first(where: { $0.value === handler })?.key else { continue }
                state.families[name]?.series[labels] = nil
                state.seriesCount -= 1
                return
            }
        }
    }

    // MARK: swift-metrics

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter)
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge)
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        series(label, dimensions, aggregate ? .summary : .gauge)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, .histogram)
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    // MARK: Text

    /// Returns all metrics as text: the series sorted by name and labels, then the readings in the order in which they
    /// were added.
    package func text() async -> String {
        let state = state.withLock { $0 }
        var text = ""
        for (name, family) in state.families.sorted(by: { $0.key < $1.key }) where !family.series.isEmpty {
            text += Self.head(of: name, family.kind, family.help)
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                text += Self.lines(of: name, labels, family.kind, series.value)
            }
        }
        for reading in state.readings {
            guard let value = await reading.value() else { continue }
            text += Self.head(of: reading.name, reading.kind, reading.help)
            text += "\(reading.name) \(Self.number(value))\n"
        }
        if state.dropped > 0 {
            text += Self.head(of: "metrics_series_dropped_total", .counter, "Requests for series that are not shown.")
            text += "metrics_series_dropped_total \(state.dropped)\n"
        }
        return text
    }

    private static func head(of name: String, _ kind: MetricKind, _ help: String?) -> String {
        let help = help.map { "# HELP \(name) \(escaped($0, quotes: false))\n" } ?? ""
        return help + "# TYPE \(name) \(kind.rawValue)\n"
    }

    private static func lines(
        of name: String, _ labels: String, _ kind: MetricKind, _ value: MetricSeries.Value
    ) -> String {
        switch kind {
        case .counter, .gauge: return "\(name)\(labels) \(number(value.sum))\n"
        case .histogram, .summary:
            var text = ""
            var total = 0
            for (bound, count) in zip(kind.bounds, value.buckets) {
                total += count
                text += "\(name)_bucket\(self.labels(labels, bound: number(bound))) \(total)\n"
            }
            if kind == .histogram {
                text += "\(name)_bucket\(self.labels(labels, bound: "+Inf")) \(value.count)\n"
            }
            return text + "\(name)_sum\(labels) \(number(value.sum))\n\(name)_count\(labels) \(value.count)\n"
        }
    }

    /// Adds the upper bound of a bucket to labels.
    private static func labels(_ labels: String, bound: String) -> String {
        labels.isEmpty ? "{le=\"\(bound)\"}" : labels.dropLast() + ",le=\"\(bound)\"}"
    }

    private static func labels(_ dimensions: [(String, String)]) -> String {
        guard !dimensions.isEmpty else { return "" }
        let pairs = dimensions.map { "\(name($0.0, permitting: "_"))=\"\(escaped($0.1, quotes: true))\"" }
        return "{" + pairs.joined(separator: ",") + "}"
    }

    /// Returns the text with `_` in place of each character that is neither a letter, nor a digit, nor in `others`.
    private static func name(_ text: String, permitting others: String = "_:") -> String {
        let characters = text.map { character in
            character.isASCII && (character.isLetter || character.isNumber || others.contains(character))
                ? character : "_"
        }
        let name = String(characters)
        return name.first?.isNumber != false ? "_" + name : name
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        // By scalars: one `Character` may be a line feed with what is before it, or a quote with an accent.
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\"" where quotes: escaped.append(contentsOf: "\\\"".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    private static func number(_ value: Double) -> String {
        if let whole = Int64(exactly: value) { return "\(whole)" }
        if value.isNaN { return "NaN" }
        return value.isInfinite ? (value > 0 ? "+Inf" : "-Inf") : "\(value)"
    }
}
