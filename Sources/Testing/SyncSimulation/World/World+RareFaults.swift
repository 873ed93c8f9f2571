import SyncCore
import SyncModel

extension World {
    /// Injects one of the rarer faults into a device.
    func strikeRarely(_ device: SimulatedDevice, _ fault: DeviceFault) throws {
        func count(_ kind: FaultKind) { tally.count(kind, network.phases(of: device.name)) }
        switch fault {
        case .clockDrifts(let parts):
            count(.clockDrifts)
            device.wallClock.drift(partsPerMillion: Int64(parts))
        case .meets(let response, let times):
            if response == .stale { deviceOracle.isMisled(device.name) }
            network.script(response, times: times, for: device.name)
        case .receivesFalseResponses(let lie, let times):
            deviceOracle.isMisled(device.name)
            network.lie(lie, times: times, to: device.name)
        case .cloned(let place):
            guard devices.indices.contains(place), devices[place].name != device.name, devices[place].isUp else {
                return
            }
            count(.deviceCloned)
            try clone(devices[place], to: device)
        case .rivalStarts:
            guard device.isUp else { return }
            count(.rivalEngine)
            do {
                deviceOracle.hasTwoEngines(device.name)
                statuses.hasTwoEngines(device.name)
                network.watch.reset(device.name + ".rival")
                try device.startRival()
                simulation.note("has a second engine", by: device.name)
            } catch let failure as StoreError {
                simulation.note("has no second engine: \(failure.code.rawValue)", by: device.name)
            }
        case .diskFilled(let room):
            count(.deviceDiskFilled)
            device.disk.fill(leaving: room)
            statuses.diskIsFull(device.name)
        case .diskReadOnly:
            count(.deviceDiskReadOnly)
            device.disk.setReadOnly(true)
            statuses.diskIsFull(device.name)
        case .userChanges(let isAnnounced):
            // The account that first exchanges something with the server owns the database. It must not be a guest.
            guard device.isUp, let store = device.store else { return }
            let (spaces, outbox) = try device.disk.withoutFaults {
                (try store.session().spaces, try store.outboxSummary())
            }
            guard outbox.sent + outbox.answered > 0 || spaces.contains(where: { $0.cursor != nil }) else { return }
            count(.userChanged)
            device.changeUser()
            if isAnnounced {
                network.watch.hasReason(toTryAgain: device.name)
                device.renewCredentials()
            }
        case .upgraded:
            guard device.build < .current else { return }
            count(.deviceUpgraded)
            try upgrade(device)
        case .recovers, .killed, .stops, .losesPower, .suspended, .cutOff, .losesLink, .clock, .imageKept, .rolledBack,
            .deletesAllowed:
            return
        }
    }

    /// Replaces a device's disk with a copy of another's, so that both claim to be the same client.
    ///
    /// The data that was only on the overwritten disk may be lost. Both devices must then deliver the original's
    /// unconfirmed transactions and keep its journal.
    private func clone(_ original: SimulatedDevice, to device: SimulatedDevice) throws {
        let image = original.disk.image()
        let told = userOracle.image(of: original.name)
        userOracle.replaceDisk(of: device.name, by: told, journal: journal(of: device))
        device.kill()
        device.disk.release()
        device.disk.restore(image)
        device.owner = original.owner
        device.build = max(device.build, original.build)
        if hadEarlierBuild.contains(original.name) { hadEarlierBuild.insert(device.name) }
        history.rollBack(device.name, to: history.expectations(of: original.name))
        deviceOracle.rolledBack(device.name)
        deviceOracle.copied(original.name)
        powerLosses[device.name] = device.disk.powerLossCount
        forgetFile(of: device)
        simulation.note("is a copy of \(original.name)", by: device.name)
        try startDevice(device)
    }

    /// Returns all journal entries of a device, even while no process is running. Returns none when its disk cannot be
    /// read.
    func journal(of device: SimulatedDevice) -> [JournalEntry] {
        device.readCopy { try $0.wholeJournal() } ?? []
    }

    /// Ends the faults outside the device's main process: another user, a full or read-only disk, scripted and
    /// false responses, and a second engine.
    func free(_ device: SimulatedDevice) {
        device.changeUserBack()
        device.disk.release()
        network.endScripts(for: device.name)
        device.endRival()
        deviceOracle.isFreed(device.name)
    }
}

extension SimulatedDisk {
    /// Makes the disk writable and gives it unlimited space.
    func release() {
        setCapacity(bytes: nil)
        setReadOnly(false)
    }

    /// Fills the disk, leaving the given number of bytes free.
    func fill(leaving room: Int) {
        let used = fileNames.reduce(0) { $0 + (size(of: $1) ?? 0) }
        setCapacity(bytes: used + room)
    }
}
