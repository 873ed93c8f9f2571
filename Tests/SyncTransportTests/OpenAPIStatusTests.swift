import Schemas
import SyncAuthority
import SyncJSON
import SyncWire
import TestRings
import Testing

/// Checks that the OpenAPI document lists every status that a client can get from the server.
@Suite(.ring(.test)) struct OpenAPIStatusTests {
    private static let authorized = "Authorization: Bearer \(TestServer.good)"
    private static let json = "Content-Type: application/json"
    private static let id = "0123456789abcdef0123456789abcdef"

    private struct Document {
        let paths: JSONValue
        let shared: JSONValue?

        init() throws {
            let document = try JSONValue(Array(WireSchema.openAPI))
            paths = try #require(document["paths"])
            shared = document["components"]?["responses"]
        }

        var names: [String] {
            guard case .object(let members) = paths else { return [] }
            return members.map(\.key)
        }

        /// Returns the only operation of a path; nil if the path does not have exactly one.
        private func operation(_ path: String) -> (method: String, responses: JSONValue)? {
            guard case .object(let members)? = paths[path], let member = members.first, members.count == 1,
                let responses = member.value["responses"]
            else { return nil }
            return (member.key, responses)
        }

        func method(_ path: String) -> String? { operation(path)?.method }

        func response(_ status: String, of path: String) -> JSONValue? {
            guard let response = operation(path)?.responses[status] else { return nil }
            guard case .string(let reference)? = response["$ref"] else { return response }
            return shared?[String(reference.split(separator: "/").last ?? "")]
        }
    }

    private static func request(_ line: String, _ path: String, _ fields: [String], _ body: String = "") -> String {
        RawRequest.http("\(line) \(path)", fields + ["Content-Length: \(body.utf8.count)"], body)
    }

    /// Requests to one path that get every kind of response, except those that need a failing store or a slow peer.
    private static func requests(_ path: String, _ method: String) -> [String] {
        let named = "Tombolo-Request: \(id)"
        let other = method == "GET" ? "POST" : "GET"
        let bodies = [
            "", "{", "{}", #"{"space":"default","limit":5}"#, #"{"space":"default","collection":"notes","uid":7}"#,
            #"{"space":"secret","limit":5}"#, #"{"space":"default","limit":5,"account":"ben"}"#,
        ]
        return [
            request(method, path, [named]), request(method, path, [named, authorized, json]),
            request(method, path, [named, "Authorization: Bearer \(TestServer.bad)", json]),
            request(other, path, [named, authorized, json]), request(other, path, [named, json]),
            request("DELETE", path, [named, authorized]), request("HEAD", path, [named, authorized]),
            request(method, path + "?space=Bad", [named, authorized]),
            request(method, path + "?space=secret", [named, authorized]),
            request(method, path, [named, authorized, "Content-Type: text/plain"], "x"),
            request(method, path, [named, authorized, json, "Content-Encoding: gzip"], "{}"),
            "\(method) \(path) HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "\(method) \(path) HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 40_000) + "\r\n\r\n",
            "\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(authorized)\r\n\(json)\r\nContent-Length: 10737418240\r\n\r\n",
        ] + bodies.map { request(method, path, [named, authorized, json], $0) }
    }

    @Test func `each status that the server sends is in the OpenAPI document, with its header`() async throws {
        let document = try Document()
        var found: Set<String> = []
        for path in document.names {
            let method = try #require(document.method(path)).uppercased()
            let requests = Self.requests(path, method)
            let answers = try await TestServer.run(TestServer.authority()) { port in
                var answers: [String] = []
                for request in requests {
                    // The head of the response is enough. The stream of hints would not end.
                    answers.append(try await RawRequest.send([request], to: port) { $0.contains("\r\n\r\n") })
                }
                return answers
            }
            for (request, answer) in zip(requests, answers) {
                let status = RawRequest.status(answer)
                found.insert(status)
                let response = document.response(status, of: path)
                #expect(response != nil, "\(path): \(status) is not documented: \(request.prefix(200))")
                guard answer.lowercased().contains("tombolo-request: \(Self.id)") else { continue }
                #expect(
                    response?["headers"]?["Tombolo-Request"] != nil, "\(path) \(status): the header is not documented")
            }
        }
        #expect(found.isSuperset(of: ["200", "400", "401", "403", "404", "405", "413", "415", "431"]), "\(found)")
    }

    @Test func `each path documents the failures of the store, of slow peers, and of the server`() throws {
        let document = try Document()
        for path in document.names {
            var statuses = ["400", "401", "405", "408", "431"]
            if path != WirePath.openAPI { statuses.append("503") }
            if path.hasPrefix("/v1/"), path != WirePath.openAPI { statuses += ["429", "500"] }
            if document.method(path) == "post" { statuses += ["413", "415"] }
            for status in statuses {
                let response = document.response(status, of: path)
                #expect(response?["description"] != nil, "\(path): \(status) is not documented")
            }
        }
    }
}
