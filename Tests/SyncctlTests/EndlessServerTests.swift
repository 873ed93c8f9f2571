import SyncConcurrency
import SyncModel
import TestRings
import Testing

@testable import syncctl

/// Tests `syncctl` with servers that never stop sending. Each message by itself is valid.
@Suite(.ring(.check)) struct EndlessServerTests {
    /// The kind of message that the server sends without end.
    enum Flood: String, CaseIterable {
        case commits, notices
    }

    private static let hello =
        #"{"protocol":{"from":1,"to":1},"epoch":"e1","account":"ann","serverTime":"1763728464000.3","limits":{"pushBytes":4194304,"pushTransactions":256,"pageRows":1000}}"#

    private static func page(_ cursor: String, at version: Int, of head: Int, hasMore: Bool, _ rest: String) -> String {
        #"{"page":{"space":"default","epoch":"e1","serverTime":"1763728464000.3","cursor":"\#(cursor)","version":\#(version),"head":\#(head),"hasMore":\#(hasMore),\#(rest)}}"#
    }

    /// Returns the response to a pull: the next commit without content, or the next notice.
    private static func page(of flood: Flood, after request: ScriptedServer.Request, _ number: Int) -> String {
        switch flood {
        case .commits:
            let version = Int(request.text("cursor")?.dropFirst() ?? "0").map { $0 + 1 } ?? 1
            return page(
                "c\(version)", at: version, of: 1 << 40, hasMore: true,
                #""commits":[{"version":\#(version),"changes":[]}]"#)
        case .notices:
            let own =
                request.body.firstRange(of: #""clients":[""#).map { request.body[$0.upperBound...].prefix(36) } ?? ""
            let notice =
                #"{"number":\#(number),"version":0,"conflict":{"collection":"user","record":"01935a1b-2c3d-7000-8000-000000000001","field":"username","base":null,"winner":{"value":"x","time":"9.\#(number % 60_000)","client":"01935a1b-2c3d-7001-8000-0000000000aa"},"loser":{"value":"y","time":"8.\#(number % 60_000)","client":"\#(own)"},"rule":"latestEdit"}}"#
            let more = own.isEmpty ? "" : #","notices":[\#(notice)],"hasMoreNotices":true"#
            return page("c0", at: 0, of: 0, hasMore: false, #""commits":[]\#(more)"#)
        }
    }

    private static func run(
        _ arguments: [String], _ pull: @escaping @Sendable (ScriptedServer.Request) -> String
    ) throws -> Programs.CommandResult {
        let server = try ScriptedServer { request in
            if request.path.hasSuffix("/hello") { return ScriptedServer.json("200 OK", hello, isNamed: true) }
            return request.path.hasSuffix("/pull") ? ScriptedServer.json("200 OK", pull(request), isNamed: true) : ""
        }
        let programs = try Programs()
        let store = ["--store", programs.folder + "/store"]
        #expect(try programs.run("syncctl", ["init"] + store).status == 0)
        // `timeout` kills a program that does not end, so that the test fails instead of hanging.
        return try programs.run(
            "syncctl", arguments + store + ["--server", server.url],
            variables: ["SYNCCTL_SERVER_TOKEN": "the-token-of-ann"], launcher: ["timeout", "120"])
    }

    @Test(arguments: Flood.allCases)
    func `a sync ends after its wait, whatever the server sends`(flood: Flood) throws {
        let numbers = Counter()
        let sync = try Self.run(["sync", "--wait", "2s"]) { request in
            Self.page(of: flood, after: request, numbers.next())
        }
        #expect(sync.status == CommandExitStatus.notSynced.rawValue, "\(sync.errors)")
        #expect(sync.errors.contains("the sync has not ended in 2s"), "\(sync.errors)")
    }

    @Test func `a digest of a server whose snapshot never ends ends with an error`() throws {
        let pages = Counter()
        let digest = try Self.run(["digest", "--remote"]) { _ in
            let number = pages.next()
            let rows = (0..<100).map { place in
                let id = String(number * 100 + place, radix: 16)
                let name = String(repeating: "0", count: 12 - id.count) + id
                return #"["01935a1b-2c3d-7000-8000-\#(name)",\#(number * 100 + place),1,null,"u"]"#
            }
            return Self.page(
                "s\(number)", at: 5, of: 5, hasMore: true,
                #""snapshot":{"isFirst":\#(number == 1),"isLast":false,"collections":[{"collection":"user","columns":["username"],"rows":[\#(rows.joined(separator: ","))]}]}"#
            )
        }
        #expect(digest.status == CommandExitStatus.notSynced.rawValue, "\(digest.errors)")
        #expect(digest.errors.contains("has shown 5100 records; expected at most 5000"), "\(digest.errors)")
    }

    @Test func `a digest of a server that always changes ends with an error`() throws {
        let pages = Counter()
        let digest = try Self.run(["digest", "--remote"]) { request in
            let number = pages.next()
            guard request.text("cursor") != nil else {
                return Self.page(
                    "s\(number)", at: number, of: number + 1, hasMore: true,
                    #""snapshot":{"isFirst":true,"isLast":true,"collections":[]}"#)
            }
            return Self.page(
                "c\(number)", at: number, of: number, hasMore: false,
                #""commits":[{"version":\#(number),"changes":[{"collection":"user","id":"01935a1b-2c3d-7000-8000-000000000001","deleted":true}]}]"#
            )
        }
        #expect(digest.status == CommandExitStatus.notSynced.rawValue, "\(digest.errors)")
        #expect(digest.errors.contains("changed while they were read, in each of 3 attempts"), "\(digest.errors)")
        #expect(pages.count == 6)
    }
}

/// Counts requests that arrive on several threads.
private final class Counter: Sendable {
    private let value = Guarded(0)

    var count: Int { value.withLock { $0 } }

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
