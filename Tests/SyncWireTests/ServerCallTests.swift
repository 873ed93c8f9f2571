import SyncModel
import SyncWire
import Testing

@Suite struct ServerCallTests {
    private static let fetch = FetchRequest(space: .default, collection: "avatars", key: .uid(UID(7)))

    /// A request of each call, and a response to it.
    private static let pairs: [(ServerRequest, ServerResponse)] = [
        (.hello, .hello(Samples.hello)),
        (.push(Samples.push), .push(.refused(.gap(expected: .first)))),
        (.pull(PullRequest(space: .default, cursor: nil, limit: 10)), .pull(.mustReset(.horizon))),
        (.fetch(fetch), .fetch(nil)),
    ]

    @Test func `each call has its own path`() {
        #expect(Self.pairs.map(\.0.call) == ServerCall.allCases)
        #expect(ServerCall.allCases.map(\.path) == ["/v1/hello", "/v1/push", "/v1/pull", "/v1/fetch"])
    }

    @Test func `each request and response is the same after the wire`() throws {
        for (request, response) in Self.pairs {
            #expect(try ServerRequest.decode(request.encode(), of: request.call) == request)
            let body = try response.encode(to: request, catalog: Samples.catalog)
            #expect(try ServerResponse.decode(body, to: request, catalog: Samples.catalog) == response)
        }
    }

    @Test func `only a call whose method is POST has a body`() throws {
        for (request, _) in Self.pairs {
            #expect(try request.encode().isEmpty == (request.call.method == .get))
        }
    }

    @Test func `a response to another call is not encoded`() {
        for (request, _) in Self.pairs {
            for (other, response) in Self.pairs where other.call != request.call {
                let error = #expect(throws: WireError.self) {
                    try response.encode(to: request, catalog: Samples.catalog)
                }
                #expect(error?.code == .unencodable)
            }
        }
    }

    @Test func `"not found" is a response only where the table says so`() {
        for (request, _) in Self.pairs {
            let response = try? ServerResponse.decode(nil, to: request, catalog: Samples.catalog)
            #expect((response != nil) == request.call.mayBeNotFound)
        }
    }

    @Test func `the spaces of a query for hints are the same after the wire`() {
        let spaces: [SpaceID] = [.default, "north"]
        #expect(WirePath.spaces(inQuery: WirePath.query(forHintsOf: spaces)) == spaces)
        #expect(WirePath.spaces(inQuery: "space=north&space=north") == ["north"])
        #expect(WirePath.spaces(inQuery: "space=north&page=2") == nil)
    }
}
