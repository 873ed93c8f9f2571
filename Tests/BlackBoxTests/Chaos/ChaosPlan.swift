import Foundation
import SyncSimulation
import TestRings

/// The choices of a seed: the shape of a run and its rates, of which many are zero.
///
/// The choices are the seed's; when they meet the programs is the machine's. A seed is a kind of conditions, not a replay.
struct ChaosPlan: Sendable {
    let seed: UInt64
    let devices: Int
    let isEncrypted: Bool
    /// Of a hundred commands, how many are killed.
    let killedCommands: Int
    /// Of a hundred commands, how many are syncs of their own.
    let syncs: Int
    /// How many devices have a process that stays and syncs.
    let watchers: Int
    /// The faults that this run knows, by weight.
    let faults: [(fault: Fault, weight: Int)]
    /// The longest rest between two faults, in milliseconds.
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
        // Damage to bytes in plain text damages values, and nobody can notice: that is what TLS is for.
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
            // A request that hangs must be given up within the few seconds that a run lasts.
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

    /// The seeds to run: `BLACKBOX_SEEDS`, as `'0..<60'`, `'3...5'` or `'7,9'`; otherwise a few.
    static let seeds: [UInt64] = {
        guard let text = ProcessInfo.processInfo.environment["BLACKBOX_SEEDS"] else {
            return TestRing.current < .check ? [0] : [0, 1, 2]
        }
        // A run of no seeds would pass, and prove nothing.
        guard let seeds = seeds(text), !seeds.isEmpty else {
            preconditionFailure("BLACKBOX_SEEDS is '\(text)', which is not of the form 0..<60, 3...5 or 7,9")
        }
        return seeds
    }()

    /// Nil when the text is not understood.
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

    /// How long the faults of one seed last: `BLACKBOX_SECONDS`, from 0.1 to 600; otherwise 5 seconds.
    private static let duration: Duration = {
        guard let text = ProcessInfo.processInfo.environment["BLACKBOX_SECONDS"] else {
            return TestRing.current < .check ? .seconds(2) : .seconds(5)
        }
        guard let seconds = Double(text), (0.1...600).contains(seconds) else {
            preconditionFailure("BLACKBOX_SECONDS is '\(text)', which is not a number from 0.1 to 600")
        }
        return .milliseconds(Int(seconds * 1_000))
    }()
}
