import Foundation
import Testing
import Tombolo

/// Tests the program in the README.
@Suite struct ReadmeTests {
    /// The program of the README. It is compiled but never run, because it would sync until it is stopped.
    private func program() async throws {
        let client = try ClientComposition.fromEnvironment()  // TOMBOLO_SERVER_URL and the like
        let community = try client.community

        let ned = community.users.make(username: "Ned Stark")
        let avatar = community.avatars.make(author: ned)
        try await avatar.create()  // durable at once; creates the author, too
        ned.avatar = avatar
        try await ned.save()  // sent as soon as the server can be reached

        if case .acquired(let lease) = try client.acquireLease() {  // one process syncs a database
            try await client.services(handlesSignals: true).run()  // until SIGTERM or SIGINT
            withExtendedLifetime(lease) {}
        }
        await client.close()
    }

    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static func code(_ line: some StringProtocol) -> String {
        let code = line.components(separatedBy: "//").first ?? ""
        return code.trimmingCharacters(in: .whitespaces)
    }

    @Test func `the program of the README compiles`() throws {
        let parts = try Self.text("README.md").components(separatedBy: "```swift\n")
        let program = try #require(parts.dropFirst().first?.components(separatedBy: "```").first)
        let compiled = try Self.text("Tests/SyncBootstrapTests/ReadmeTests.swift").split(separator: "\n").map(Self.code)
        let lines = program.split(separator: "\n").map(Self.code)
        #expect(lines.count > 10)
        for line in lines { #expect(compiled.contains(line), "not compiled: \(line)") }
    }

    @Test func `a client from the environment keeps its records and has one object for each`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let variables = ["HOME": folder.path(percentEncoded: false), "TOMBOLO_ENVIRONMENT": "development"]
        let client = try ClientComposition.fromEnvironment(variables)
        let ned = try client.community.users.make(username: "Ned Stark")
        try await ned.create()
        let id = try #require(ned.id)
        #expect(try client.community.users.user(id: id) === ned)
        await client.close()

        let again = try ClientComposition.fromEnvironment(variables)
        #expect(try await again.community.users.users().map(\.username) == ["Ned Stark"])
        await again.close()
    }

    @Test func `an unknown variable is reported by name`() {
        let error = #expect(throws: ConfigurationProblem.self) {
            try ClientComposition.fromEnvironment(["HOME": "/nonexistent", "TOMBOLO_SERVER_ULR": "http://[::1]"])
        }
        #expect(error?.message.contains("TOMBOLO_SERVER_ULR") == true)
    }
}
