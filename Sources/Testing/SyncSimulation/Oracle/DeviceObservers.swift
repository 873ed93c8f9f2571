import SyncAuthority
import SyncCore
import SyncModel

/// An observer that forwards every event of a device to several others.
struct DeviceObservers: DeviceObserver {
    let all: [any DeviceObserver]

    func batchTaken(_ batch: PushBatch, by device: String, among numbered: [OutboxEntry]) {
        for observer in all { observer.batchTaken(batch, by: device, among: numbered) }
    }

    func storeReadFailed(_ error: any Error, on device: String) {
        for observer in all { observer.storeReadFailed(error, on: device) }
    }

    func sessionChanged(_ session: StoredSession, of device: String) {
        for observer in all { observer.sessionChanged(session, of: device) }
    }

    func pushRefused(_ refusal: PushRefusal, of device: String) {
        for observer in all { observer.pushRefused(refusal, of: device) }
    }

    func walFlushed(of device: String) {
        for observer in all { observer.walFlushed(of: device) }
    }

    func pageRefused(_ failure: StoreError, by device: String) {
        for observer in all { observer.pageRefused(failure, by: device) }
    }
}
