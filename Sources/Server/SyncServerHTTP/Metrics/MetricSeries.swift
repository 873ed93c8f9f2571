import CoreMetrics
import SyncConcurrency

/// One series of a metric: its current value, or its distribution.
///
/// The class handles every kind of metric, because all of them are a number that changes. The registry uses each series
/// for one kind only.
final class MetricSeries: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    /// The value of a series at one time.
    struct Value: Hashable, Sendable {
        /// The value of a counter or gauge, or the sum of a distribution.
        var sum = 0.0
        /// The number of observations of a distribution.
        var count = 0
        /// For each upper bound of a histogram, the number of observations above the previous bound and up to this one.
        var buckets: [Int]
    }

    private let kind: MetricKind
    private let state: Guarded<Value>

    init(_ kind: MetricKind) {
        self.kind = kind
        state = Guarded(Value(buckets: Array(repeating: 0, count: kind.bounds.count)))
    }

    var value: Value { state.withLock { $0 } }

    // MARK: Counters and gauges

    func increment(by amount: Int64) { increment(by: Double(amount)) }

    func increment(by amount: Double) { state.withLock { $0.sum += amount } }

    func decrement(by amount: Double) { increment(by: -amount) }

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { state.withLock { $0.sum = value } }

    func reset() { state.withLock { $0 = Value(buckets: Array(repeating: 0, count: kind.bounds.count)) } }

    // MARK: Distributions

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard kind != .gauge else { return set(value) }
        state.withLock { state in
            state.sum += value
            state.count += 1
            if let index = kind.bounds.firstIndex(where: { value <= $0 }) { state.buckets[index] += 1 }
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}

/// The kinds of metrics in the text format of Prometheus.
package enum MetricKind: String, Hashable, Sendable {
    /// A number that only grows while the process runs.
    case counter
    /// A number that rises and falls.
    case gauge
    /// Durations in seconds, counted by size.
    case histogram
    /// The count and the sum of observed values.
    case summary

    /// The upper bounds of the buckets of a histogram, in seconds.
    var bounds: [Double] {
        self == .histogram ? [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] : []
    }
}
