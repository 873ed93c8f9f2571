/// The input of a machine for one event. Time and randomness are arguments; a machine never looks them up.
package struct Turn {
    /// Monotonic time since a fixed moment.
    package let now: Duration
    package let policy: SyncPolicy
    package var random: any RandomNumberGenerator
    private var nextSerial: Int

    package init(now: Duration, policy: SyncPolicy, random: any RandomNumberGenerator, nextSerial: Int) {
        self.now = now
        self.policy = policy
        self.random = random
        self.nextSerial = nextSerial
    }

    /// Returns a serial for a new request or timer. Serials are never reused.
    package mutating func makeSerial() -> Serial {
        defer { nextSerial += 1 }
        return Serial(rawValue: nextSerial)
    }

    var serialAfter: Int { nextSerial }
}

/// Identifies one request or timer. A response whose serial no state holds is late and is ignored.
package struct Serial: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static func < (left: Serial, right: Serial) -> Bool {
        left.rawValue < right.rawValue
    }

    package var description: String { "#\(rawValue)" }
}

/// A timer that a state waits for.
package struct ArmedTimer: Hashable, Sendable {
    package let serial: Serial
    package let due: Duration

    package init(serial: Serial, due: Duration) {
        self.serial = serial
        self.due = due
    }
}

extension Turn {
    mutating func arm(after delay: Duration, _ actions: inout [SyncAction]) -> ArmedTimer {
        let timer = ArmedTimer(serial: makeSerial(), due: now + delay)
        actions.append(.timer(.arm(timer.serial, after: delay)))
        return timer
    }
}
