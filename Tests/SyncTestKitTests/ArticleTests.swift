import Foundation
import TestRings
import Testing

@Suite(.ring(.unit)) struct ArticleTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `the example of the article is a test with fewer than 30 lines`() throws {
        let article = try Self.text("Sources/Root/Tombolo/Tombolo.docc/TestYourApplication.md")
        let parts = article.components(separatedBy: "```swift\n")
        let example = try #require(parts.dropFirst().first?.components(separatedBy: "```").first)
        let lines = example.split(separator: "\n")
        #expect(lines.count < 30)
        let test = try Self.text("Tests/SyncTestKitTests/AppSyncTests.swift")
        #expect(test.split(separator: "\n").filter { !$0.hasPrefix("///") } == lines)
    }
}
