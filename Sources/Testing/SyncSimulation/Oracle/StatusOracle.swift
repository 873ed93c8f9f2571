import SyncConcurrency
import SyncCore
import SyncModel

/// A check that the status of an engine is true at every step, not only at rest (I18).
///
/// A device that says it is in sync has an empty outbox, and each space at the newest version that the last page named.
/// It says that it is offline exactly while it has no link. It does not forget that it was in sync, and the time of its
/// last sync changes only to one that its clock has shown since.
final class StatusOracle: Sendable {
    private struct Device: Sendable {
        /// The life of the process that the versions belong to.
        var life = 0
        /// The newest version that the last page of each space named when it arrived.
        var arrived: [SpaceID: Version] = [:]
        /// The same of the last page that was applied.
        var heads: [SpaceID: Version] = [:]
        /// Whether another process has written to the database. An engine learns of that only after some time.
        var hasTwoEngines = false
        /// When the device was last in sync, as it said.
        var lastSync: WallTime?
        /// The device's clock at that time; nil if it was set since then.
        var clock: WallTime?
        /// Whether the device may have forgotten its last sync, because its file was replaced, or because a process may
        /// have ended before the time was stored.
        var mayForget = false
        /// Whether the disk was full or read-only, so that a process may have ended before the time was stored.
        var wasDiskFull = false
        /// The number of faults of the device's disk so far. A fault may prevent that the time of the last sync is
        /// stored.
        var faults = 0
    }

    private let devices = Guarded([String: Device]())

    /// Records an event that the engine of a device has handled.
    func handled(_ event: SyncEvent, by device: String, life: Int) {
        devices.withLock { devices in
            var known = devices[device] ?? Device()
            if known.life != life {
                known = Device(
                    life: life, lastSync: known.lastSync, clock: known.clock,
                    mayForget: known.mayForget || known.wasDiskFull || known.faults > 0 || known.hasTwoEngines,
                    wasDiskFull: known.wasDiskFull, faults: known.faults)
            }
            switch event {
            case .server(.pullEnded(_, let space, .success(.page(let page)))):
                known.arrived[space] = max(page.head, page.version)
            case .store(.pageApplied(let space, .applied)): known.heads[space] = known.arrived[space]
            case .store(.spaceVacated(let space, .vacated)), .store(.cursorReset(let space)): known.heads[space] = nil
            case .store(.sessionChanged): (known.arrived, known.heads) = ([:], [:])
            case .host, .device, .server, .store: break
            }
            devices[device] = known
        }
    }

    /// Records that a second engine writes to the database of a device.
    func hasTwoEngines(_ device: String) {
        devices.withLock { $0[device, default: Device()].hasTwoEngines = true }
    }

    /// Records that the disk of a device is full or read-only.
    func diskIsFull(_ device: String) {
        devices.withLock { $0[device, default: Device()].wasDiskFull = true }
    }

    /// Records that the file of the device was replaced.
    func fileIsReplaced(_ device: String) {
        devices.withLock { $0[device, default: Device()].mayForget = true }
    }

    /// Records that the clock of the device was set.
    func clockIsSet(_ device: String) {
        devices.withLock { $0[device]?.clock = nil }
    }

    /// Checks the status of an engine that has handled everything that was ready.
    ///
    /// - Parameters:
    ///   - clock: the device's clock.
    ///   - isLinked: whether the device has a link.
    ///   - faults: the number of faults of the device's disk so far.
    ///   - stored: the spaces in the database.
    ///   - outboxCount: returns the number of transactions in the outbox.
    func check(
        _ status: SyncStatus, of device: String, life: Int, clock: WallTime, isLinked: Bool, faults: Int,
        stored: [StoredSpace], outboxCount: () throws -> Int
    ) throws {
        // An engine that has not started does not know the time of the last sync yet.
        if status.connection == .notRunning { return }
        let known = devices.withLock { devices -> Device? in
            guard let known = devices[device], known.life == life else { return nil }
            devices[device]?.mayForget = faults != known.faults
            devices[device]?.lastSync = status.contact.lastSync
            devices[device]?.clock = clock
            devices[device]?.faults = faults
            return known
        }
        guard let known else { return }
        if faults == known.faults, !known.mayForget {
            try Self.check(status.contact.lastSync, at: clock, of: device, known)
        }
        switch status.connection {
        case .notRunning, .stopped: return
        case .offline:
            if isLinked { throw Violation(.I18, "\(device) has a link, and says that it is offline") }
        case .connecting, .online, .waiting, .paused, .storeFailed, .recovering, .refused:
            if !isLinked {
                throw Violation(.I18, "\(device) has no link, and says that its connection is \(status.connection)")
            }
        }
        guard status.isInSync, !known.hasTwoEngines else { return }
        let count = try outboxCount()
        guard count == 0 else {
            throw Violation(.I18, "\(device) says that it is in sync, and its outbox has \(count) transactions")
        }
        for space in status.spaces where space.hasAccess {
            guard let stored = stored.first(where: { $0.space == space.space }), stored.isComplete,
                stored.version >= known.heads[space.space] ?? .zero
            else {
                throw Violation(
                    .I18,
                    "\(device) says that \(space.space) is in sync at \(space.version), and has not reached version \(known.heads[space.space] ?? .zero), which the server named"
                )
            }
        }
    }

    /// Checks that the time of the last sync is the one that the device said before, or one that its clock has shown
    /// since then.
    private static func check(
        _ lastSync: WallTime?, at clock: WallTime, of device: String, _ known: Device
    ) throws(Violation) {
        guard let before = known.lastSync, lastSync != before else { return }
        guard let lastSync else { throw Violation(.I18, "\(device) was in sync, and now says that it never was") }
        guard !known.hasTwoEngines, let since = known.clock, !(since...max(since, clock)).contains(lastSync) else {
            return
        }
        throw Violation(
            .I18,
            "\(device) said that it was last in sync at \(before), and now says \(lastSync); its clock has shown \(since) to \(clock) since"
        )
    }
}
