import SyncCore
import SyncModel

// The permitted losses of a power failure.
extension World {
    /// A device that does not flush each commit has come up after its power failed: what it has lost is known from its file,
    /// and is permitted when it is the newest, and was not flushed.
    func admitLosses(of device: SimulatedDevice) throws {
        let losses = device.disk.powerLossCount
        guard device.storage.durability == .normal, losses != powerLosses[device.name, default: 0],
            let store = device.store, let process = device.process, !process.isDead
        else { return }
        powerLosses[device.name] = losses
        try device.disk.withoutFaults {
            let session = try store.session()
            try userOracle.losePower(device.name, store)
            guard let facts = try replicaFiles[device.name]?.facts(through: process) else { return }
            let lost = try history.losePower(
                device.name, as: session.identity, keeping: OutboxSequence(rawValue: facts.lastSequence),
                among: try store.outbox(limit: .max))
            if lost > 0 { simulation.note("has lost \(lost) commits with its power", by: device.name) }
            report.lostCommits += lost
            conduct.rolledBack(device.name)
            forgetFile(of: device)
            // It does not know any more whose it is: nobody gives such a device to a guest.
            if session.account == nil { device.changeUserBack() }
        }
    }

    /// The files of a device are not those that were last looked at.
    func forgetFile(of device: SimulatedDevice) {
        bases[device.name] = nil
        versions[device.name] = nil
        checked[device.name] = nil
        journals.beginsAnew(device.name)
        brakes.rolledBack(device.name)
        lostHistory.rolledBack(device.name)
    }
}
