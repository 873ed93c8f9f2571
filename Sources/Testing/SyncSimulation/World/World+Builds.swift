import SyncCore
import SyncModel

// Devices and servers of different builds: each knows the models of its time.
extension World {
    /// Gives a device the current build of the application, which starts again on the database that is there.
    func upgrade(_ device: SimulatedDevice) throws {
        guard device.build < .current else { return }
        let isUp = device.isUp
        device.kill()
        device.build = .current
        simulation.note("is upgraded", by: device.name, as: .fault)
        // Its files have tables and columns now that they had not: what was seen of them says nothing of these.
        bases[device.name] = nil
        checked[device.name] = nil
        if isUp { try startDevice(device) }
    }

    /// Gives the server the current build. All its processes end, and one starts again.
    func upgradeServer() throws {
        guard server.build < .current else { return }
        let isUp = server.isUp
        server.stop()
        server.build = .current
        simulation.note("is upgraded", by: "server", as: .fault)
        if isUp { try startServer() }
    }
}
