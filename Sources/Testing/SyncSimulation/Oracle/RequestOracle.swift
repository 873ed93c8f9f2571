import SyncConcurrency
import SyncCore
import SyncModel

/// A check of how often devices send requests.
///
/// No device may cause a storm of requests (I18), or retry before the time that the server has named.
final class RequestOracle: Sendable {
    /// The limit on useless requests per minute of each requesting part (hello, push, and a pull per space).
    ///
    /// A part waits 0.5 s on average before its second try, and longer before each later one.
    static let idleRequestsPerMinute = 50

    fileprivate struct Device: Sendable {
        /// The times of requests that are not known to have been useful.
        var idle: [Duration] = []
        /// The last failed request of each kind: a hash of its bytes, the time of the failure, and how often it was
        /// retried too early.
        var failed: [Kind: (bytes: Int, at: Duration, hurried: Int)] = [:]
        /// The earliest time at which the device may send another request of each kind, as the server has named it.
        var notBefore: [Kind: Duration] = [:]
        /// The limit on useless requests per minute.
        let idleLimit: Int
    }

    enum Kind: Hashable, Sendable {
        case hello, push, pull(SpaceID), fetch
    }

    private let devices = Guarded([String: Device]())
    private let pause = Guarded(Duration.zero)
    private let violations: ViolationLog
    private let isPunctual: Bool
    /// The limit on useless requests of a device per minute.
    private let idleLimit: Int
    /// The shortest wait before an identical retry of a failed request.
    private let floor: Duration
    private let longestRetryAfter = BackoffPolicy().longestRetryAfter

    /// - Parameters:
    ///   - spaces: the number of spaces that each device follows.
    ///   - isPunctual: whether a failure is reported when it happens. On a slow processor, the report may come while
    ///     the next try begins, so that the wait cannot be measured. It may also come after the request was abandoned,
    ///     so that nothing receives the report.
    init(spaces: Int, isPunctual: Bool, violations: ViolationLog) {
        idleLimit = Self.idleRequestsPerMinute * (2 + spaces)
        self.violations = violations
        self.isPunctual = isPunctual
        floor = isPunctual ? BackoffPolicy().floor : .zero
    }

    /// The longest pause that a server has requested, up to the limit of the devices. Devices remember a pause across
    /// restarts.
    var longestPause: Duration { pause.withLock { $0 } }

    func sent(_ call: ServerRequest, _ bytes: [UInt8], by device: String, at now: Duration) {
        devices.withLock { devices in
            devices[device, default: Device(idleLimit: idleLimit)].sent(
                call.kind, bytes.hashOfContents, by: device, at: now, floor: floor, telling: violations)
        }
    }

    func ended(_ call: ServerRequest, by device: String, wasUseful: Bool) {
        devices.withLock { devices in
            devices[device]?.failed[call.kind] = nil
            // The hello may have found another history, whose spaces may be pulled at once.
            if call.kind == .hello, let pauses = devices[device]?.notBefore {
                devices[device]?.notBefore = pauses.filter { $0.key == .push }
            }
            if wasUseful { _ = devices[device]?.idle.popLast() }
        }
    }

    func failed(
        _ call: ServerRequest, _ bytes: [UInt8], by device: String, at now: Duration, _ failure: TransportError
    ) {
        if let wait = failure.retryAfter { pause.withLock { $0 = max($0, min(wait, longestRetryAfter)) } }
        devices.withLock { devices in
            // The device has abandoned the request for a reason, for example because the server has another history.
            // The limit on useless requests still applies to such requests.
            guard failure.code != .cancelled else { return }
            let hash = bytes.hashOfContents
            let before = devices[device]?.failed[call.kind]
            devices[device]?.failed[call.kind] = (hash, now, before?.bytes == hash ? before?.hurried ?? 0 : 0)
            if isPunctual, let wait = failure.retryAfter {
                devices[device]?.notBefore[call.kind] = now + min(wait, longestRetryAfter)
            }
        }
    }

    /// Allows immediate requests, because a new process has started.
    func reset(_ device: String) {
        devices.withLock { devices in
            devices[device]?.failed = [:]
            devices[device]?.notBefore = [:]
            devices[device]?.idle = []
        }
    }

    /// Allows immediate retries of failed requests, because a new link or new credentials may have removed the
    /// obstacle. The device also abandons a request for such a reason, and sends it again.
    func hasReason(toTryAgain device: String) {
        devices.withLock { devices in
            for name in devices.keys where name == device || name.hasPrefix(device + ".") {
                devices[name]?.failed = [:]
                _ = devices[name]?.idle.popLast()
            }
        }
    }

    /// Ends the pause for hello requests: another link may lead to another server, which has not requested a pause.
    func linkChanged(of device: String) {
        hasReason(toTryAgain: device)
        devices.withLock { devices in
            for name in devices.keys where name == device || name.hasPrefix(device + ".") {
                devices[name]?.notBefore[.hello] = nil
            }
        }
    }
}

extension RequestOracle.Device {
    fileprivate mutating func sent(
        _ kind: RequestOracle.Kind, _ bytes: Int, by device: String, at now: Duration, floor: Duration,
        telling violations: ViolationLog
    ) {
        if let earliest = notBefore[kind], now < earliest {
            violations.report(
                Violation(.I18, "\(device) repeats a \(kind) \(earliest - now) before the time that the server named"))
        }
        if let last = failed[kind], last.bytes == bytes, now - last.at < floor {
            failed[kind]?.hurried += 1
            // One early retry is allowed: another request may have lost contact earlier, and contact may return just
            // after this one failed.
            if last.hurried > 0 {
                violations.report(
                    Violation(
                        .I18,
                        "\(device) repeats a \(kind) \(now - last.at) after it failed; expected \(floor) at least"))
            }
        }
        idle.removeAll { now - $0 > .seconds(60) }
        idle.append(now)
        if idle.count > idleLimit {
            violations.report(
                Violation(.I18, "\(device) asked \(idle.count) times in a minute, and nothing came of it"))
            idle = []
        }
    }
}

extension ServerRequest {
    fileprivate var kind: RequestOracle.Kind {
        switch self {
        case .hello: .hello
        case .push: .push
        case .pull(let request): .pull(request.space)
        case .fetch: .fetch
        }
    }
}

extension [UInt8] {
    fileprivate var hashOfContents: Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in self { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int(truncatingIfNeeded: hash)
    }
}
