import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

extension World {
    // MARK: At every step

    func check() throws {
        let failure = operations.withLock { operations in
            defer { operations.failure = nil }
            return operations.failure
        }
        if let failure { throw failure }
        try followFeed()
        if let violation = violations.take() { throw violation }
        // Reading whole files takes as long as all other checks together. Files are checked at every fourth step and at
        // the end.
        checkCount += 1
        let readsFiles = checkCount.isMultiple(of: 4)
        if readsFiles { try checkServerFile() }
        for device in devices {
            guard let store = device.store else { continue }
            try checkItStops(device)
            try checkStatus(of: device, store)
            // Contents that have not changed since the last successful check are still correct.
            let changes = device.disk.count(of: .changes)
            let needsFile = readsFiles && checkedFiles[device.name] != changes
            guard checked[device.name] != changes || needsFile else { continue }
            do {
                try device.disk.withoutFaults {
                    try checkVersions(of: device, store)
                    try checkAccess(of: device, store)
                    try checkNotices(of: device, store)
                    guard try isDue(device, store, readingFile: needsFile) else { return }
                    let isCertain = try history.check(device.name, store, sending: try outbox(of: device, store))
                    if needsFile {
                        try checkFile(of: device, store)
                        checkedFiles[device.name] = isCertain ? changes : nil
                    }
                    checked[device.name] = isCertain ? changes : nil
                }
            } catch let failure as StoreError {
                throw Violation(.I25, "\(device.name) cannot be read although its disk works: \(failure)")
            }
        }
    }

    /// Makes the next checks read everything again, because it is compared with another history.
    func forgetChecks() {
        checked = [:]
        checkedFiles = [:]
    }

    /// Checks that an engine which was asked to stop ends within the default deadline of `SyncPolicy` (I18).
    private func checkItStops(_ device: SimulatedDevice) throws(Violation) {
        var most = SyncPolicy().stopDeadline + .seconds(1)
        if script.setting.slowProcessor > 0 { most += SimulationLimits.stopTolerance }
        guard !asleep.contains(device.name), let time = device.timeSinceStop, time > most else { return }
        throw Violation(.I18, "\(device.name) was asked to stop \(time) ago, and has not ended")
    }

    /// Returns whether a full check of a device is due. The cost of a check grows with the outbox, so long outboxes are
    /// checked less often.
    ///
    /// A check that reads the file waits for the last one that did, whatever the checks between them have read.
    private func isDue(
        _ device: SimulatedDevice, _ store: SimulatedDevice.Store, readingFile: Bool
    ) throws -> Bool {
        let wait = try store.outboxSummary().count / SimulationLimits.outboxEntriesPerCheck
        let last = readingFile ? lastFileReads[device.name] : lastReads[device.name]
        if let last, checkCount - last <= wait { return false }
        lastReads[device.name] = checkCount
        if readingFile { lastFileReads[device.name] = checkCount }
        return true
    }

