import SyncConcurrency
import SyncCore
import SyncModel

extension World {
    /// Draws an operation of a device's user, and starts it as a task among all others that are ready.
    func act(on device: SimulatedDevice, seed: UInt64) {
        guard let store = device.store, let process = device.process else { return }
        let operation: Workload.Operation?
        let faults = device.disk.faultCount
        do {
            var workload = Workload(seed: seed, setting: script.setting)
            let form = forms.withLock { $0[device.name] }
            operation = try workload.next(store, form: form, now: device.wallClock.now)
        } catch {
            let works = !process.isDead && device.disk.faultCount == faults
            operations.withLock { $0.note(error, on: device.name, diskWorks: works) }
            return
        }
        if let operation { perform(operation, on: device) }
    }

    /// Lets every user restore everything that a restored server has lost, one after the other.
    ///
    /// - Returns: whether there was something to restore.
    func restoreLost() throws -> Bool {
        var random = simulation.random("restores of everything that was lost")
        var isAny = false
        for device in devices {
            // Devices may restore at the same time, or after they have seen what others have restored.
            let pause = random.chance(0.5) ? .zero : random.duration(in: .milliseconds(1)...(.seconds(30)))
            guard try device.disk.withoutFaults({ try device.store?.hasLostEntries() }) == true else { continue }
            isAny = true
            perform(.restoreLost, on: device)
            try simulation.advance(by: pause)
        }
        return isAny
    }

    /// Lets the user of a device handle the older half of the journal if the device waits for room in it.
    func makeRoomInJournal(of device: SimulatedDevice) throws {
        guard device.storage.hasSmallJournal, let store = device.store else { return }
        let isFull = try device.disk.withoutFaults {
            try store.outboxSummary().activeJournalEntries >= DeviceStorage.smallJournal.entries
        }
        guard isFull || device.status?.spaces.contains(where: \.noticesWait) == true else { return }
        perform(.dismissOldest, on: device)
    }

    /// Starts an operation as a task among all others that are ready.
    private func perform(_ operation: Workload.Operation, on device: SimulatedDevice) {
        guard let store = device.store, let process = device.process else { return }
        let user = SimulatedUser(
            device: device, store: store, history: history, journals: journals, oracle: userOracle,
            simulation: simulation, forms: forms, corrections: corrections)
        simulation.start("user of \(device.name)") { [operations, simulation] in
            let name = device.name
            let faults = device.disk.faultCount
            do {
                try user.carryOut(operation)
                operations.withLock { $0.done += 1 }
            } catch {
                if let failure = error as? StoreError {
                    simulation.note("refused: \(failure.code.rawValue)", by: name)
                }
                let works = !process.isDead && device.disk.faultCount == faults
                operations.withLock { $0.note(error, on: name, diskWorks: works) }
            }
        }
    }
}

extension World.Operations {
    /// Records the error of an operation. A `StoreError` counts as a refusal, and any other error fails the run.
    ///
    /// A store that finds contradictions in its own file fails the run as well, because only a fault of the disk may
    /// cause them (I25).
    ///
    /// - Parameter diskWorks: whether the process lives, and its disk had no fault during the operation.
    fileprivate mutating func note(_ error: any Error, on device: String, diskWorks: Bool) {
        guard let refusal = error as? StoreError else {
            failure = failure ?? error
            return
        }
        refusals[refusal.code.rawValue, default: 0] += 1
        if diskWorks, [.corrupt, .contradiction].contains(refusal.code) {
            failure =
                failure ?? Violation(.I25, "\(device) cannot be written although its disk works: \(refusal)")
        }
    }
}
