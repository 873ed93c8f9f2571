import Foundation
import Testing
import Tombolo

/// Tests that every line of code in the guides for applications occurs in a file that is compiled.
@Suite struct GuideTests {
    static let guides = [
        "GetStarted", "OwnModels", "ObserveAndQuery", "WhenTheServerRefuses", "RunAServer", "Spaces", "Tokens",
        "Inject",
        "TestYourApplication", "ReadAReport", "README",
    ]
    private static let samples = [
        "TomboloTests/GuideSamples", "TomboloTests/GuideTestSamples", "TomboloServerTests/ServerGuideSamples",
        "SyncTestKitTests/AppSyncTests", "SyncSimulationTests/Report/ReportGuideSamples",
    ]

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Returns a line without its comment, and without `public` and `@main`, which depend on the context.
    private static func code(_ line: some StringProtocol) -> String {
        // A split at the slashes with their spaces does not cut URLs.
        let code = line.components(separatedBy: " // ").first ?? ""
        return code.replacing("public ", with: "").replacing("@main ", with: "").trimmingCharacters(in: .whitespaces)
    }

    /// Returns the code blocks of a guide, except the manifest of its package, which `tools/soak package` builds.
    private static func blocks(_ guide: String) throws -> [String] {
        try text(guide == "README" ? "README.md" : "Sources/Root/Tombolo/Tombolo.docc/\(guide).md").components(
            separatedBy: "```swift\n"
        ).dropFirst()
            .map { $0.components(separatedBy: "```").first ?? "" }
            .filter { !$0.contains("import PackageDescription") }
    }

    @Test(arguments: guides)
    func `the code of a guide is compiled`(guide: String) throws {
        let samples = try Self.samples.map { try Self.text("Tests/\($0).swift") }
        let compiled = Set(samples.joined(separator: "\n").split(separator: "\n").map(Self.code))
        let blocks = try Self.blocks(guide)
        #expect(!blocks.isEmpty)
        for line in blocks.flatMap({ $0.split(separator: "\n") }).map(Self.code)
        where !line.isEmpty && !line.hasPrefix("import ") {
            #expect(compiled.contains(line), "\(guide).md: not compiled: \(line)")
        }
    }

    @Test func `the models of the guides have no errors`() throws {
        #expect(throws: Never.self) {
            try ModelCatalog([
                GuideModels.Todo.self, GuideModels.Person.self, GuideModels.Badge.self, GuideModels.Invoice.self,
            ])
        }
    }
}

/// Tests that `GuideTests` covers every guide that has Swift code.
@Suite struct GuideCoverageTests {
    @Test func `every guide with code for applications is compared`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/Root/Tombolo/Tombolo.docc")
        let guides = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
            .filter { $0.hasSuffix(".md") }
        for guide in guides.sorted() {
            let text = try String(contentsOf: folder.appending(path: guide), encoding: .utf8)
            let name = String(guide.dropLast(3))
            #expect(!text.contains("```swift") || GuideTests.guides.contains(name), "\(guide) is not compared")
        }
    }
}
