import Foundation
import Testing
import Tombolo

/// Every line of code in the guides for applications is compiled.
@Suite struct GuideTests {
    static let guides = ["GetStarted", "OwnModels", "ObserveAndQuery", "WhenTheServerRefuses"]

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static func code(_ line: some StringProtocol) -> String {
        let code = line.components(separatedBy: "//").first ?? ""
        return code.trimmingCharacters(in: .whitespaces)
    }

    @Test(arguments: guides)
    func `the code of a guide is compiled`(guide: String) throws {
        let text = try Self.text("Sources/Root/Tombolo/Tombolo.docc/\(guide).md")
        let samples = try ["GuideSamples", "GuideTestSamples"].map { try Self.text("Tests/TomboloTests/\($0).swift") }
        let compiled = Set(samples.joined(separator: "\n").split(separator: "\n").map(Self.code))
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```").first ?? ""
        }
        #expect(!blocks.isEmpty)
        for line in blocks.flatMap({ $0.split(separator: "\n") }).map(Self.code) where !line.isEmpty {
            #expect(compiled.contains(line), "\(guide).md: not compiled: \(line)")
        }
    }

    @Test func `the models of the guides have no errors`() throws {
        #expect(throws: Never.self) {
            try ModelCatalog([GuideModels.Todo.self, GuideModels.Person.self, GuideModels.Badge.self])
        }
    }
}
