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

    /// Returns whether a version is the same as another one or newer. A pre-release comes before its release, and a
    /// version that cannot be read comes before all others.
    private static func isAtLeast(_ found: some StringProtocol, _ wanted: [Int]) -> Bool {
        let numbers = found.prefix { $0 != "-" && $0 != "+" }.split(separator: ".").map { Int($0) }
        let known = numbers.compactMap(\.self)
        guard known.count == numbers.count, known.count == wanted.count else { return false }
        guard known == wanted else { return wanted.lexicographicallyPrecedes(known) }
        return !found.contains("-")
    }

    @Test func `versions are compared number by number, and a pre-release comes before its release`() {
        for version in ["1.2.3", "1.2.4", "1.10.0", "2.0.0", "1.2.3+build", "1.3.0-beta.1"] {
            #expect(Self.isAtLeast(version, [1, 2, 3]), "\(version)")
        }
        for version in ["1.2.2", "1.1.9", "0.9.9", "1.2.3-beta", "1.2", "main", ""] {
            #expect(!Self.isAtLeast(version, [1, 2, 3]), "\(version)")
        }
    }

    @Test func `S41: no version that the manifest allows is older than the fix of an advisory`() throws {
        let manifest = try String(contentsOf: SourceTree.root.appending(path: "Package.swift"), encoding: .utf8)
        var names: Set<String> = []
        for match in manifest.matches(of: /url: "[^"]*\/([^"\/]+)", from: "([0-9.]+)"/) {
            names.insert(String(match.1))
            for fix in Self.fixes where fix.package == match.1 {
                #expect(Self.isAtLeast(match.2, fix.version), "\(fix.package): \(fix.advisory)")
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
        // SwiftPM writes this file when it builds the package. It is not in the repository.
        let text = try Data(contentsOf: SourceTree.root.appending(path: "Package.resolved"))
        let pins = try JSONDecoder().decode(Pins.self, from: text).pins
        for fix in Self.fixes {
            let pin = pins.first { $0.identity == fix.package }
            let version = try #require(pin?.state.version, "\(fix.package) has no version")
            #expect(Self.isAtLeast(version, fix.version), "\(fix.package): \(fix.advisory)")
        }
    }
}
