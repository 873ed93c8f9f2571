import Foundation
import SyncSimulation
import TestRings

/// The settings of a run and the weights of its faults, which a seed determines. Many of the weights are zero.
///
/// A seed fixes the settings but not the moments at which faults happen, which depend on the machine. A seed therefore
/// selects a kind of conditions and does not replay a run.
struct ChaosPlan: Sendable {
    let seed: UInt64
    let devices: Int
    let isEncrypted: Bool
    /// The percentage of commands that are killed.
    let killedCommands: Int
    /// The percentage of commands that are syncs.
    let syncs: Int
    /// The number of devices with a process that syncs continuously.
    let watchers: Int
    /// The faults of this run, with their weights.
    let faults: [(fault: Fault, weight: Int)]
    /// The longest pause between two faults, in milliseconds.
    let rest: Int
    let settings: [String: String]
    /// How long the faults last.
    let duration: Duration

    enum Fault: String, CaseIterable, Sendable {
        case killServer, endServer, stopServer, killWatcher, stopWatcher, cut, refuse, delay, halfOpen, truncate, damage
    }

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed, stream: "plan")
        self.seed = seed
        duration = Self.duration
        devices = 2 + random.below(3)
        // In plain text, damage to bytes can change values undetected. Only TLS detects it.
        isEncrypted = random.below(3) == 0
        killedCommands = random.below(2) == 0 ? 0 : random.within(5...40)
        syncs = random.within(10...40)
        watchers = random.below(devices + 1)
        var faults: [(Fault, Int)] = []
        for fault in Fault.allCases {
            let weight = random.below(5) < 2 ? 0 : random.within(1...4)
            if fault == .damage && !isEncrypted { continue }
            if weight > 0 { faults.append((fault, weight)) }
        }
        self.faults = faults.isEmpty ? [(.killServer, 1)] : faults
        rest = random.within(20...400)
        settings = [
            // A request that hangs must time out within the few seconds of a run.
            "SYNCCTL_SERVER_CONNECT_TIMEOUT": "1s", "SYNCCTL_SERVER_REQUEST_TIMEOUT": "1500ms",
            "SYNCCTL_SYNC_BATCH_TRANSACTIONS": String([1, 2, 7, 200][random.below(4)]),
            "SYNCCTL_SYNC_PAGE_ROWS": String([1, 3, 50, 1_000][random.below(4)]),
            "SYNCCTL_SYNC_HINTS": random.below(4) == 0 ? "false" : "true",
        ]
    }

    func fault(_ random: inout SeededRandom) -> Fault {
        var left = random.below(faults.reduce(0) { $0 + $1.weight })
        for (fault, weight) in faults {
            if left < weight { return fault }
            left -= weight
        }
        return .cut
    }

    /// The seeds to run: `BLACKBOX_SEEDS`, such as `'0..<60'`, `'3...5'`, or `'7,9'`, or a few by default.
    static let seeds: [UInt64] = {
        guard let text = ProcessInfo.processInfo.environment["BLACKBOX_SEEDS"] else {
            return TestRing.sample([0], [0, 1, 2])
        }
        // A run without seeds would pass and prove nothing.
        guard let seeds = seeds(text), !seeds.isEmpty else {
            preconditionFailure("BLACKBOX_SEEDS is '\(text)', which is not of the form 0..<60, 3...5 or 7,9")
        }
        return seeds
    }()

    /// Returns the seeds in the text, or nil if the text is invalid.
    static func seeds(_ text: String) -> [UInt64]? {
        for (mark, isClosed) in [("..<", false), ("...", true)] {
            guard let range = text.range(of: mark) else { continue }
            guard let first = UInt64(text[..<range.lowerBound]), let last = UInt64(text[range.upperBound...]),
                first <= last
            else { return nil }
            return isClosed ? Array(first...last) : Array(first..<last)
        }
        let seeds = text.split(separator: ",", omittingEmptySubsequences: false).map { UInt64($0) }
        return seeds.contains(nil) ? nil : seeds.compactMap { $0 }
    }

    /// How long the faults of one seed last: `BLACKBOX_SECONDS`, from 0.1 to 600 seconds, 5 by default.
    private static let duration: Duration = {
        guard let text = ProcessInfo.processInfo.environment["BLACKBOX_SECONDS"] else {
            return TestRing.sample(.seconds(2), .seconds(5))
        }
        guard let seconds = Double(text), (0.1...600).contains(seconds) else {
            preconditionFailure("BLACKBOX_SECONDS is '\(text)', which is not a number from 0.1 to 600")
        }
        return .milliseconds(Int(seconds * 1_000))
    }()
}
