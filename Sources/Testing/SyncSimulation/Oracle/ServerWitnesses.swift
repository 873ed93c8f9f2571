import SyncAuthority
import SyncCore
import SyncModel

/// A witness that forwards every event of the server to several others.
struct ServerWitnesses: ServerWitness {
    let all: [any ServerWitness]

    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        for witness in all { witness.pushArrived(request, of: bytes, from: device, now: now) }
    }

    func pushAnswered(_ request: PushRequest, _ response: PushResponse, now: WallTime) {
        for witness in all { witness.pushAnswered(request, response, now: now) }
    }

    func pushFailed(_ request: PushRequest, _ failure: AuthorityError) {
        for witness in all { witness.pushFailed(request, failure) }
    }

    func pullAnswered(_ request: PullRequest, _ response: PullResponse, to device: String, as principal: Principal) {
        for witness in all { witness.pullAnswered(request, response, to: device, as: principal) }
    }

    func served(_ caller: Caller, on device: String) {
        for witness in all { witness.served(caller, on: device) }
    }
}
