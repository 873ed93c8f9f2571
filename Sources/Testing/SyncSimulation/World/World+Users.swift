import SyncConcurrency
import SyncCore
import SyncModel

extension World {
    /// Draws an operation of a device's user, and starts it as a task among all others that are ready.
    func act(on device: SimulatedDevice, seed: UInt64) {
        guard let store = device.store else { return }
        let operation: Workload.Operation?
        do {
            var workload = Workload(seed: seed, spaces: script.setting.spaces)
            operation = try workload.next(store, now: device.wallClock.now)
        } catch {
            note(error, on: device)
            return
        }
        guard let operation else { return }
        let user = SimulatedUser(
            device: device, store: store, history: history, journals: journals, oracle: userOracle,
            simulation: simulation)
        simulation.start("user of \(device.name)") { [operations, simulation] in
            let name = device.name
            do {
                try user.carryOut(operation)
                operations.withLock { $0.done += 1 }
            } catch let failure as StoreError {
                simulation.note("refused: \(failure.code.rawValue)", by: name)
                operations.withLock { $0.refusals[failure.code.rawValue, default: 0] += 1 }
            } catch {
                operations.withLock { $0.failure = $0.failure ?? error }
            }
        }
    }

    /// Records an error that occurred while an operation was drawn. A `StoreError` counts as a refusal; any other error
    /// fails the run.
    private func note(_ error: any Error, on device: SimulatedDevice) {
        guard let failure = error as? StoreError else {
            operations.withLock { $0.failure = $0.failure ?? error }
            return
        }
        operations.withLock { $0.refusals[failure.code.rawValue, default: 0] += 1 }
    }
}
