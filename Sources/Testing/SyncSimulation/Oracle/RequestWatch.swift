import SyncConcurrency
import SyncCore
import SyncModel

/// Counts what devices ask of the server: nobody may make a storm (I18), and nobody comes back before the time that
/// the server has named.
final class RequestWatch: Sendable {
    /// Requests of one minute that brought nothing, of each part that asks (hello, push, and a pull per space): it waits
    /// 0.5 s on average before the second try, and then longer and longer.
    static let idleRequestsPerMinute = 50

    fileprivate struct Device: Sendable {
        /// When requests were sent that are not known to have done any good.
        var idle: [Duration] = []
        /// Identical requests that failed one after the other, and when the last failed.
        var failed: [Kind: (bytes: Int, at: Duration, hurried: Int)] = [:]
        /// When the server wants to be asked again, at the earliest.
        var notBefore: [Kind: Duration] = [:]
        /// How many requests of a minute may bring nothing.
        let idleLimit: Int
    }

    enum Kind: Hashable, Sendable {
        case hello, push, pull(SpaceID), fetch
    }

    private let devices = Guarded([String: Device]())
    private let violations: ViolationLog
    private let isPunctual: Bool
    /// How many requests of a device may bring nothing in a minute.
    private let idleLimit: Int
    /// The shortest wait before a try that is like the one that failed.
    private let floor: Duration
    private let longestRetryAfter = BackoffPolicy().longestRetryAfter

    /// - Parameters:
    ///   - spaces: how many each device follows.
    ///   - isPunctual: whether a failure is told when it happens. On a slow processor it may be told while the next try
    ///     begins, and then the wait cannot be measured; or when the request has been given up, and then nobody listens.
    init(spaces: Int, isPunctual: Bool, violations: ViolationLog) {
        idleLimit = Self.idleRequestsPerMinute * (2 + spaces)
        self.violations = violations
        self.isPunctual = isPunctual
        floor = isPunctual ? BackoffPolicy().floor : .zero
    }

    func sent(_ call: ServerCall, _ bytes: [UInt8], by device: String, at now: Duration) {
        devices.withLock { devices in
            devices[device, default: Device(idleLimit: idleLimit)].sent(
                call.kind, bytes.hashOfContents, by: device, at: now, floor: floor, telling: violations)
        }
    }

    func ended(_ call: ServerCall, by device: String, wasUseful: Bool) {
        devices.withLock { devices in
            devices[device]?.failed[call.kind] = nil
            // It may have met another history, in whose spaces it begins at once.
            if call.kind == .hello, let pauses = devices[device]?.notBefore {
                devices[device]?.notBefore = pauses.filter { $0.key == .push }
            }
            if wasUseful { _ = devices[device]?.idle.popLast() }
        }
    }

    func failed(
        _ call: ServerCall, _ bytes: [UInt8], by device: String, at now: Duration, _ failure: TransportFailure
    ) {
        devices.withLock { devices in
            let hash = bytes.hashOfContents
            let before = devices[device]?.failed[call.kind]
            devices[device]?.failed[call.kind] = (hash, now, before?.bytes == hash ? before?.hurried ?? 0 : 0)
            if isPunctual, let wait = failure.retryAfter, failure.code != .cancelled {
                devices[device]?.notBefore[call.kind] = now + min(wait, longestRetryAfter)
            }
        }
    }

    /// A new life of the process, or a new link, makes another try worth it at once.
    func beginsAnew(_ device: String) {
        devices.withLock { devices in
            devices[device]?.failed = [:]
            devices[device]?.notBefore = [:]
            devices[device]?.idle = []
        }
    }

    /// The obstacle may be gone: another link, or other credentials.
    func hasReason(toTryAgain device: String) {
        devices.withLock { devices in
            for name in devices.keys where name == device || name.hasPrefix(device + ".") {
                devices[name]?.failed = [:]
            }
        }
    }

    /// Another link may lead to another server, which nobody has asked for a pause.
    func linkChanged(of device: String) {
        hasReason(toTryAgain: device)
        devices.withLock { devices in
            for name in devices.keys where name == device || name.hasPrefix(device + ".") {
                devices[name]?.notBefore[.hello] = nil
            }
        }
    }
}

extension RequestWatch.Device {
    fileprivate mutating func sent(
        _ kind: RequestWatch.Kind, _ bytes: Int, by device: String, at now: Duration, floor: Duration,
        telling violations: ViolationLog
    ) {
        if let earliest = notBefore[kind], now < earliest {
            violations.report(
                Violation(.I18, "\(device) repeats a \(kind) \(earliest - now) before the time that the server named"))
        }
        if let last = failed[kind], last.bytes == bytes, now - last.at < floor {
            failed[kind]?.hurried += 1
            // When another request has lost the contact before, it may be back just after this one failed; once.
            if last.hurried > 0 {
                violations.report(
                    Violation(
                        .I18,
                        "\(device) repeats a \(kind) \(now - last.at) after it failed, \(floor) at least expected"))
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

extension ServerCall {
    fileprivate var kind: RequestWatch.Kind {
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
