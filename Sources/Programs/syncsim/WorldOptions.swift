import ArgumentParser
import Foundation
import SyncSimulation

/// The choice of a world: by a seed, or by a script.
struct WorldOptions: ParsableArguments {
    @Option(help: "Seed of the world.")
    var seed: UInt64?

    @Option(help: ArgumentHelp("A script, as syncsim shrink writes it.", valueName: "file"))
    var script: String?

    @Option(help: "Number of devices, from 1 to 64. Drawn from the seed by default.")
    var clients: Int?

    @Option(help: "Number of user operations, over all devices. Defaults to 500.")
    var steps: Int?

    @Option(help: "The faults to inject, separated by commas: \(FaultClass.list). Defaults to all.")
    var faults: FaultSelection?

    @Option(
        help: ArgumentHelp(
            "End the safety phase after this number of steps. A step is one operation or a burst of them.",
            valueName: "step"))
    var until: Int?

    func validate() throws {
        guard (seed == nil) != (script == nil) else { throw ValidationError("Give either --seed or --script.") }
        let ofSeeds = [("--clients", clients != nil), ("--steps", steps != nil), ("--faults", faults != nil)]
        if script != nil, let (name, _) = ofSeeds.first(where: { $0.1 }) {
            throw ValidationError("\(name) applies to --seed only; a script lists its devices, operations, and faults.")
        }
        if let clients, !(1...64).contains(clients) {
            throw ValidationError("--clients \(clients) is not possible; give a number from 1 to 64.")
        }
        if let steps, !(1...10_000_000).contains(steps) {
            throw ValidationError("--steps \(steps) is not possible; give a number from 1 to 10000000.")
        }
        if let until, until < 1 { throw ValidationError("--until \(until) is not possible; steps are counted from 1.") }
    }

    func load() throws -> WorldScript {
        var result: WorldScript
        if let path = script {
            do {
                result = try WorldScript(text: String(contentsOfFile: path, encoding: .utf8))
            } catch {
                throw ProgramError(message: "\(path): \(error)", status: ProgramError.noInput)
            }
        } else {
            var plan = WorldPlan.drawn(seed: seed ?? 0, steps: steps ?? 500)
            if let clients { plan.setting.devices = clients }
            (faults ?? .all).limit(&plan)
            result = plan.script
        }
        if let until { result.moments = Array(result.moments.prefix(until)) }
        return result
    }
}

/// A class of faults that can be left out.
enum FaultClass: String, CaseIterable {
    case network, process, disk, clock, server, user, build

    static let list = "all, none, or of " + allCases.map(\.rawValue).joined(separator: ", ")

    /// The fault rates in this class. Every rate except `recover` belongs to one class.
    var rates: [WritableKeyPath<WorldPlan.Rates, Double>] {
        switch self {
        case .network: [\.cutDevice, \.dropLink, \.scriptResponse]
        case .process:
            [
                \.killDevice, \.stopDevice, \.losePowerOfDevice, \.suspendDevice, \.rivalEngine, \.longPause,
                \.sleepForDays,
            ]
        case .disk: [\.deviceDiskFault, \.serverDiskFault, \.rollBackDevice, \.cloneDevice, \.fillDisk, \.protectDisk]
        case .clock: [\.jumpClock, \.driftClock, \.clockDrift, \.jumpClockOfServer]
        case .server:
            [
                \.killServer, \.losePowerOfServer, \.compactServer, \.restoreServer, \.emptyServer, \.secondServer,
                \.slowServer, \.changeAccess, \.restoreServerSilently, \.forgePush, \.lie, \.refuseIdentities,
                \.restoreServerBehindHorizon, \.trimConflicts, \.falseClaim, \.changeQuota,
            ]
        case .user: [\.changeUser, \.allowDeletes]
        case .build: [\.upgrade]
        }
    }
}

struct FaultSelection: ExpressibleByArgument {
    let classes: Set<FaultClass>

    static let all = FaultSelection(classes: Set(FaultClass.allCases))

    init(classes: Set<FaultClass>) {
        self.classes = classes
    }

    init?(argument: String) {
        switch argument {
        case "all": self = .all
        case "none": self.init(classes: [])
        default:
            let classes = argument.split(separator: ",", omittingEmptySubsequences: false).map {
                FaultClass(rawValue: String($0))
            }
            guard !classes.isEmpty, !classes.contains(nil) else { return nil }
            self.init(classes: Set(classes.compactMap { $0 }))
        }
    }

    /// Removes from the plan the faults that are not selected.
    func limit(_ plan: inout WorldPlan) {
        // Rates are copied from the selected classes, so that a rate which belongs to no class is off.
        var rates = WorldPlan.Rates()
        rates.recover = plan.rates.recover
        for rate in classes.flatMap(\.rates) { rates[keyPath: rate] = plan.rates[keyPath: rate] }
        plan.rates = rates
        if !classes.contains(.network) { plan.setting.network = .calm }
        if !classes.contains(.build) { plan.useCurrentBuilds() }
        if !classes.contains(.process) { plan.setting.slowProcessor = 0 }
    }
}
