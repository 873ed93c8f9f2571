import Testing

// SwiftPM uses a file of this name instead of one that it generates from an index of all sources, which takes a quarter
// of the time of a build. See build_debug in tools/lib/setup.sh.

/// The entry point of the program with all tests.
@main enum TestProgram {
    static func main() async {
        // `swift test` starts the program once for each library of tests. No test uses XCTest.
        guard CommandLine.arguments.contains("swift-testing") else { return }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
