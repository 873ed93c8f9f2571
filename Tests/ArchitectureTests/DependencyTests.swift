import Foundation
import Testing

/// Checks the dependencies against the security advisories that concern this package.
@Suite struct DependencyTests {
    /// The first version with the fix of each advisory that is known to concern this package. Extend the list when
    /// another advisory is published: https://github.com/advisories lists them by package.
    private static let fixes: [(package: String, version: [Int], advisory: String)] = [
        ("swift-nio", [2, 100, 0], "GHSA-cq87-8r7h-962v: a line break in a request line"),
        (
            "swift-nio-http2", [1, 44, 1],
            "CVE-2026-28980 and GHSA-4px2-pw77-vc85: header counts, smuggling to HTTP/1.1"
        ),
    ]

    private static func version(_ text: Substring) -> [Int] { text.split(separator: ".").map { Int($0) ?? -1 } }

    private static func isAtLeast(_ found: [Int], _ wanted: [Int]) -> Bool { !found.lexicographicallyPrecedes(wanted) }

    @Test func `S41: no version that the manifest allows is older than the fix of an advisory`() throws {
        let manifest = try String(contentsOf: SourceTree.root.appending(path: "Package.swift"), encoding: .utf8)
        var names: Set<String> = []
        for match in manifest.matches(of: /url: "[^"]*\/([^"\/]+)", from: "([0-9.]+)"/) {
            names.insert(String(match.1))
            for fix in Self.fixes where fix.package == match.1 {
                #expect(Self.isAtLeast(Self.version(match.2), fix.version), "\(fix.package): \(fix.advisory)")
            }
        }
        #expect(names.contains("swift-nio") && names.contains("hummingbird"))
        // A dependency on a branch could change without a new version.
        let count = manifest.matches(of: /\.package\(/).count
        #expect(count == names.count, "each package has a lower bound: from:")
    }

    @Test func `S41: no version of this build is older than the fix of an advisory`() throws {
        struct Pins: Decodable {
            struct Pin: Decodable {
                struct State: Decodable { let version: String? }
                let identity: String
                let state: State
            }
            let pins: [Pin]
        }
        // SwiftPM writes this file only for the root package of a build. It is not in the repository.
        guard let text = try? Data(contentsOf: SourceTree.root.appending(path: "Package.resolved")) else { return }
        let pins = try JSONDecoder().decode(Pins.self, from: text).pins
        for fix in Self.fixes {
            let pin = pins.first { $0.identity == fix.package }
            let version = Self.version(try #require(pin?.state.version, "\(fix.package) has no version")[...])
            #expect(Self.isAtLeast(version, fix.version), "\(fix.package): \(fix.advisory)")
        }
    }
}
