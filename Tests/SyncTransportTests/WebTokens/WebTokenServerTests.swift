import Foundation
import NIOCore
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncTransportHTTP
import TestRings
import Testing

@testable import SyncServerHTTP

/// JSON Web Tokens over HTTP.
@Suite(.ring(.test)) struct WebTokenServerTests {
    private let folder: KeyFolder

    init() throws {
        folder = try KeyFolder()
        try folder.write(TokenIssuer.known.get().jwks())
    }

    private static func issuer() throws -> TokenIssuer { try TokenIssuer.known.get() }

    private static func hello(_ token: String) -> String {
        RawRequest.http("GET /v1/hello", ["Authorization: Bearer \(token)"])
    }

    private static func status(of token: String, at port: Int) async throws -> String {
        RawRequest.status(try await RawRequest.send([hello(token)], to: port))
    }

    @Test(arguments: TokenIssuer.Key.allCases)
    func `a device pushes with a JSON Web Token, and another of the account pulls with a token of the file`(
        key: TokenIssuer.Key
    ) async throws {
        let token = try Self.issuer().token(by: key)
        let (account, page) = try await TestServer.run(TestServer.authority(), webTokens: folder.tokens()) { port in
            let configuration = HTTPTransportConfiguration(baseURL: "http://127.0.0.1:\(port)")
            let account = try await TestServer.withTransport(configuration, token: token) { transport in
                guard case .answered(let results, _, _) = try await transport.push(TestServer.push()),
                    case .applied? = results.first?.outcome
                else {
                    Issue.record("the push was refused")
                    return nil as AccountID?
                }
                return try await transport.hello().account
            }
            let page = try await TestServer.withTransport(configuration) { transport in
                try await transport.pull(PullRequest(space: .default, cursor: nil, limit: 10, account: nil))
            }
            return (account, page)
        }
        #expect(account == TestServer.principal.account)
        guard case .page(let page) = page, case .snapshot(let groups, _, _) = page.content else {
            Issue.record("\(page)")
            return
        }
        #expect(groups.flatMap(\.records).map(\.id) == [TestServer.record])
    }

    @Test func `S6: a response does not reveal why a JSON Web Token is refused`() async throws {
        let (issuer, stranger) = (try Self.issuer(), try TokenIssuer.stranger.get())
        try folder.write(issuer.jwksWithTwoForEdDSA())
        let forged = try ForgedToken.all.map { ($0.name, try $0.text(issuer, stranger)) }.filter { _, token in
            !token.isEmpty && token.utf8.count < 8_192 && token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        #expect(forged.count > 100)
        let responses = try await TestServer.run(TestServer.authority(), webTokens: folder.tokens()) { port in
            var responses: [String: [String]] = [:]
            for (name, token) in forged {
                let response = try await RawRequest.send([Self.hello(token)], to: port)
                let lines = response.split(separator: "\r\n").filter { !$0.lowercased().hasPrefix("date:") }
                responses[lines.joined(separator: "\n"), default: []].append(name)
            }
            return responses
        }
        #expect(responses.count == 1, "\(responses)")
        let response = try #require(responses.keys.first)
        #expect(response.hasPrefix("HTTP/1.1 401 Unauthorized"))
        #expect(response.lowercased().contains("\nwww-authenticate: bearer\n"), "\(response)")
        #expect(
            response.hasSuffix(
                #"{"error":{"code":"unauthorized","message":"the token is unknown, expired, or revoked"}}"#),
            "\(response)")
    }

    @Test func `an event stream ends when its JSON Web Token expires`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.heartbeat = .milliseconds(30)
        let clock = Guarded(TestServer.now())
        let tokens = try folder.tokens(now: { clock.withLock { $0 } })
        let token = try Self.issuer().token(nil, TokenIssuer.claims(exp: "\(TokenIssuer.now + 300)"))
        let text = try await TestServer.run(
            TestServer.authority(), configuration: configuration, webTokens: tokens
        ) { port in
            let request = RawRequest.http("GET /v1/hints?space=default", ["Authorization: Bearer \(token)"])
            return try await RawRequest.send([request], to: port) { text in
                // The stream lives until the last millisecond.
                let beats = text.split(separator: ": alive").count - 1
                let offset: Int64 = beats == 0 ? 0 : beats == 1 ? 299_999 : 300_000
                clock.withLock { $0 = WallTime(milliseconds: TestServer.now().milliseconds + offset) }
                return false
            }
        }
        #expect(text.hasPrefix("HTTP/1.1 200 OK"))
        #expect(text.contains(": welcome") && text.hasSuffix("0\r\n\r\n"), "\(text)")
        #expect(text.split(separator: ": alive").count - 1 >= 2, "\(text)")
    }

    @Test func `an event stream ends when the key of its JSON Web Token is taken out`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.heartbeat = .milliseconds(30)
        let token = try Self.issuer().token()
        let folder = folder
        let others = TokenIssuer.set([try Self.issuer().jwk(.ec)])
        let text = try await TestServer.run(
            TestServer.authority(), configuration: configuration, webTokens: folder.tokens()
        ) { port in
            let request = RawRequest.http("GET /v1/hints?space=default", ["Authorization: Bearer \(token)"])
            return try await RawRequest.send([request], to: port) { text in
                if text.contains(": alive") { try? folder.write(others) }
                return false
            }
        }
        #expect(text.hasPrefix("HTTP/1.1 200 OK"))
        #expect(text.contains(": alive") && text.hasSuffix("0\r\n\r\n"), "\(text)")
    }

    @Test func `keys rotate without a refused request`() async throws {
        let (old, new) = (try Self.issuer(), try TokenIssuer.stranger.get())
        let oldKeys = TokenIssuer.set([try old.jwk(.ed, id: "old")])
        let bothKeys = TokenIssuer.set([try old.jwk(.ed, id: "old"), try new.jwk(.ed, id: "new")])
        let newKeys = TokenIssuer.set([try new.jwk(.ed, id: "new")])
        let oldToken = try old.token(#""alg":"EdDSA","kid":"old""#)
        let newToken = try new.token(#""alg":"EdDSA","kid":"new""#)
        let folder = folder
        try folder.write(oldKeys)
        let tokens = try folder.tokens()
        let (during, before, after) = try await TestServer.run(TestServer.authority(), webTokens: tokens) { port in
            let before = try await [Self.status(of: oldToken, at: port), Self.status(of: newToken, at: port)]
            let first = try await Self.statuses(of: oldToken, at: port) { try folder.write(bothKeys) }
            let between = try await Self.status(of: newToken, at: port)
            let second = try await Self.statuses(of: newToken, at: port) { try folder.write(newKeys) }
            let after = try await [Self.status(of: oldToken, at: port), Self.status(of: newToken, at: port)]
            return (first + [between] + second, before, after)
        }
        #expect(before == ["200", "401"])
        #expect(during == Array(repeating: "200", count: 161))
        #expect(after == ["401", "200"])
    }

    /// Returns the statuses of 80 requests, of which some are answered before `change` and some after.
    private static func statuses(
        of token: String, at port: Int, around change: @Sendable () throws -> Void
    ) async throws -> [String] {
        let (answered, continuation) = AsyncStream.makeStream(of: Void.self)
        return try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var statuses: [String] = []
                    for _ in 0..<20 {
                        statuses.append(try await status(of: token, at: port))
                        continuation.yield()
                    }
                    return statuses
                }
            }
            for await _ in answered.prefix(8) {}
            try change()
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    @Test func `the metrics count keys and refused tokens, and show that the current keys cannot be used`() async throws
    {
        let registry = PrometheusRegistry()
        let token = try Self.issuer().token()
        let folder = folder
        let (before, status, after) = try await TestServer.run(
            TestServer.authority(), webTokens: folder.tokens(), metrics: registry
        ) { port in
            _ = try await Self.status(of: token.dropLast(4) + "AAAA", at: port)
            let before = await registry.text()
            try folder.write("garbage")
            return (before, try await Self.status(of: token, at: port), await registry.text())
        }
        func lines(_ text: String) -> Set<String> {
            Set(text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("tombolo_jwt_") })
        }
        #expect(lines(before) == ["tombolo_jwt_keys 3", "tombolo_jwt_keys_stale 0", "tombolo_jwt_refused_total 1"])
        #expect(lines(after) == ["tombolo_jwt_keys 3", "tombolo_jwt_keys_stale 1", "tombolo_jwt_refused_total 1"])
        #expect(status == "200")
    }

    @Test func `JSON Web Tokens and other tokens of an account share its rate`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.requestsPerSecond = 1
        let issuer = try Self.issuer()
        let other = try issuer.token(nil, TokenIssuer.claims(sub: #""bo""#))
        let (accepted, others) = try await TestServer.run(
            TestServer.authority(), configuration: configuration, webTokens: folder.tokens()
        ) { port in
            // A request takes much less than a second, so the eleventh or a later one comes too early.
            while try await Self.status(of: TestServer.good, at: port) == "200" {}
            var accepted = 0
            while accepted < 10, try await Self.status(of: issuer.token(), at: port) == "200" { accepted += 1 }
            return (accepted, try await Self.status(of: other, at: port))
        }
        #expect(accepted < 10)
        #expect(others == "200")
    }
}
