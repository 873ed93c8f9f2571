import Foundation
import TestRings
import Testing

/// Tests which modules a client program links.
@Suite(.ring(.check)) struct LinkTests {
    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "SmallClient")

    /// Returns whether a program has symbols of a module. A mangled symbol begins with `$s`, the length of the module's
    /// name, and the name.
    private static func links(_ module: String, in binary: Data) -> Bool {
        binary.range(of: Data("$s\(module.utf8.count)\(module)".utf8)) != nil
    }

    @Test func `a client links no server code and no test kit`() throws {
        let binary = try Data(contentsOf: Self.program, options: .mappedIfSafe)
        for module in ["Tombolo", "SyncObjects", "SyncCore", "SyncStoreSQLite"] {
            #expect(Self.links(module, in: binary), "the test does not find \(module), which is linked")
        }
        for module in [
            "Hummingbird", "HummingbirdCore", "SyncServerHTTP", "SyncAuthority", "AuthorityStoreSQLite",
            "TomboloServer", "LoopbackPage", "CryptoExtras",
            "SyncTestKit", "SyncSimulation", "ArgumentParser", "TomboloCommunity",
        ] {
            #expect(!Self.links(module, in: binary), "a client links \(module)")
        }
    }
}