    /// Checks that a device's version of a space only grows, except after a setback such as a reset cursor (I7, I8),
    /// and reports the histories and spaces that the device says it has.
    private func checkVersions(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws {
        let session = try store.session()
        userOracle.follows(device.name, currentHistory: session.epoch == history.epoch)
        for stored in session.spaces {
            let setbacks = device.setbackCount(of: stored.space)
            if let last = versions[device.name]?[stored.space], last.setbacks == setbacks,
                stored.version < last.version, stored.isComplete
            {
                throw Violation(
                    .I8, "\(device.name) went back from version \(last.version) of \(stored.space) to \(stored.version)"
                )
            }
            versions[device.name, default: [:]][stored.space] = (stored.version, setbacks)
            if stored.isComplete { userOracle.hasAll(of: stored.space, on: device.name) }
        }
    }

    /// Checks that a device without access to a space holds nothing of it except its own pending records (I21).
    private func checkAccess(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws {
        let refused = try store.session().spaces.filter { !$0.hasAccess }
        guard !refused.isEmpty else { return }
        let held = try store.recordsBySpace()
        let entries = try outbox(of: device, store)
        let journal = try store.wholeJournal()
        for stored in refused {
            try access.check(
                held[stored.space] ?? [:], in: stored.space, of: device.name, owing: entries, journal
            ) { [userOracle] saved in userOracle.hasEntered(saved, on: device.name) }
        }
    }

    /// Checks the status of a running engine, which has handled everything that was ready (I18).
    private func checkStatus(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws {
        guard !asleep.contains(device.name), device.timeSinceStop == nil, device.engineEnd == nil,
            device.process?.isDead == false, let status = device.status
        else { return }
        if status.isInSync { deviceOracle.isInSync(device.name) }
        try device.disk.withoutFaults {
            try statuses.check(
                status, of: device.name, life: device.life, clock: device.wallClock.now,
                isLinked: device.reachability.current == .up, faults: device.disk.faultCount,
                stored: store.session().spaces,
                outboxCount: { try outbox(of: device, store).count })
        }
    }

    /// Checks that notices wait on the server while the journal has no room for them, and only then (I19).
    private func checkNotices(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws {
        guard device.storage.hasSmallJournal else { return }
        let notices = try store.wholeJournal().count { entry in
            if case .overwritten = entry.event { entry.state == .active } else { false }
        }
        let mustWait = notices >= DeviceStorage.smallJournal.notices
        for stored in try store.session().spaces where stored.cursor != nil && stored.noticesWait != mustWait {
            throw Violation(
                .I19,
                "\(device.name) \(stored.noticesWait ? "does not ask" : "asks") for notices in \(stored.space) although \(notices) of them are open"
            )
        }
    }

    // MARK: At the end

    /// Checks that the devices show everything that users were told (I1, I4, I12), through the interfaces that a user
    /// has.
    private func checkReportsToUsers() throws {
        guard parts.notifiesLosers else { return }
        let shown = try devices.compactMap { device in
            try device.store.map { try UserOracle.Findings(device.name, $0, device.status) }
        }
        let owners = Dictionary(uniqueKeysWithValues: devices.map { ($0.name, [$0.owner, Principal(name: $0.name)]) })
        try userOracle.check(shown, mayLackNotices: hasTrimmedConflicts) { device, space, time in
            (owners[device] ?? []).contains { access.mayHaveBeenTold($0, ofLosing: space, since: time) }
        }
        try userOracle.checkSpaces(shown)
        for (left, right) in zip(shown, shown.dropFirst()) {
            try userOracle.checkEqual(left, right) { place in
                for store in devices.compactMap(\.store) {
                    if let space = try? store.space(of: place.collection, place.id) { return space }
                }
                return nil
            }
        }
    }

    func checkEnd() throws {
        var records: [SpaceID: [CollectionName: [Record]]] = [:]
        for space in script.setting.spaces {
            let (shown, version) = try readServer(space)
            try history.check(server: shown, of: space, at: version)
            records[space] = shown
        }
        try history.checkNothingIsUnconfirmed()
        try checkReportsToUsers()
        try checkLogs()
        try checkServerFile()
        for device in devices {
            guard let store = device.store else { continue }
            try checkFile(of: device, store)
            try checkNothingIsLeft(of: device)
            let outbox = try store.outbox(limit: .max)
            guard outbox.isEmpty else { throw Violation(.I4, "\(device.name) still has \(outbox.count) to send") }
            // Checks that the whole journal can be read.
            _ = try store.wholeJournal()
            let held = try store.recordsBySpace()
            for space in script.setting.spaces {
                guard access.has(device.owner, accessTo: space) else {
                    let left = (held[space] ?? [:]).reduce(0) { $0 + $1.value.count }
                    guard left == 0 else {
                        throw Violation(.I21, "\(device.name) may not read \(space), and holds \(left) records of it")
                    }
                    continue
                }
                for schema in WorldCatalog.catalog.models {
                    let here = (held[space]?[schema.collection] ?? []).map(Comparison.init)
                    let there = (records[space]?[schema.collection] ?? []).map(Comparison.init)
                    guard here == there else {
                        throw Violation(
                            .I4,
                            "\(device.name) holds \(here.count) of \(schema.collection) in \(space), the server \(there.count), and they differ"
                        )
                    }
                }
            }
        }
    }

    /// The parts of a record that must be equal on every replica.
    private struct Comparison: Hashable {
        let id: RecordID
        let uid: UID
        let values: [FieldValue]

        init(_ record: Record) {
            id = record.id
            uid = record.uid
            values = record.values
        }
    }

    /// Returns the newest version of each space on the server; nil when the server is down.
    func headsOfServer() throws -> [SpaceID: Version]? {
        try server.ask { authority, now in
            try authority.heads(of: script.setting.spaces, for: AccessOracle.reader, now: now).heads
        }
    }

    /// Returns all records of a space on the server, as a new client would receive them, and their version.
    private func readServer(_ space: SpaceID) throws -> ([CollectionName: [Record]], Version) {
        var records: [CollectionName: [Record]] = [:]
        var cursor: Cursor?
        for _ in 0..<100_000 {
            let response = try server.ask { authority, now in
                try authority.pull(
                    PullRequest(space: space, cursor: cursor, limit: 50), by: AccessOracle.reader, now: now)
            }
            guard case .page(let page)? = response else {
                throw Violation(
                    .I9, "a fresh client gets no snapshot: \(response.map { "\($0)" } ?? "the server is down")")
            }
            switch page.content {
            case .snapshot(let rows, _, _):
                for part in rows { records[part.collection, default: []].append(contentsOf: part.records) }
            case .commits(let commits):
                guard commits.isEmpty else { throw Violation(.I9, "a quiet server shows commits after its snapshot") }
            }
            cursor = page.cursor
            if !page.hasMore { return (records.mapValues { $0.sorted { $0.id < $1.id } }, page.version) }
        }
        throw Violation(.I18, "the server's snapshot does not end")
    }
}
