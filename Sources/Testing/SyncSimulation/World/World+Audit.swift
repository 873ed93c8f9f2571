import SyncAuthority
import SyncCore
import SyncModel

// Checks that read the replicas' files without the code under test.
extension World {
    /// Reads the new commits of all change feeds, as a client without network or disk faults would.
    func followFeed() throws {
        for space in script.setting.spaces { try followFeed(of: space) }
    }

    private func followFeed(of space: SpaceID) throws {
        guard server.isUp else { return }
        for _ in 0..<10_000 {
            let request = PullRequest(space: space, cursor: readers[space], limit: 50)
            let response: PullResponse?
            do {
                response = try server.disk.withoutFaults {
                    try server.ask { authority, now in
                        try authority.pull(request, by: AccessOracle.reader, now: now)
                    }
                }
            } catch {
                // The process may have died in an earlier call. The next request detects that.
                if server.process?.isDead != false { return }
                throw Violation(.I25, "the server cannot be read although its disk works: \(error)")
            }
            guard let response else { return }
            feed.pullAnswered(request, response, to: "the reader", as: AccessOracle.reader)
            switch response {
            case .mustReset: readers[space] = nil
            case .noAccess: throw Violation(.I21, "the reader may read \(space), and is told that it may not")
            case .page(let page):
                readers[space] = page.cursor
                if !page.hasMore { return }
            }
        }
        throw Violation(.I18, "the feed of \(space) does not end")
    }

    /// Checks that no stamp is later than the server accepts (I22).
    func checkServerFile() throws {
        guard let process = server.process, !process.isDead else { return }
        let changes = server.disk.count(of: .changes)
        guard checkedFiles["server"] != changes else { return }
        guard let facts = try server.disk.withoutFaults({ try authorityFiles?.inspector(through: process).facts() })
        else {
            return
        }
        let latest = HybridTime(
            wall: max(latestServerTime, server.wallClock.now).advanced(by: SchemaLimits.permittedSkew), counter: .max)
        guard facts.latestStamp <= latest else {
            throw Violation(.I22, "the server took a stamp of \(facts.latestStamp), \(latest) at the latest")
        }
        checkedFiles["server"] = changes
    }

    /// Checks a device's file: versions (I7), references (I11), counts (I18), sizes (I19), access (I21), and the
    /// journal.
    func checkFile(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws {
        guard let process = device.process, !process.isDead,
            let facts = try replicaFiles[device.name]?.facts(through: process)
        else { return }
        let session = try store.session()
        let mayKnowLess = script.setting.isServerEarlier || hadEarlierBuild.contains(device.name)
        let firstCatalog = (mayKnowLess ? WorldBuild.earlier : .current).catalog
        // A space that the device may not read is never complete: the device holds only its pending transactions.
        let isComplete = session.spaces.allSatisfy { $0.isComplete || !$0.hasAccess }
        for stored in session.spaces where !stored.hasAccess {
            guard let count = facts.shown[stored.space], count > 0 else { continue }
            throw Violation(
                .I21, "\(device.name) has no access to \(stored.space), and its file holds \(count) records of it")
        }
        // Behind the horizon of a server that was restored, a device cannot prove the loss of what others wrote
        // (decision 19). It shows what the server has, and the others' devices prove the loss when they return.
        let isInDoubt = history.epoch == WorldHistories.inDoubt
        let resets = isInDoubt ? session.spaces.map { device.setbackCount(of: $0.space) }.reduce(0, +) : 0
        try bases[device.name, default: ReplicaHistory()].check(
            facts, of: device.name, in: session.epoch, as: session.identity, resets: resets, knowing: firstCatalog)
        if isComplete, let dangling = facts.dangling.first {
            throw Violation(.I11, "\(device.name) shows \(dangling), and not what it needs")
        }
        if let wrong = facts.wrongCounts.first {
            throw Violation(.I18, "\(device.name) counts its outbox wrongly: \(wrong)")
        }
        if let bounds = parts.bounds {
            guard facts.outboxEntries <= bounds.outboxEntries, facts.outboxBytes <= bounds.outboxBytes else {
                throw Violation(
                    .I19, "\(device.name) owes \(facts.outboxEntries) transactions of \(facts.outboxBytes) bytes")
            }
        }
        try journals.check(facts, of: device.name)
        if session.epoch == history.epoch {
            for stored in session.spaces where stored.isComplete {
                try history.check(facts, of: device.name, stored, in: store.catalog, first: firstCatalog)
            }
        }
    }

    /// Checks that temporary rows are gone once everything has arrived (I19).
    func checkNothingIsLeft(of device: SimulatedDevice) throws {
        guard let process = device.process, let facts = try replicaFiles[device.name]?.facts(through: process) else {
            return
        }
        for (table, count) in facts.transients.sorted(by: { $0.key < $1.key }) where count > 0 {
            throw Violation(.I19, "\(device.name) keeps \(count) rows in \(table), and nothing is unconfirmed any more")
        }
    }

    /// Returns the outbox of a device.
    func outbox(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws -> [OutboxEntry] {
        guard let process = device.process, !process.isDead,
            let entries = try replicaFiles[device.name]?.outbox(of: store, through: process, on: device.name)
        else { return try store.outbox(limit: .max) }
        return entries
    }

    /// Checks that the WAL has been checkpointed when the world is at rest (I19).
    func checkLogs() throws {
        guard let bounds = parts.bounds else { return }
        for device in devices {
            guard let process = device.process,
                let bytes = try replicaFiles[device.name]?.facts(through: process).walBytes
            else { continue }
            guard bytes <= bounds.walBytes else {
                throw Violation(
                    .I19, "the WAL of \(device.name) has \(bytes) bytes at rest, at most \(bounds.walBytes)")
            }
        }
    }
}
