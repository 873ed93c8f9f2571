import NIOCore
import SyncCore
import SyncModel
import SyncTransportHTTP
import TestRings
import Testing

/// The client's reaction to invalid responses. The tests of deadlines do not depend on the machine's speed, because the
/// missing data never arrives.
@Suite(.ring(.test)) struct HostileServerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let response: HostileServer.Response
        let code: TransportError.Code
        let words: String
        let runsOut: Limit?

        /// The time limit that the client reaches in this case.
        enum Limit {
            case silence, call
        }

        init(
            _ what: String, _ response: HostileServer.Response, _ code: TransportError.Code, _ words: String,
            runsOut: Limit? = nil
        ) {
            testDescription = what
            self.response = response
            self.code = code
            self.words = words
            self.runsOut = runsOut
        }
    }

    static let json = "Content-Type: application/json"

    static let cases = [
        Case(
            "a captive portal's page",
            .bytes(HostileServer.http("200 OK", ["Content-Type: text/html", "Content-Length: 13"], "<html></html>")),
            .notUnderstood, "the response is not JSON"),
        Case(
            "HTML that says it is JSON",
            .bytes(HostileServer.http("200 OK", [json, "Content-Length: 13"], "<html></html>")), .notUnderstood,
            "byte 0"),
        Case(
            "JSON that ends early", .bytes(HostileServer.http("200 OK", [json, "Content-Length: 9"], #"{"epoch":"#)),
            .notUnderstood, "the end of the text"),
        Case(
            "a body shorter than announced",
            .bytes(HostileServer.http("200 OK", [json, "Content-Length: 900"], #"{"epoch":"#)), .notUnderstood, "ended"),
        Case(
            "a body longer than allowed, announced",
            .bytesAndSilence(HostileServer.http("200 OK", [json, "Content-Length: 99999999"], "")), .notUnderstood,
            "longer than 65536 bytes"),
        Case(
            "a body without end",
            .endless(
                HostileServer.http("200 OK", [json, "Transfer-Encoding: chunked"], ""),
                then: "1000\r\n" + String(repeating: " ", count: 4_096) + "\r\n"), .notUnderstood,
            "longer than 65536 bytes"),
        Case(
            "a redirect to elsewhere",
            .bytes(
                HostileServer.http(
                    "307 Temporary Redirect", ["Location: http://127.0.0.1:1/", "Content-Length: 0"], "")),
            .notUnderstood, "307"),
        Case("no HTTP at all", .bytes("220 mail.example.org ESMTP\r\n"), .notUnderstood, ""),
        Case("silence", .bytesAndSilence(""), .timedOut, "silent", runsOut: .silence),
        Case(
            "half a head and silence", .bytesAndSilence("HTTP/1.1 200 OK\r\nContent-Type: appl"), .timedOut, "silent",
            runsOut: .silence),
        Case(
            "a head and silence", .bytesAndSilence(HostileServer.http("200 OK", [json, "Content-Length: 9"], "{")),
            .timedOut, "silent", runsOut: .silence),
        Case(
            "a body that drips",
            .drip(
                HostileServer.http("200 OK", [json, "Content-Length: 9999"], ""), then: " ", every: .milliseconds(20)),
            // On a busy machine, the time may run out before the head arrives. That error has another message, which
            // contains this word, too.
            .timedOut, "response", runsOut: .call),
        Case(
            "401 with words",
            .bytes(
                HostileServer.http(
                    "401 Unauthorized", [json, "Content-Length: 52"],
                    #"{"error":{"code":"unauthorized","message":"expired"}}"#)), .unauthorized, ""),
        Case("403", .bytes(HostileServer.http("403 Forbidden", ["Content-Length: 0"], "")), .forbidden, "403"),
        Case("408", .bytes(HostileServer.http("408 Request Timeout", ["Content-Length: 0"], "")), .timedOut, "408"),
        Case("413", .bytes(HostileServer.http("413 Content Too Large", ["Content-Length: 0"], "")), .tooLarge, "413"),
        Case(
            "426", .bytes(HostileServer.http("426 Upgrade Required", ["Content-Length: 0"], "")), .incompatible, "426"),
        Case("404", .bytes(HostileServer.http("404 Not Found", ["Content-Length: 0"], "")), .refused, "404"),
        Case("502", .bytes(HostileServer.http("502 Bad Gateway", ["Content-Length: 0"], "")), .serverFailed, "502"),
        Case(
            "511", .bytes(HostileServer.http("511 Network Authentication Required", ["Content-Length: 0"], "")),
            .notUnderstood, "511"),
        Case("204", .bytes(HostileServer.http("204 No Content", [], "")), .notUnderstood, "204"),
    ]

    /// Returns a configuration with long timeouts, because the machine may be busy. A test of a timeout passes a short
    /// one.
    static func configuration(
        _ url: String, silence: Duration = .seconds(900), call: Duration = .seconds(900)
    ) -> HTTPTransportConfiguration {
        HTTPTransportConfiguration(
            baseURL: url, connectTimeout: .seconds(900), readTimeout: silence, callTimeout: call, hintsTimeout: silence,
            maximumResponseBytes: 65_536)
    }

    static func configuration(_ url: String, _ hostile: Case) -> HTTPTransportConfiguration {
        switch hostile.runsOut {
        case .silence: configuration(url, silence: .milliseconds(200))
        case .call: configuration(url, call: .milliseconds(200))
        case nil: configuration(url)
        }
    }

    @Test(arguments: cases)
    func `an invalid response is reported as a specific failure`(hostile: Case) async throws {
        try await HostileServer.run(hostile.response) { url in
            try await TestServer.withTransport(Self.configuration(url, hostile)) { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.hello() }
                #expect(error?.code == hostile.code, "\(error?.description ?? "")")
                #expect(error?.message.contains(hostile.words) == true, "\(error?.description ?? "")")
                #expect(error?.message.contains(TestServer.good) == false, "the token is in the words")
            }
        }
    }

    @Test(arguments: [
        ("400 Bad Request", "damaged"), ("500 Internal Server Error", "damaged"),
        ("503 Service Unavailable", "damaged"),
        ("500 Internal Server Error", "malformed"), ("502 Bad Gateway", "too_large"),
        ("503 Service Unavailable", "forbidden"), ("500 Internal Server Error", "not_found"),
    ])
    func `a response that reports a damaged request or a server failure is not definite`(
        status: String, code: String
    ) async throws {
        let body =
            #"{"error":{"code":"\#(code)","message":"transaction 4 does not match","request":"\#(HostileServer.requestID)"}}"#
        let response = HostileServer.http(status, [Self.json, "Content-Length: \(body.utf8.count)"], body)
        try await HostileServer.run(.bytes(response)) { url in
            try await TestServer.withTransport(Self.configuration(url)) { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.hello() }
                #expect(error?.code == .serverFailed)
                #expect(error?.isDefinite == false)
                #expect(error?.message.contains("transaction 4 does not match") == true)
            }
        }
    }

    /// Error bodies from a sender that has not read the request. Some have the correct form.
    static let foreignErrorBodies = [
        #"{"error":{"code":"too_large","message":"at most 1 byte"}}"#,
        #"{"error":{"code":"too_large","message":"at most 1 byte","request":"0123456789abcdef0123456789abcdef"}}"#,
        "<html>413 Request Entity Too Large</html>",
        "",
    ]

    @Test(arguments: foreignErrorBodies, ["403 Forbidden", "413 Content Too Large", "400 Bad Request"])
    func `an error that does not name the request is not definite`(
        body: String, status: String
    ) async throws {
        let response = HostileServer.http(status, [Self.json, "Content-Length: \(body.utf8.count)"], body)
        try await HostileServer.run(.bytes(response)) { url in
            try await TestServer.withTransport(Self.configuration(url)) { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.hello() }
                #expect(error?.isDefinite == false)
                #expect(error?.message.contains("perhaps a proxy") == true, "\(error?.description ?? "")")
            }
        }
    }

    @Test func `a long request gets extra time for its upload`() async throws {
        // At the slowest rate, 8 MiB take more than a quarter of an hour. The call timeout is zero, so the first
        // request, which has no body, times out.
        let body = [UInt8](repeating: 0x20, count: 1_024 * 8_192)
        let refusal = HostileServer.http("409 Conflict", ["Content-Length: 0"], "")
        try await HostileServer.run(.bytesOnce(refusal, arrived: body.count)) { url in
            try await TestServer.withTransport(Self.configuration(url, call: .zero)) { transport in
                let short = await #expect(throws: TransportError.self) { try await transport.hello() }
                #expect(short?.code == .timedOut, "\(short?.description ?? "")")
                let long = await #expect(throws: TransportError.self) {
                    try await transport.exchange(.push, body)
                }
                #expect(long?.code == .refused, "\(long?.description ?? "")")
            }
        }
    }

    @Test func `a record counts as missing only if the server itself says so`() async throws {
        let page = HostileServer.http("404 Not Found", ["Content-Type: text/html", "Content-Length: 0"], "")
        let body = #"{"error":{"code":"not_found","message":"none","request":"\#(HostileServer.requestID)"}}"#
        let said = HostileServer.http("404 Not Found", [Self.json, "Content-Length: \(body.utf8.count)"], body)
        let request = FetchRequest(space: .default, collection: "notes", key: .uid(UID(1)))
        try await HostileServer.run(.bytes(page)) { url in
            try await TestServer.withTransport(Self.configuration(url)) { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.fetch(request) }
                #expect(error?.code == .refused)
            }
        }
        try await HostileServer.run(.bytes(said)) { url in
            try await TestServer.withTransport(Self.configuration(url)) { transport in
                let record = try await transport.fetch(request)
                #expect(record == nil)
            }
        }
    }

    @Test(arguments: [
        // Responses that are not from the sync server can request at most two minutes.
        ("7", Duration.seconds(7)), ("0", .zero),
        ("99999999999999999999", .seconds(120)),
        ("Fri, 21 Nov 2025 12:34:54 GMT", .seconds(30)), ("Fri, 21 Nov 2025 12:00:00 GMT", .zero),
    ])
    func `the client reads the delay from Retry-After`(text: String, wait: Duration) async throws {
        let response = HostileServer.http("503 Service Unavailable", ["Retry-After: \(text)", "Content-Length: 0"], "")
        try await HostileServer.run(.bytes(response)) { url in
            try await TestServer.withTransport(Self.configuration(url)) { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.hello() }
                #expect(error?.retryAfter == wait, "\(String(describing: error?.retryAfter))")
            }
        }
    }

    @Test(arguments: ["soon", "-1", "Fri, 21 Nov 25 12:34:54 GMT", "Fri, 32 Nov 2025 12:34:54 GMT", "1.5"])
    func `an invalid Retry-After is ignored`(text: String) async throws {
        let response = HostileServer.http("429 Too Many Requests", ["Retry-After: \(text)", "Content-Length: 0"], "")
        try await HostileServer.run(.bytes(response)) { url in
            try await TestServer.withTransport(Self.configuration(url)) { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.hello() }
                #expect(error?.code == .throttled)
                #expect(error?.retryAfter == nil)
            }
        }
    }

    @Test(arguments: [
        ("http://192.168.1.4:8080", true), ("http://127.evil.example", true), ("http://example.org", true),
        ("HTTP://example.org/localhost", true), ("http://127.0.0.1", false), ("http://127.3.2.1:99/x", false),
        ("http://localhost:1", false), ("http://[::1]:8080", false), ("http://[fe80::1]", true),
        ("https://example.org", false),
    ])
    func `plain HTTP to another machine is detected as unsafe`(url: String, isRefused: Bool) {
        #expect(HTTPTransport.isPlainTextToElsewhere(url) == isRefused)
    }

    @Test func `a token is not sent over plain HTTP to another machine`() async throws {
        // The address belongs to a network reserved for documentation, so no server is contacted.
        var configuration = Self.configuration("http://192.0.2.1:1")
        configuration.connectTimeout = .milliseconds(50)
        try await TestServer.withTransport(configuration) { transport in
            let error = await #expect(throws: TransportError.self) { try await transport.hello() }
            #expect(error?.code == .unauthorized)
            #expect(error?.message.contains("without encryption") == true, "\(error?.description ?? "")")
        }
    }

    @Test func `a transport that is never shut down does not trap`() async throws {
        try await HostileServer.run(.bytes(HostileServer.http("500 Oh No", ["Content-Length: 0"], ""))) { url in
            let transport = try HTTPTransport(
                configuration: Self.configuration(url), catalog: TestServer.catalog, runtime: TestServer.runtime,
                token: { nil })
            await #expect(throws: TransportError.self) { try await transport.hello() }
        }
    }

    @Test func `a port without a listener is reported as unreachable`() async throws {
        try await TestServer.withTransport(Self.configuration("http://127.0.0.1:1")) { transport in
            let error = await #expect(throws: TransportError.self) { try await transport.hello() }
            #expect(error?.code == .unreachable, "\(error?.description ?? "")")
        }
    }

    @Test func `a token that the server echoes does not appear in the error message`() async throws {
        let body =
            #"{"error":{"code":"malformed","message":"bad token \#(TestServer.good)!","request":"\#(HostileServer.requestID)"}}"#
        let response = HostileServer.http("400 Bad Request", [Self.json, "Content-Length: \(body.utf8.count)"], body)
        try await HostileServer.run(.bytes(response)) { url in
            try await TestServer.withTransport(Self.configuration(url)) { transport in
                let error = await #expect(throws: TransportError.self) { try await transport.hello() }
                #expect(error?.message == "hello: bad token <token>!", "\(error?.description ?? "")")
                #expect(error?.isDefinite == true)
            }
        }
    }

    @Test(arguments: ["", "with space", "with\r\nX-Header: 1", "é"])
    func `an invalid token is never sent`(token: String) async throws {
        try await TestServer.withTransport(Self.configuration("http://127.0.0.1:1"), token: token) { transport in
            let error = await #expect(throws: TransportError.self) { try await transport.hello() }
            #expect(error?.code == .unauthorized)
        }
    }

    @Test(arguments: [
        "", "127.0.0.1:8080", "ftp://host", "http://", "http://user@host", "http://host?x=1", "http://host#a",
    ])
    func `an invalid server URL is refused when the transport is created`(url: String) {
        #expect(throws: HTTPTransportConfigurationError.self) {
            _ = try HTTPTransport(
                configuration: HTTPTransportConfiguration(baseURL: url), catalog: TestServer.catalog,
                runtime: TestServer.runtime, token: { nil })
        }
    }

    static let stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

    @Test func `hints are read among other events and comments in the stream`() async throws {
        let events =
            ": welcome\n\nevent: hint\ndata: {\"space\":\"default\",\"head\":3}\n\nevent: other\ndata: x\n\n"
            + "id: 4\r\nevent:hint\r\ndata: {\"space\":\"default\",\r\ndata:\"head\":4}\r\n\r\nevent: hint\ndata: {\"spa"
        try await HostileServer.run(.bytes(Self.stream + events)) { url in
            try await TestServer.withTransport(Self.configuration(url)) { transport in
                var heads: [Version] = []
                for try await hint in transport.hints(for: [.default]) { heads.append(hint.head) }
                #expect(heads == [Version(3), Version(4)])
            }
        }
    }

    static let streams = [
        Case(
            "a negative head", .bytes(stream + "event: hint\ndata: {\"space\":\"default\",\"head\":-1}\n\n"),
            .notUnderstood, "the version is -1"),
        Case(
            "a line without end", .endless(stream, then: String(repeating: "x", count: 4_096)), .notUnderstood,
            "a line of more than"),
        Case("no heartbeat", .bytesAndSilence(stream + ": alive\n\n"), .timedOut, "silent", runsOut: .silence),
        Case(
            "JSON instead", .bytes(HostileServer.http("200 OK", [json, "Content-Length: 2"], "{}")), .notUnderstood,
            "not an event stream"),
    ]

    /// The two responses of each case differ only in the id. With the id of the request, the client reads the body and
    /// finds that keys are missing. With no id or another one, it must not read the body.
    @Test(arguments: [
        (nil, "a proxy removed its header Tombolo-Request"),
        ("0123456789abcdef0123456789abcdef", "the response belongs to another request"),
    ])
    func `a response without the request's id is refused`(
        id: String?, text: String
    ) async throws {
        let body = #"{"unknown":true}"#
        func error(_ id: String?) async throws -> TransportError? {
            let fields = [Self.json, "Content-Length: \(body.utf8.count)"]
            let response = HostileServer.http("200 OK", fields, body, id: id)
            return try await HostileServer.run(.bytes(response)) { url in
                try await TestServer.withTransport(Self.configuration(url)) { transport in
                    await #expect(throws: TransportError.self) { try await transport.hello() }
                }
            }
        }
        let (own, other) = (try await error(HostileServer.requestID), try await error(id))
        #expect(own?.message.contains("is missing") == true, "\(own?.description ?? "")")
        #expect(other?.code == .notUnderstood && other?.isDefinite == false, "\(other?.description ?? "")")
        #expect(other?.message.contains(text) == true, "\(other?.description ?? "")")
    }

    @Test(arguments: streams)
    func `an invalid hint stream ends with a specific failure`(hostile: Case) async throws {
        try await HostileServer.run(hostile.response) { url in
            try await TestServer.withTransport(Self.configuration(url, hostile)) { transport in
                let error = await #expect(throws: TransportError.self) {
                    for try await _ in transport.hints(for: [.default]) {}
                }
                #expect(error?.code == hostile.code, "\(error?.description ?? "")")
                #expect(error?.message.contains(hostile.words) == true, "\(error?.description ?? "")")
            }
        }
    }
}
