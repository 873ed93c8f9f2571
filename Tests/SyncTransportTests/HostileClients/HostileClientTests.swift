import Logging
import NIOCore
import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncWire
import TestRings
import Testing

@testable import SyncServerHTTP

/// Requests of a hostile client on raw sockets. The number in each test name refers to the list of attacks in the
/// documentation's page on security.
@Suite(.ring(.test)) struct HostileClientTests {
    private static let authorized = "Authorization: Bearer \(TestServer.good)"
    private static let json = "Content-Type: application/json"

    private static func post(_ route: String, _ body: String) -> String {
        RawRequest.http("POST \(route)", [authorized, json, "Content-Length: \(body.utf8.count)"], body)
    }

    /// Sends each request to one server on a separate connection, and returns the responses.
    private static func answers(
        to requests: [String],
        authenticator: any Authenticator = OneToken(token: TestServer.good, principal: TestServer.principal),
        logger: Logger = TestServer.quiet
    ) async throws -> [String] {
        try await TestServer.run(TestServer.authority(), authenticator: authenticator, logger: logger) { port in
            var answers: [String] = []
            for request in requests { answers.append(try await RawRequest.send([request], to: port)) }
            return answers
        }
    }

    // MARK: Routes

    @Test func `S4: no spelling of a route and no method bypasses the token`() async throws {
        let routes = ["/v1/hello", "/v1/push", "/v1/pull", "/v1/fetch", "/v1/hints?space=default"]
        let spellings = routes.flatMap { route -> [String] in
            let plain = [
                route, route + "/", "/" + route, route + ";x", route + "%00", route + "%20", route + "?", route + "#x",
                route.uppercased(), "http://localhost" + route, "/healthz/.." + route, "/healthz" + route,
                "/v1/openapi/.." + route, "\\v1" + route.dropFirst(3), route.replacing("/", with: "\\"),
            ]
            return plain
                + ["/v1//", "/v1/./", "/v1/../v1/", "/%76%31/", "/v1%2f"].map { route.replacing("/v1/", with: $0) }
        }
        let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"]
        let paths: [String] = spellings + ["*", "/", "//", "/."]
        let lines: [String] = paths.flatMap { path in methods.map { "\($0) \(path)" } }
        #expect(lines.count > 900)
        let answers = try await TestServer.run(TestServer.authority()) { port in
            try await withThrowingTaskGroup(of: [(String, String)].self) { group in
                for part in 0..<8 {
                    group.addTask {
                        var answers: [(String, String)] = []
                        for (index, line) in lines.enumerated() where index % 8 == part {
                            let request = RawRequest.http(line, ["Content-Length: 0"])
                            answers.append((line, RawRequest.status(try await RawRequest.send([request], to: port))))
                        }
                        return answers
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        #expect(answers.count == lines.count)
        for (line, status) in answers {
            #expect(status == "401" || status == "400", "\(line) was answered with \(status)")
        }
    }

    @Test func `S9: the server has no routes for operators, even with a user's token`() async throws {
        let paths = [
            "/admin", "/metrics", "/debug", "/v1/admin", "/v1/epoch", "/v1/tokens", "/_all_dbs", "/.env", "/v2/hello",
        ]
        let requests = paths.flatMap { path in
            ["GET", "POST"].map { RawRequest.http("\($0) \(path)", [Self.authorized, "Content-Length: 0"]) }
        }
        for response in try await Self.answers(to: requests) { #expect(RawRequest.status(response) == "404") }
    }

    @Test func `S33: the server never responds with a redirect`() async throws {
        let requests = ["/v1/hello", "/v1/hello/", "/", "/v1", "/healthz/"].map {
            RawRequest.http("GET \($0)", [Self.authorized])
        }
        for response in try await Self.answers(to: requests) {
            #expect(!RawRequest.status(response).hasPrefix("3"))
            #expect(!response.lowercased().contains("location:"))
        }
    }

    @Test func `S37: a web page of another origin can neither read a response nor pass a preflight`() async throws {
        let fields = ["Origin: https://evil.example", "Cookie: token=\(TestServer.good)"]
        let asks = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization"]
        let requests =
            ["/v1/hello", "/v1/push", "/healthz", "/v1/openapi"].flatMap { path in
                [
                    RawRequest.http("OPTIONS \(path)", fields + asks),
                    RawRequest.http("OPTIONS \(path)", fields + asks + [Self.authorized]),
                    RawRequest.http("GET \(path)", fields),
                ]
            }
        let answers = try await Self.answers(to: requests)
        for (request, response) in zip(requests, answers) {
            #expect(!response.lowercased().contains("access-control-"), "\(request): \(response)")
            if request.hasPrefix("OPTIONS") {
                #expect(["401", "404", "405"].contains(RawRequest.status(response)), "\(request)")
            }
        }
        // A cookie is not accepted as a token.
        #expect(RawRequest.status(answers[2]) == "401")
    }

    // MARK: Tokens

    @Test func `S27: only the token identifies the sender`() async throws {
        let claims = [
            "X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1", "X-User: ann",
            "X-Forwarded-User: ann", "Remote-User: ann", "X-Original-URL: /healthz", "X-Rewrite-URL: /healthz",
            "X-HTTP-Method-Override: GET", "Proxy-Authorization: Bearer \(TestServer.good)",
            "Sec-WebSocket-Protocol: \(TestServer.good)",
        ]
        let requests = claims.map { RawRequest.http("GET /v1/hello", [$0]) }
        for response in try await Self.answers(to: requests) { #expect(RawRequest.status(response) == "401") }
        let inQuery = RawRequest.http("GET /v1/hello?access_token=\(TestServer.good)&token=\(TestServer.good)")
        #expect(RawRequest.status(try await Self.answers(to: [inQuery])[0]) == "401")
    }

    @Test func `S31: no secret or value from a request appears in the log or in an error`() async throws {
        let canary = "canary-7f3a91c2"
        let lines = Guarded<[String]>([])
        var logger = Logger(label: "canary") { _ in RecordingLogHandler { line in lines.withLock { $0.append(line) } } }
        logger.logLevel = .trace
        let bearer = "Authorization: Bearer \(canary)"
        let body = #"{"space":"default","limit":1,"cursor":"\#(canary)","more":"\#(canary)"}"#
        let long = String(repeating: canary, count: 2_000)
        let requests = [
            RawRequest.http("GET /v1/hello", [bearer]), RawRequest.http("GET /v1/hello", ["Authorization: \(canary)"]),
            RawRequest.http("GET /v1/hello", [bearer, bearer]),
            RawRequest.http("GET /\(canary)?token=\(canary)", [bearer, "Cookie: \(canary)", "X-\(canary): \(canary)"]),
            RawRequest.http("POST /v1/pull", [bearer, Self.json, "Content-Length: \(body.utf8.count)"], body),
            RawRequest.http("GET /v1/hello", ["Authorization: Bearer \(long)"]),
            "\(canary) \(canary) \(canary)\r\n\r\n", "GET /\(canary) HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: \(canary)/\r\n\r\n",
            "POST /v1/push HTTP/1.1\r\nHost: a\r\nContent-Length: \(canary)\r\n\r\n",
        ]
        // The canary is a valid token for the first server and an invalid one for the second.
        for isGood in [true, false] {
            let token = isGood ? canary : "another"
            let answers = try await Self.answers(
                to: requests, authenticator: OneToken(token: token, principal: TestServer.principal), logger: logger)
            for (request, response) in zip(requests, answers) {
                #expect(!response.contains(canary), "\(request.prefix(40)): \(response)")
            }
        }
        let seen = lines.withLock { $0 }
        #expect(!seen.isEmpty)
        for line in seen { #expect(!line.contains(canary), "\(line)") }
    }

    @Test func `S32: no response contains bytes of requests of another account`() async throws {
        let canary = "canary-5e11d0c4"
        // Bodies of many sizes leave the canary in buffers of all sizes, and in values that were decoded and freed.
        let secrets = [1, 10, 100, 1_000, 10_000].flatMap { count in
            let text = Array(repeating: canary, count: count).joined(separator: " ")
            return [
                Self.post("/v1/fetch", #"{"space":"default","collection":"notes","id":"\#(text)"}"#),
                Self.post("/v1/pull", #"{"space":"default","cursor":"\#(text)","limit":5}"#),
                Self.post("/v1/push", "[\"\(text)\"]"), RawRequest.http("GET /\(canary)", [Self.authorized]),
            ]
        }
        let other = "Authorization: Bearer \(TwoTokens.ben)"
        let questions = [
            RawRequest.http("GET /healthz"), RawRequest.http("GET /v1/openapi"),
            RawRequest.http("GET /v1/hello", [other]),
            RawRequest.http("GET /v1/hello"), RawRequest.http("GET /none", [other]),
            RawRequest.http(
                "POST /v1/pull", [other, Self.json, "Content-Length: 29"], #"{"space":"default","limit":5}"#),
            RawRequest.http("POST /v1/pull", [other, Self.json, "Content-Length: 1"], "{"),
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ]
        let requests = (0..<3).flatMap { _ in secrets.flatMap { [$0] + questions } }
        let answers = try await Self.answers(to: requests, authenticator: TwoTokens())
        for (request, response) in zip(requests, answers) where !request.contains(canary) {
            #expect(
                !response.isEmpty && !response.contains(canary) && !response.contains(TestServer.good), "\(response)")
        }
    }

    // MARK: Bodies

    @Test func `S5: a duplicate key is refused at every level of every request`() async throws {
        let requests: [(String, String)] = [
            ("/v1/pull", #"{"space":"default","cursor":"c","limit":5,"account":"ann"}"#),
            ("/v1/fetch", #"{"space":"default","collection":"notes","id":"01935a1b-2c3d-7000-8000-000000000001"}"#),
            ("/v1/push", Self.push),
        ]
        var cases: [(route: String, key: String, body: String)] = []
        for (route, body) in requests {
            for match in body.matches(of: /"([A-Za-z_$]+)":/) {
                let key = String(match.1)
                // The duplicate comes before the original key, so a parser that takes the last one would accept the
                // request.
                for value in ["null", "0", "\"x\"", "{}"] {
                    var doubled = body
                    doubled.insert(contentsOf: "\"\(key)\":\(value),", at: match.range.lowerBound)
                    cases.append((route, key, doubled))
                }
                var escaped = body
                let first = key.unicodeScalars.first.map { String($0.value, radix: 16) } ?? ""
                let spelled = "\\u" + String(repeating: "0", count: 4 - first.count) + first + key.dropFirst()
                escaped.insert(contentsOf: "\"\(spelled)\":null,", at: match.range.lowerBound)
                cases.append((route, "\(key), spelled otherwise", escaped))
            }
        }
        #expect(cases.count > 80)
        let answers = try await Self.answers(to: cases.map { Self.post($0.route, $0.body) })
        for (item, response) in zip(cases, answers) {
            #expect(RawRequest.status(response) == "400", "\(item.route) with \(item.key) twice: \(response)")
        }
    }

    private static let push = #"""
        {"client":"01935a1b-2c3d-7001-8000-000000000001","incarnation":1,"epoch":"test-epoch","account":"ann",\#
        "acknowledged":0,"transactions":[{"number":1,"hash":"00","transaction":{"space":"default","mutations":[\#
        {"collection":"notes","record":"01935a1b-2c3d-7000-8000-000000000001","time":"1763728464000.3",\#
        "create":{"title":"x","stars":1,"body":{"$ref":"01935a1b-2c3d-7000-8000-000000000002"}}},\#
        {"collection":"notes","record":"01935a1b-2c3d-7000-8000-000000000003","time":"1763728464000.4",\#
        "update":[{"field":"title","value":"y","before":"x","seen":1}]}]}}]}
        """#

    @Test func `S10: text that looks like SQL is refused as malformed or treated as an unknown cursor`() async throws {
        let texts = [
            "' OR 1=1 --", "\\\"; DROP TABLE records; --", "1; ATTACH DATABASE 'x' AS y", "') UNION SELECT 1 --",
            "%' --", "`", "[x]",
            "default'||(SELECT 1)||'", "a\\u0000b", "x/**/y", "-1", "9223372036854775808",
        ]
        let requests = texts.flatMap { text in
            [
                Self.post("/v1/pull", #"{"space":"\#(text)","limit":5}"#),
                Self.post("/v1/pull", #"{"space":"default","cursor":"\#(text)","limit":5}"#),
                Self.post("/v1/pull", #"{"space":"default","limit":"\#(text)"}"#),
                Self.post("/v1/fetch", #"{"space":"default","collection":"\#(text)","uid":1}"#),
                Self.post("/v1/fetch", #"{"space":"default","collection":"notes","id":"\#(text)"}"#),
            ]
        }
        let answers = try await Self.answers(to: requests)
        for (request, response) in zip(requests, answers) {
            // A cursor that this server did not issue is answered with a reset.
            let isReset =
                RawRequest.status(response) == "200" && response.contains("mustReset") && request.contains("cursor")
            #expect(isReset || ["400", "404"].contains(RawRequest.status(response)), "\(request): \(response)")
        }
    }

    @Test func `S15: bodies that are too long, too deep, or compressed are refused`() async throws {
        let deep = #"{"space":"# + String(repeating: "[", count: 100_000)
        let deepObjects = String(repeating: #"{"a":"#, count: 50_000)
        let many =
            #"{"client":"01935a1b-2c3d-7001-8000-000000000001","incarnation":1,"epoch":"e","account":"ann","acknowledged":0,"transactions":["#
            + Array(repeating: "{}", count: 100_000).joined(separator: ",") + "]}"
        let digits = #"{"space":"default","limit":"# + String(repeating: "9", count: 1_000_000) + "}"
        for (index, response) in try await Self.answers(
            to: [deep, deepObjects, many, digits].map { Self.post("/v1/push", $0) }
                + [deep, digits].map { Self.post("/v1/pull", $0) }
        ).enumerated() {
            #expect(["400", "413"].contains(RawRequest.status(response)), "\(index): \(response)")
        }
        let announced = RawRequest.http("POST /v1/push", [Self.authorized, Self.json, "Content-Length: 10737418240"])
        let zipped = RawRequest.http(
            "POST /v1/push", [Self.authorized, Self.json, "Content-Encoding: gzip", "Content-Length: 2"], "{}")
        #expect(try await Self.answers(to: [announced, zipped]).map(RawRequest.status) == ["413", "415"])
    }

    @Test func `S15: a body without a token is not read`() async throws {
        let announced = RawRequest.http("POST /v1/push", [Self.json, "Content-Length: 10737418240"])
        let open = RawRequest.http("GET /healthz", ["Content-Length: 10737418240"])
        let answers = try await Self.answers(to: [announced, open])
        #expect(answers.map(RawRequest.status) == ["401", "200"])
        for response in answers { #expect(response.lowercased().contains("connection: close"), "\(response)") }
    }

    @Test func `S39: values that stores interpret differently are refused by the server`() async throws {
        let limits = [
            "NaN", "Infinity", "-0.5", "1e400", "9223372036854775808", "0x10", "01", "+1", "1.", "true", "null",
            "\"5\"",
        ]
        let requests = limits.map { Self.post("/v1/pull", #"{"space":"default","limit":\#($0)}"#) }
        for (limit, response) in zip(limits, try await Self.answers(to: requests)) {
            #expect(RawRequest.status(response) == "400", "\(limit): \(response)")
        }
        let texts = [#""\ud800""#, #""\udc00\ud800""#, #""a\u0000""#, #""\x41""#, "\"a\u{1}b\"", "\"\u{7f}"]
        let spaces = texts.map { Self.post("/v1/pull", #"{"space":\#($0),"limit":5}"#) }
        for response in try await Self.answers(to: spaces) {
            #expect(RawRequest.status(response) == "400", "\(response)")
        }
    }
}
