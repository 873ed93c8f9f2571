import SyncCore

/// A short script that is run many times, each time with a fault one operation later.
public struct CrashScenario: Hashable, Sendable {
    public let name: String
    public let script: WorldScript

    init(
        _ name: String, devices: Int = 2, operations: Int = 12, seed: UInt64,
        setting: (inout WorldSetting) -> Void = { _ in },
        happenings: [Int: [WorldEvent]] = [:]
    ) {
        self.name = name
        var plan = WorldPlan.calm(seed: seed, devices: devices, steps: operations)
        plan.rates.recover = 0
        setting(&plan.setting)
        var script = plan.script
        for (step, happenings) in happenings where script.moments.indices.contains(step) {
            script.moments[step].happenings.insert(contentsOf: happenings, at: 0)
        }
        self.script = script
    }

    public static let all: [CrashScenario] = [
        CrashScenario("one device writes", devices: 1, operations: 10, seed: 1),
        CrashScenario("one device writes and does not flush", devices: 1, operations: 10, seed: 1) {
            $0.unflushed = [0]
        },
        CrashScenario("one device writes and reads beside it", devices: 1, operations: 10, seed: 6) {
            $0.readers = [0]
        },
        CrashScenario("two devices write", seed: 7),
        CrashScenario("three devices write to the same records", devices: 3, operations: 18, seed: 11),
        CrashScenario("small pages", seed: 3) { setting in
            setting.policy.pageRows = 2
            setting.policy.smallestPage = 2
        },
        CrashScenario("one transaction a push", seed: 4) { $0.policy.batch.transactions = 1 },
        CrashScenario("polling without hints", seed: 5) { $0.policy.listensForHints = false },
        CrashScenario("answers are lost", operations: 16, seed: 26) { $0.network.loseResponseRate = 0.3 },
        CrashScenario("requests arrive twice", seed: 8) { $0.network.duplicateRate = 0.6 },
        CrashScenario("messages overtake each other", seed: 9) { setting in
            setting.network.lateRate = 0.3
            setting.network.lateness = .seconds(1)...(.seconds(20))
        },
        CrashScenario(
            "a device restarts", seed: 12,
            happenings: [4: [.device(0, .killed)], 6: [.device(0, .recovers)], 8: [.device(1, .losesPower(seed: 5))]]),
        CrashScenario(
            "the server restarts", seed: 21, happenings: [4: [.server(.killed)], 7: [.server(.recovers)]]),
        CrashScenario(
            "a second process serves the same database", seed: 19,
            happenings: [3: [.server(.secondStarts)], 8: [.server(.killed)]]),
        CrashScenario(
            "an engine is stopped and started", seed: 12,
            happenings: [4: [.device(0, .stops)], 6: [.device(0, .recovers)], 8: [.device(1, .stops)]]),
        CrashScenario(
            "a device is long without a link", operations: 20, seed: 14,
            happenings: [2: [.device(0, .losesLink)], 17: [.device(0, .recovers)]]),
        CrashScenario(
            "history is compacted behind a device", operations: 16, seed: 15,
            happenings: [
                5: [.device(1, .cutOff(.toServer))], 12: [.server(.compacted(keeping: 0))], 14: [.device(1, .recovers)],
            ]),
        CrashScenario(
            "a backup of the server is restored", operations: 16, seed: 16,
            happenings: [6: [.server(.backedUp)], 12: [.server(.restored)]]),
        CrashScenario(
            "a backup of the server is restored, and nobody says so", operations: 16, seed: 16,
            happenings: [6: [.server(.backedUp)], 12: [.server(.restoredSilently)]]),
        CrashScenario(
            "a device's disk is rolled back", operations: 16, seed: 17,
            happenings: [6: [.device(0, .imageKept)], 12: [.device(0, .rolledBack)]]),
        CrashScenario(
            "access is lost, and comes back to one of two", operations: 16, seed: 20,
            happenings: [
                4: [.server(.accessChanged(device: 0, space: 0))], 9: [.server(.accessChanged(device: 0, space: 0))],
                12: [.server(.accessChanged(device: 1, space: 0))],
            ]),
        CrashScenario(
            "a clock is wrong", seed: 18,
            happenings: [
                3: [.device(0, .clock(wrongBy: .seconds(-3_600)))], 8: [.device(0, .clock(wrongBy: .seconds(40)))],
            ]),
    ]
}
