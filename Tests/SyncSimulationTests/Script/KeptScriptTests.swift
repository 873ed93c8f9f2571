import Foundation
import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

/// Scripts that once broke a promise, reduced; each must keep them all now. `syncsim shrink` makes them.
@Suite(.ring(.test), .onWorldThreads) struct KeptScriptTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("KeptScripts")

    static let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        .filter { $0.pathExtension == "world" }
        .sorted { $0.path < $1.path }

    @Test func `there are kept scripts`() throws {
        #expect(try #require(Self.files).count >= 2)
    }

    @Test(arguments: files ?? [])
    func `what was found stays fixed`(file: URL) throws {
        let script = try WorldScript(text: String(contentsOf: file, encoding: .utf8))
        let report = try World(script, parts: .onSQLite()).run()
        #expect(report.operations > 0)
    }
}
