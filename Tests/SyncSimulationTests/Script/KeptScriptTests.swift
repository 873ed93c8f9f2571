import Foundation
import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

/// Runs the scripts of worlds that once failed, reduced by `syncsim shrink`. Each must now keep all promises.
@Suite(.ring(.test), .onWorldThreads) struct KeptScriptTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("KeptScripts")

    static let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        .filter { $0.pathExtension == "world" }
        .sorted { $0.path < $1.path }

    @Test func `the folder of kept scripts is not empty`() throws {
        #expect(try #require(Self.files).count >= 2)
    }

    /// The scripts to run. In `tools/test`, only every third script runs.
    static let sampled = stride(from: 0, to: files?.count ?? 0, by: TestRing.sample(3, 1)).compactMap { files?[$0] }

    @Test(arguments: sampled)
    func `a script that once broke a promise now keeps all of them`(file: URL) throws {
        let script = try WorldScript(text: String(contentsOf: file, encoding: .utf8))
        let report = try World(script, parts: .onSQLite()).run()
        #expect(report.operations > 0)
    }
}
