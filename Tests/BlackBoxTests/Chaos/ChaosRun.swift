import Foundation
import Glibc
import SyncConcurrency
import SyncSimulation

/// The run of one seed: users write, processes and connections fail, and a reader takes samples of the databases. Then
/// all faults end, and the checker checks the invariants.
final class ChaosRun: Sendable {
    let plan: ChaosPlan
    let ledger = Ledger()
    let testbed: Testbed
    private let crew = WorkerThreads()
    private let samples = Guarded<[Sample]>([])
    private let counts = Guarded<[String: Int]>([:])

    init(seed: UInt64) throws {
        plan = ChaosPlan(seed: seed)
        let names = ["laptop", "phone", "kiosk", "tablet"].prefix(plan.devices)
        testbed = try Testbed(
            devices: Array(names), seed: seed, isEncrypted: plan.isEncrypted, settings: plan.settings)
    }

    /// - Returns: The violations of invariants, and a description of the run.
    func run() throws -> (findings: [Violation], words: String) {
        for device in testbed.devices { try device.expect(0, "init") }
        for (index, device) in testbed.devices.enumerated() {
            if index < plan.watchers { try device.startWatch() }
            let author = Guarded(Author(device, ledger, plan))
            let crew = crew
            crew.work { try author.withLock { author in try author.turn() } }
        }
        let fate = Guarded(SeededRandom(seed: plan.seed, stream: "faults"))
        crew.work { [self] in
            var random = fate.withLock { $0 }
            try strike(&random)
            let next = random
            fate.withLock { $0 = next }
        }
        crew.work { [self] in try look() }
        try crew.finish(after: plan.duration)
        for device in testbed.devices where device.isWatching { device.signalWatch(SIGCONT) }
        testbed.server.send(SIGCONT)
        if !testbed.server.isRunning { try testbed.server.start() }

        let began = ContinuousClock.now
        let looks = samples.withLock { $0 }
        let evidence = try testbed.settle(
            ledger, samples: looks, quiet: .seconds(1), cutsConnectionsFirst: plan.duration < .seconds(20))
        let findings = try Checker.findings(in: evidence)
        let writes = ledger.writes
        let faults = counts.withLock { $0 }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        let settling = ContinuousClock.now - began
        let words = """
            black box: seed \(plan.seed): \(plan.devices) devices, \(plan.watchers) watching, \
            \(plan.isEncrypted ? "TLS" : "plain"), \(writes.count) writes (\(writes.count { $0.fate == .unknown }) unknown), \
            \(looks.count) looks, \(faults.joined(separator: ", ")); at rest and checked after \(settling.words)
            """
        return (findings, words)
    }

    // MARK: Faults

    private func strike(_ random: inout SeededRandom) throws {
        crew.rest(.milliseconds(random.below(plan.rest)))
        let fault = plan.fault(&random)
        counts.withLock { $0[fault.rawValue, default: 0] += 1 }
        let device = testbed.devices[random.below(testbed.devices.count)]
        let lasting = Duration.milliseconds(random.within(20...900))
        switch fault {
        case .killServer, .endServer:
            let status = testbed.server.end(fault == .killServer ? SIGKILL : SIGTERM)
            if fault == .endServer {
                try require(status == 0, "syncd ended with \(status ?? -1) after SIGTERM: \(testbed.server.errors)")
            }
            crew.rest(.milliseconds(random.below(400)))
            try testbed.server.start()
        case .stopServer:
            testbed.server.send(SIGSTOP)
            crew.rest(lasting)
            testbed.server.send(SIGCONT)
        case .killWatcher:
            guard device.isWatching else { return }
            device.endWatch(SIGKILL)
            crew.rest(.milliseconds(random.below(200)))
            try device.startWatch()
        case .stopWatcher:
            device.signalWatch(SIGSTOP)
            crew.rest(lasting)
            device.signalWatch(SIGCONT)
        case .cut: device.proxy.cutAll()
        case .refuse: pass(device, ProxyConditions(refuses: true), lasting)
        case .delay: pass(device, ProxyConditions(delay: .milliseconds(random.within(1...300))), lasting)
        case .halfOpen: pass(device, ProxyConditions(isHalfOpen: true), lasting)
        case .truncate:
            let place = random.below(random.below(2) == 0 ? 300 : 5_000)
            pass(
                device,
                random.below(2) == 0 ? ProxyConditions(cutAfterDown: place) : ProxyConditions(cutAfterUp: place),
                lasting)
        case .damage: pass(device, ProxyConditions(damage: random.within(1...500)), lasting)
        }
    }

    private func pass(_ device: Device, _ conditions: ProxyConditions, _ duration: Duration) {
        device.proxy.setConditions(conditions)
        crew.rest(duration)
        device.proxy.setConditions(.fair)
    }

    // MARK: The reader

    private func look() throws {
        for device in testbed.devices {
            let sample = try Observation.sample(device.name, device: device.database)
            samples.withLock { $0.append(sample) }
            crew.rest(.milliseconds(25))
        }
        let sample = try Observation.sample(server: testbed.server.database)
        samples.withLock { $0.append(sample) }
        crew.rest(.milliseconds(25))
    }
}

extension Duration {
    var words: String { "\(Int(self / .milliseconds(1))) ms" }
}
