import SyncCore
import SyncModel

// Devices and servers of different builds. Each build knows its own set of models.
extension World {
    /// Upgrades a device to the current build of the application, and restarts it on its existing database.
    func upgrade(_ device: SimulatedDevice) throws {
        guard device.build < .current else { return }
        let isUp = device.isUp
        device.kill()
        device.build = .current
        simulation.note("is upgraded", by: device.name, as: .fault)
        // The upgrade adds tables and columns to the files. Earlier observations do not cover them.
        bases[device.name] = nil
        checked[device.name] = nil
        checkedFiles[device.name] = nil
        if isUp { try startDevice(device) }
    }

    /// Upgrades the server to the current build. All its processes end, and one starts again if any was running.
    func upgradeServer() throws {
        guard server.setting.build < .current else { return }
        let isUp = server.isUp
        server.stop()
        server.setting.build = .current
        simulation.note("is upgraded", by: "server", as: .fault)
        if isUp { try startServer() }
    }
}
