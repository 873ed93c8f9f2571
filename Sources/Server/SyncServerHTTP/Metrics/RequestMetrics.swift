import CoreMetrics
import SyncModel

/// The metrics of the HTTP server, with their names.
struct RequestMetrics: Sendable {
    private let registry: PrometheusRegistry

    init(_ registry: PrometheusRegistry) {
        self.registry = registry
        registry.describe(Name.requests, .counter, "Responses by route and status.")
        registry.describe(Name.duration, .histogram, "Time from a request's head to its response, by route.")
        registry.describe(Name.received, .counter, "Bytes of request bodies, by route.")
        registry.describe(Name.sent, .counter, "Bytes of response bodies, by route. Event streams are not counted.")
        registry.describe(Name.transactions, .counter, "Pushed transactions by outcome. A repeated one counts again.")
    }

    private enum Name {
        static let requests = "tombolo_http_requests_total"
        static let duration = "tombolo_http_request_duration_seconds"
        static let received = "tombolo_http_request_body_bytes_total"
        static let sent = "tombolo_http_response_body_bytes_total"
        static let transactions = "tombolo_transactions_total"
    }

    /// Counts a response, and the time since the head of its request. An event stream counts when it begins.
    func responded(to route: Route, _ status: Int, after time: Duration) {
        let route = ("route", route.description)
        registry.makeCounter(label: Name.requests, dimensions: [route, ("status", "\(status)")]).increment(by: 1)
        registry.makeTimer(label: Name.duration, dimensions: [route]).recordNanoseconds(Int64(time / .nanoseconds(1)))
    }

    /// Counts the bytes of the bodies of a call.
    func transferred(_ route: Route, received: Int, sent: Int) {
        let route = ("route", route.description)
        registry.makeCounter(label: Name.received, dimensions: [route]).increment(by: Int64(received))
        registry.makeCounter(label: Name.sent, dimensions: [route]).increment(by: Int64(sent))
    }

    /// Counts the outcomes of a push.
    func decided(_ push: PushResponse) {
        guard case .answered(let results, _, _) = push else { return }
        for result in results {
            let outcome = if case .applied = result.outcome { "applied" } else { "rejected" }
            registry.makeCounter(label: Name.transactions, dimensions: [("outcome", outcome)]).increment(by: 1)
        }
    }
}
