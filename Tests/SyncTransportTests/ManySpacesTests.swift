import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncTransportHTTP
import TestRings
import Testing

@Suite(.ring(.test)) struct ManySpacesTests {
    /// An event stream covers up to 64 spaces.
    @Test(arguments: [64, 65, 150])
    func `a device with many spaces gets hints of commits in each of them`(count: Int) async throws {
        let spaces = try (0..<count).map { try #require(SpaceID(rawValue: "space\($0)")) }
        // The first space of each stream, and the last space of all.
        let watched = Set(stride(from: 0, to: count, by: 64).map { spaces[$0] } + [spaces[count - 1]])
        let news = SpaceHeads(heads: Dictionary(uniqueKeysWithValues: watched.map { ($0, Version(5)) }))
        let access = AccessRules([AccessRules.Rule(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let authority = TestServer.authority(AuthorityPolicy(access: access))
        try await TestServer.run(authority) { port in
            let configuration = HTTPTransportConfiguration(baseURL: "http://127.0.0.1:\(port)")
            try await TestServer.withTransport(configuration) { transport in
                var remaining = watched
                for try await hint in transport.hints(for: spaces) {
                    if hint.head == Version(5) {
                        remaining.remove(hint.space)
                        if remaining.isEmpty { return }
                    } else {
                        // Each stream begins with the heads of its spaces. This commit reaches the streams that have
                        // begun.
                        authority.commits.publish(news)
                    }
                }
                Issue.record("the streams ended; nothing was heard of \(remaining)")
            }
        }
    }

    /// The engine pulls every space as soon as it has contact. A pull that waited for a connection would fail as if the
    /// server could not be reached.
    @Test func `the pulls of many spaces do not wait for each other`() async throws {
        let count = 40
        let response = HostileServer.http("503 Service Unavailable", ["Content-Length: 0"], "")
        try await HostileServer.run(.bytesTogether(response, HostileServer.Gathering(of: count))) { url in
            var configuration = HTTPTransportConfiguration(baseURL: url)
            configuration.connectTimeout = .seconds(600)
            configuration.readTimeout = .seconds(600)
            configuration.callTimeout = .seconds(600)
            try await TestServer.withTransport(configuration) { transport in
                await withTaskGroup(of: TransportError.Code?.self) { group in
                    for _ in 0..<count {
                        group.addTask {
                            let error = await #expect(throws: TransportError.self) { try await transport.hello() }
                            return error?.code
                        }
                    }
                    for await code in group { #expect(code == .serverFailed) }
                }
            }
        }
    }
}
