import Foundation
import Testing
import Tombolo

/// The model of the program in the README.
private struct Todo: Model {
    static let collection = "todo"
    let title = Field<String>("title", .required, .length(1...200))
    let isDone = Field<Bool>("is_done", default: false)
}

/// Tests that the program in the README is compiled.
@Suite struct ReadmeTests {
    /// The program of the README. It is compiled but never run, because it would sync until it is stopped.
    private func program() async throws {
        try await withClient("todo", models: [Todo.self]) { client in  // the server comes from TODO_SERVER_URL
            let milk = try await client.create(Todo.self) { $0.title = "Milk" }  // durable here at once
            milk.isDone = true
            let receipt = try await milk.save()  // on its way to the server whenever there is one
            try await receipt.confirmed()  // accepted there, or throws the server's reason

            for try await todos in client.query(Todo.self).where({ !$0.isDone }).updates {
                print(todos.map(\.title))  // now, and after each change of any device
            }
        }
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
        for line in lines where line != "struct Todo: Model {" {
            #expect(compiled.contains(line), "not compiled: \(line)")
        }
    }
}
