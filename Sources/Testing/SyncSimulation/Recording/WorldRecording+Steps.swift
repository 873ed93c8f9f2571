import SyncConcurrency
import SyncCore

extension WorldRecording {
    /// Records the end of a step, with the contents of all parties.
    func stepEnded(_ name: String, _ simulation: Simulation, _ server: SimulatedServer, _ devices: [SimulatedDevice]) {
        var holdings: [String: Holdings] = [:]
        for device in devices {
            var found = inspect(at: device.disk, of: device.name, isUp: device.isUp, simulation, device.holdings)
            found.add("engine", device.status.map(\.words) ?? "down")
            found.add("clock", device.wallClock.words)
            if let end = device.engineEnd { found.add("ended", end) }
            holdings[device.name] = found
        }
        var found = inspect(at: server.disk, of: "server", isUp: server.isUp, simulation, server.holdings)
        found.add("clock", server.wallClock.words)
        holdings["server"] = found
        let now = simulation.now
        state.withLock { state in
            if let last = state.steps.last, last.name == name, last.moment.number == state.moments,
                last.holdings == holdings
            {
                // Nothing has changed: extend the last step.
                let moment = RecordedMoment(number: last.moment.number, time: now)
                state.steps.replaceLast(with: RecordedStep(name: name, moment: moment, holdings: holdings))
            } else {
                state.steps.append(RecordedStep(name: name, moment: state.moment(at: now), holdings: holdings))
            }
        }
    }

    /// Returns the contents of a disk, which are read again only if the disk has changed, and records the faults that
    /// the disk has met.
    private func inspect(
        at disk: SimulatedDisk, of party: String, isUp: Bool, _ simulation: Simulation, _ read: () -> Holdings
    ) -> Holdings {
        let changes = disk.count(of: .changes)
        let faults = disk.faultCount
        let last = state.withLock { $0.disks[party] }
        if faults > last?.faults ?? 0 {
            let count = faults - (last?.faults ?? 0)
            event(
                "\(count) \(count == 1 ? "operation" : "operations") of the disk met a fault", by: party,
                at: simulation.now,
                as: .fault, detail: disk.lastOperations.suffix(20).joined(separator: "\n"))
        }
        if var last, last.changes == changes, changes > 0 {
            last.holdings.isUp = isUp
            state.withLock { $0.disks[party]?.faults = faults }
            return last.holdings
        }
        let holdings = read()
        state.withLock { $0.disks[party] = (changes, faults, holdings) }
        return holdings
    }
}

extension VirtualWallClock {
    /// A description of the clock's error.
    fileprivate var words: String {
        let error = error(since: Simulation.startTime)
        return error == 0 ? "right" : "wrong by \(error > 0 ? "+" : "")\(error / 1_000) ms"
    }
}

extension SyncStatus {
    /// A description of the status, without the parts that change merely with time.
    fileprivate var words: String {
        let pulls = spaces.map { ", pull of \($0.space) \($0.pull.words), head \($0.head)" }.joined()
        return "\(connection.words), push \(push.words)\(pulls)"
    }
}

extension SyncStatus.Connection {
    fileprivate var words: String {
        switch self {
        case .notRunning: "not running"
        case .offline(let reason): "offline, \(reason)"
        case .connecting: "connecting"
        case .online: "online"
        case .recovering(let failure, _): "recovers after \(failure.code.rawValue)"
        case .waiting(let failure, _): "waits after \(failure.code.rawValue)"
        case .paused: "paused by the server"
        case .storeFailed(let failure, _): "waits after \(failure.contactCode)"
        case .refused(let failure): "refused: \(failure.code.rawValue)"
        case .stopped: "stopped"
        }
    }
}

extension SyncStatus.Activity {
    fileprivate var words: String {
        switch self {
        case .idle: "idle"
        case .working: "working"
        case .waitingForConnection: "waits for the connection"
        case .waiting(let reason, _): "waits: \(reason)"
        case .recovering(let reason, _): "recovers: \(reason)"
        case .braked(let deletes, let total): "braked before deleting \(deletes) of \(total)"
        }
    }
}
