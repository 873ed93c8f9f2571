import Foundation
import TestRings
import Testing

/// Runs all kinds of faults together, from a seed. `BLACKBOX_SEEDS='0..<60'` runs more seeds, and
/// `BLACKBOX_SECONDS='60'` runs each for longer.
@Suite(.ring(.test), .serialized) struct BlackBoxChaosTests {
    @Test(.timeLimit(.minutes(15)), arguments: ChaosPlan.seeds)
    func `the invariants hold after any combination of faults`(seed: UInt64) async throws {
        try await onOwnThread {
            let run = try ChaosRun(seed: seed)
            defer { run.testbed.end() }
            let (findings, words) = try run.run()
            print(words)
            if !findings.isEmpty, let keep = ProcessInfo.processInfo.environment["BLACKBOX_KEEP"] {
                try? FileManager.default.copyItem(atPath: run.testbed.folder, toPath: "\(keep)/seed-\(seed)")
            }
            try require(
                findings.isEmpty, "seed \(seed): " + findings.prefix(12).map(\.description).joined(separator: "\n"))
        }
    }
}
