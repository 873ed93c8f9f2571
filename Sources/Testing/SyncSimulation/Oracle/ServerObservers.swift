import SyncAuthority
import SyncCore
import SyncModel

/// An observer that forwards every event of the server to several others.
struct ServerObservers: ServerObserver {
    let all: [any ServerObserver]

    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        for observer in all { observer.pushArrived(request, of: bytes, from: device, now: now) }
    }

    func pushAnswered(_ request: PushRequest, _ response: PushResponse, now: WallTime) {
        for observer in all { observer.pushAnswered(request, response, now: now) }
    }

    func pushTooLong(_ request: PushRequest) {
        for observer in all { observer.pushTooLong(request) }
    }

    func pushFailed(_ request: PushRequest, _ failure: AuthorityError) {
        for observer in all { observer.pushFailed(request, failure) }
    }

    func pullAnswered(_ request: PullRequest, _ response: PullResponse, to device: String, as principal: Principal) {
        for observer in all { observer.pullAnswered(request, response, to: device, as: principal) }
    }

    func served(_ caller: Caller, on device: String) {
        for observer in all { observer.served(caller, on: device) }
    }
}
