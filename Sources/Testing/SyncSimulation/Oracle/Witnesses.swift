import SyncAuthority
import SyncCore
import SyncModel

/// A witness that forwards every event of the server to several others.
struct ServerWitnesses: ServerWitness {
    let all: [any ServerWitness]

    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        for witness in all { witness.pushArrived(request, of: bytes, from: device, now: now) }
    }

    func pushAnswered(_ request: PushRequest, _ reply: PushReply, now: WallTime) {
        for witness in all { witness.pushAnswered(request, reply, now: now) }
    }

    func pushFailed(_ request: PushRequest, _ failure: AuthorityFailure) {
        for witness in all { witness.pushFailed(request, failure) }
    }

    func pullAnswered(_ request: PullRequest, _ reply: PullReply, to device: String, as principal: Principal) {
        for witness in all { witness.pullAnswered(request, reply, to: device, as: principal) }
    }

    func served(_ caller: Caller, on device: String) {
        for witness in all { witness.served(caller, on: device) }
    }
}

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

    func pageRefused(_ failure: StoreFailure, by device: String) {
        for witness in all { witness.pageRefused(failure, by: device) }
    }
}
