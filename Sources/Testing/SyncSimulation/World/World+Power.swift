import SyncCore
import SyncModel

// The losses that a power failure may cause.
extension World {
    /// Accepts the losses of a device that restarts after a power failure and does not flush each commit.
    ///
    /// The device's file shows which commits are lost. The loss is permitted when they are the newest commits and were
    /// not flushed.
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
            deviceOracle.rolledBack(device.name)
            forgetFile(of: device)
            // The database no longer has an owner. The first account that connects becomes the owner, and must not be a
            // guest.
            if session.account == nil { device.changeUserBack() }
        }
    }

    /// Discards what is known of a device's files, because the files were replaced or have lost commits.
    func forgetFile(of device: SimulatedDevice) {
        bases[device.name] = nil
        versions[device.name] = nil
        checked[device.name] = nil
        checkedFiles[device.name] = nil
        journals.reset(device.name)
        brakes.rolledBack(device.name)
        lostHistory.rolledBack(device.name)
        statuses.fileIsReplaced(device.name)
    }
}
