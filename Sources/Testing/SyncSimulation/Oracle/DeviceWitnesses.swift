import SyncAuthority
import SyncCore
import SyncModel

/// A witness that forwards every event of a device to several others.
struct DeviceWitnesses: DeviceWitness {
    let all: [any DeviceWitness]

    func batchTaken(_ batch: PushBatch, by device: String, among numbered: [OutboxEntry]) {
        for witness in all { witness.batchTaken(batch, by: device, among: numbered) }
    }

    func unreadable(_ error: any Error, on device: String) {
        for witness in all { witness.unreadable(error, on: device) }
    }

    func sessionChanged(_ session: StoredSession, of device: String) {
        for witness in all { witness.sessionChanged(session, of: device) }
    }

    func pushRefused(_ refusal: PushRefusal, of device: String) {
        for witness in all { witness.pushRefused(refusal, of: device) }
    }

    func logFlushed(of device: String) {
        for witness in all { witness.logFlushed(of: device) }
    }

    func pageRefused(_ failure: StoreError, by device: String) {
        for witness in all { witness.pageRefused(failure, by: device) }
    }
}
