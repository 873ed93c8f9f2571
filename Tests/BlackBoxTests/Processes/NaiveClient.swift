import Foundation
import Glibc

/// A second client of the protocol (`Tests/PythonClient`). Its state is one file, and each command is a process.
final class NaiveClient: Sendable {
    let proxy: ByteProxy
    private let state: String
    private let token: String
    private let logs: String

    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let script = tests.appending(path: "PythonClient/naive_client.py").path(percentEncoded: false)
    static let examples = tests.deletingLastPathComponent().appending(path: "Schemas/wire/examples")
        .path(percentEncoded: false)

    /// Whether Python is available to run the client.
    static let isAvailable = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
        access("\($0)/python3", X_OK) == 0
    }

    /// Creates a client with its own account. It has not pulled anything yet.
    init(in testbed: Testbed) throws {
        state = "\(testbed.folder)/naive.json"
        token = "\(testbed.folder)/naive.token"
        logs = "\(testbed.folder)/logs"
        try testbed.server.addToken("naive", to: token)
        proxy = try ByteProxy(upstream: testbed.server.port, seed: 7)
    }

    func start(_ words: [String]) throws -> Child {
        let all =
            ["/usr/bin/env", "python3", Self.script]
            + ["--state", state, "--url", "http://127.0.0.1:\(proxy.port)", "--token-file", token] + words
        // The client gets the machine's PATH, because Python may be installed anywhere.
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return try Child(
            "naive client: \(words.first ?? "")", all, variables: ["PATH": path, "PYTHONDONTWRITEBYTECODE": "1"],
            log: "\(logs)/naive-\(UUID().uuidString)")
    }

    @discardableResult
    func expect(_ words: String...) throws -> CommandResult {
        let child = try start(words)
        let status = try child.wait(atMost: .processTimeout)
        try require(status == 0, "naive client: \(words) ended with \(status): \(child.errors)")
        return CommandResult(status: status, output: child.output, errors: child.errors)
    }

    /// Pulls one page.
    ///
    /// - Returns: Whether there are more pages.
    func pull(limit: Int) throws -> Bool {
        try expect("pull", "--limit", String(limit)).objects.first?["hasMore"] as? Bool ?? false
    }

    /// Returns the client's records in the format of `Observation`.
    func rows() throws -> [String: String] {
        var rows: [String: String] = [:]
        for object in try expect("rows").objects {
            let collection = object["collection"] as? String ?? ""
            guard let known = Observation.collections.first(where: { $0.name == collection }) else { continue }
            let fields = object["fields"] as? [String: any Sendable] ?? [:]
            let values = known.values.map { (fields[$0] as? String).map { "'\($0)'" } ?? "-" }
            let references = known.references.map { name in
                (fields[name] as? [String: any Sendable])?["$ref"].map { "'\($0)'" } ?? "-"
            }
            let numbers = ["uid", "version"].map { (object[$0] as? Int).map { String($0) } ?? "-" }
            rows["\(collection) \(object["id"] ?? "")"] = (numbers + values + references).joined(separator: " ")
        }
        return rows
    }
}
