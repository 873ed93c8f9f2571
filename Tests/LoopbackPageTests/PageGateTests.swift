import PageChecks
import TestRings
import Testing

@testable import LoopbackPage

/// Tests the checks of a request that need only its head.
@Suite(.ring(.unit)) struct PageGateTests {
    private static let gate = PageGate(application: SamplePage(), port: 8_123, secret: PageSecret(text: "5ec2e7"))

    /// The methods and paths of all files and calls.
    private static let routes: [(method: String, path: String, isFile: Bool)] =
        gate.application.files.map { ("GET", $0.path, true) }
        + SamplePage.Call.allCases.map { ("POST", "/api/\($0.rawValue)", false) }

    /// The fields of a call by the page itself.
    private static let own = [
        "host": "127.0.0.1:8123", "origin": "http://127.0.0.1:8123", "sec-fetch-site": "same-origin",
        "authorization": "Bearer 5ec2e7", "content-type": "application/json", "content-length": "2",
    ]

    /// Returns the status with which a request is refused, or 200.
    private static func status(
        _ method: String = "POST", _ target: String = "/api/list", _ changes: [String: String?] = [:],
        more: [(name: String, value: String)] = []
    ) -> Int {
        var fields = own
        for (name, value) in changes { fields[name] = value }
        let head = PageHead(
            method: method, target: target,
            fields: fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) } + more)
        do throws(PageError) {
            _ = try gate.route(of: head)
            return 200
        } catch {
            #expect(!error.message.isEmpty)
            return error.status
        }
    }

    @Test func `the calls of the page itself are allowed`() {
        #expect(Self.status() == 200)
        #expect(Self.status("POST", "/api/list", ["origin": nil, "sec-fetch-site": nil]) == 200)
        for route in Self.routes { #expect(Self.status(route.method, route.path) == 200, "\(route)") }
    }

    @Test func `at port 80, a browser leaves the port out`() throws {
        func status(_ authority: String, at port: Int) -> Int {
            let gate = PageGate(application: SamplePage(), port: port, secret: PageSecret(text: "5ec2e7"))
            var fields = Self.own
            fields["host"] = authority
            fields["origin"] = "http://\(authority)"
            let head = PageHead(
                method: "POST", target: "/api/list", fields: fields.map { (name: $0.key, value: $0.value) })
            do throws(PageError) {
                _ = try gate.route(of: head)
                return 200
            } catch {
                return error.status
            }
        }
        #expect(status("127.0.0.1", at: 80) == 200 && status("127.0.0.1:80", at: 80) == 200)
        #expect(status("127.0.0.1", at: 8_123) == 403 && status("127.0.0.1:8123", at: 80) == 403)
        #expect(status("evil.example", at: 80) == 403)
    }

    @Test func `S37: a page whose name was rebound to this address, or of another origin, gets nothing`() {
        for host in [
            "evil.example:8123", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:81230", "localhost:8123", "[::1]:8123", "",
            "127.0.0.1:8123.evil.example", "127.0.0.1:8123@evil.example",
        ] {
            for route in Self.routes {
                #expect(Self.status(route.method, route.path, ["host": host]) == 403, "\(host) \(route)")
            }
        }
        #expect(Self.status("GET", "/", ["host": nil]) == 403)
        #expect(Self.status("GET", "/", more: [(name: "host", value: "127.0.0.1:8123")]) == 403)
        for origin in [
            "https://evil.example", "null", "http://localhost:8123", "http://127.0.0.1:8124", "http://127.0.0.1",
            "https://127.0.0.1:8123", "",
        ] { #expect(Self.status("POST", "/api/change", ["origin": origin]) == 403, "\(origin)") }
        for site in ["cross-site", "same-site", "none"] {
            #expect(Self.status("POST", "/api/change", ["sec-fetch-site": site]) == 403, "\(site)")
        }
    }

    @Test func `without the secret of this run, every call is refused, and the files of the page are not`() {
        for route in Self.routes {
            let expected = route.isFile ? 200 : 401
            for given in [
                nil, "", "Bearer", "Bearer ", "Bearer 5ec2e", "Bearer 5ec2e78", "Bearer 5EC2E7", "bearer 5ec2e7",
                "Basic 5ec2e7", "Bearer  5ec2e7", "5ec2e7",
            ] {
                let status = Self.status(route.method, route.path, ["authorization": given])
                #expect(status == expected, "\(route): \(given ?? "nothing")")
            }
            let twice = Self.status(route.method, route.path, more: [(name: "authorization", value: "Bearer x")])
            #expect(twice == expected)
        }
    }

    @Test func `other paths, methods, types, and lengths are refused`() {
        for path in [
            "/api", "/api/", "/api/list/", "/api/\u{301}list", "//api/list", "/api/List", "/api/%6Cist", "/api/list?x",
            "/index.html",
            "/page.css.map", "/../etc/passwd", "http://127.0.0.1:8123/api/list", "*", "",
        ] {
            for method in ["GET", "POST"] { #expect(Self.status(method, path) == 404, "\(method) \(path)") }
        }
        for route in Self.routes {
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "post"]
            where method != route.method {
                #expect(Self.status(method, route.path) == 405, "\(method) \(route)")
            }
        }
        for type in [
            "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json2", nil,
        ] {
            #expect(Self.status("POST", "/api/list", ["content-type": type]) == 415)
        }
        for length in ["\(PageLimits.bodyBytes + 1)", "99999999999999999999", "-1x"] {
            #expect(Self.status("POST", "/api/list", ["content-length": length]) == 413, "\(length)")
        }
        #expect(Self.status("POST", "/api/list", ["content-length": "\(PageLimits.bodyBytes)"]) == 200)
    }

    @Test func `every response has the fields that keep the page on this machine`() {
        let page = PageFile.html(at: "/", Array("<!DOCTYPE html>".utf8))
        let fields = PageResponse(page).fields.map { "\($0.name): \($0.value)" }
        #expect(
            fields == [
                "Content-Type: text/html; charset=utf-8",
                "Content-Length: \(page.bytes.count)",
                "Cache-Control: no-store",
                "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
                "X-Content-Type-Options: nosniff",
                "X-Frame-Options: DENY",
                "Referrer-Policy: no-referrer",
                "Cross-Origin-Opener-Policy: same-origin",
                "Cross-Origin-Resource-Policy: same-origin",
                "Connection: close",
            ])
        var refusal = PageError(405, "no")
        refusal.allowedMethod = "GET"
        let refused = PageResponse(refusal)
        #expect(
            refused.fields.dropFirst(2).dropLast().map(\.name) == PageResponse(page).fields.dropFirst(2).map(\.name)
        )
        #expect(refused.fields.last?.name == "Allow" && refused.fields.last?.value == "GET")
        #expect(PageResponse(PageError(401, "no")).fields.contains { $0.name == "WWW-Authenticate" })
        #expect(String(decoding: refused.body, as: UTF8.self) == #"{"error":"no","advice":null}"#)
    }

    @Test func `the files that pages share contain nothing inline, nothing remote, and no markup from data`() {
        #expect(PageFileChecks.problems(of: PageFile.common) == [])
    }

    @Test(arguments: [
        PageFile.html(at: "/", Array("<script>".utf8)), .html(at: "/a", Array("<script type=\"module\">a()".utf8)),
        .html(at: "/", Array("<a onclick=\"a()\">".utf8)), .html(at: "/", Array("<img src=\"//host/a.png\">".utf8)),
        .html(at: "/", Array("<a href=\"javascript:a()\">".utf8)), .style(at: "/a.css", Array("@import 'b'".utf8)),
        .script(at: "/a.js", Array("a.innerHTML = b".utf8)), .script(at: "/a.js", Array("indexedDB.open(a)".utf8)),
    ])
    func `a file with something inline or remote, or with markup from data, has one problem`(file: PageFile) {
        #expect(PageFileChecks.problems(of: [file]).count == 1, "\(String(decoding: file.bytes, as: UTF8.self))")
    }
}
