import SyncAuthority
import SyncCore
import SyncModel
import SyncTransportHTTP
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.test)) struct MetricsServerTests {
    private static let authorized = "Authorization: Bearer \(TestServer.good)"

    @Test func `requests, bytes, and transactions are counted by route, status, and outcome`() async throws {
        let registry = PrometheusRegistry()
        let text = try await TestServer.run(TestServer.authority(), metrics: registry) { port in
            for _ in 0..<2 {
                _ = try await RawRequest.send([RawRequest.http("GET /v1/hello", [Self.authorized])], to: port)
            }
            _ = try await RawRequest.send([RawRequest.http("GET /v1/hello")], to: port)
            _ = try await RawRequest.send([RawRequest.http("GET /v1/secret-\(TestServer.bad)")], to: port)
            let transport = HTTPTransportConfiguration(baseURL: "http://127.0.0.1:\(port)")
            _ = try await TestServer.withTransport(transport) { try await $0.push(TestServer.push()) }
            return await registry.text()
        }
        let lines = Set(text.split(separator: "\n").map(String.init))
        for line in [
            "tombolo_http_requests_total{route=\"/v1/hello\",status=\"200\"} 2",
            "tombolo_http_requests_total{route=\"/v1/hello\",status=\"401\"} 1",
            "tombolo_http_requests_total{route=\"no route\",status=\"401\"} 1",
            "tombolo_http_requests_total{route=\"/v1/push\",status=\"200\"} 1",
            "tombolo_http_request_duration_seconds_count{route=\"/v1/hello\"} 3",
            "tombolo_transactions_total{outcome=\"applied\"} 1",
            "tombolo_event_streams 0", "tombolo_store_up 1",
        ] { #expect(lines.contains(line), "\(line) in \(text)") }
        #expect(!text.contains("secret"))
    }

    @Test func `the metrics are served at one route, and nothing else is`() async throws {
        let registry = PrometheusRegistry()
        ProcessMetrics.add(to: registry)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let server = MetricsServer(host: "127.0.0.1", port: 0, registry: registry, logger: TestServer.quiet) {
            port.yield($0)
        }
        let responses = try await withThrowingTaskGroup(of: [String]?.self) { group in
            group.addTask {
                try await server.run()
                return nil
            }
            group.addTask {
                var responses: [String] = []
                for await port in ports {
                    for line in ["GET /metrics", "GET /", "GET /metrics?a", "HEAD /metrics", "POST /metrics"] {
                        responses.append(try await RawRequest.send([RawRequest.http(line)], to: port))
                    }
                    break
                }
                return responses
            }
            var found: [String] = []
            while let result = try await group.next() {
                guard let result else { continue }
                found = result
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
            return found
        }
        try #require(responses.count == 5)
        #expect(responses[0].hasPrefix("HTTP/1.1 200 OK") && responses[0].contains("text/plain; version=0.0.4"))
        for name in [
            "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_cpu_seconds_total",
            "process_open_fds", "process_max_fds",
        ] {
            let value = responses[0].split(separator: "\n").first { $0.hasPrefix(name + " ") }?.split(separator: " ")
                .last
            #expect(value.flatMap { Double($0) }.map { $0 > 0 } == true, "\(name) in \(responses[0])")
        }
        for response in responses.dropFirst() { #expect(response.hasPrefix("HTTP/1.1 404"), "\(response)") }
    }
}
