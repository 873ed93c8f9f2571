import SyncAuthority
import SyncCore
import SyncModel

// What the files of the replicas say, past the code under test.
extension World {
    /// Reads on in the feed, as a client that the network never touches.
    func followFeed() throws {
        guard server.isUp else { return }
        for _ in 0..<10_000 {
            let request = PullRequest(space: Self.space, cursor: reader, limit: 50)
            let reply: PullReply?
            do {
                reply = try server.disk.withoutFaults {
                    try server.ask { authority, now in
                        try authority.pull(request, by: Principal(name: "device0"), now: now)
                    }
                }
            } catch {
                // The process may have died over what it did before; its end is noticed with its next request.
                if server.process?.isDead != false { return }
                throw Violation(.I25, "the server cannot be read although its disk works: \(error)")
            }
            guard let reply else { return }
            feed.pullAnswered(request, reply, to: "the reader")
            switch reply {
            case .mustReset: reader = nil
            case .page(let page):
                reader = page.cursor
                if !page.hasMore { return }
            }
        }
        throw Violation(.I18, "the feed does not end")
    }

    /// No stamp is later than the server lets through (I22).
    func checkServerFile() throws {
        guard authorityAudit != nil, let process = server.process, !process.isDead else { return }
        let changes = server.disk.count(of: .changes)
        guard checked["server"] != changes else { return }
        guard let facts = try server.disk.withoutFaults({ try authorityAudit?.look(through: process).facts() }) else {
            return
        }
        let latest = HybridTime(
            wall: server.wallClock.now.advanced(by: ModelLimits.permittedSkew), counter: .max)
        guard facts.latestStamp <= latest else {
            throw Violation(.I22, "the server took a stamp of \(facts.latestStamp), \(latest) at the latest")
        }
        checked["server"] = changes
    }

    /// What a device's file says of versions (I7), references (I11), counts (I18), sizes (I19) and the journal.
    func checkFile(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws {
        guard let process = device.process, !process.isDead, let facts = try look(at: device, process)?.facts() else {
            return
        }
        let session = try store.session()
        let isComplete = session.spaces.allSatisfy(\.isComplete)
        try bases[device.name, default: ReplicaHistory()].check(
            facts, of: device.name, in: session.epoch, as: session.identity)
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
        if isComplete, let version = session.spaces.first?.version, session.epoch == history.epoch {
            try history.check(facts, of: device.name, at: version)
        }
    }

    /// The look at a device's file; nil when the parts cannot look.
    func look(at device: SimulatedDevice, _ process: DiskProcess) throws -> (any ReplicaLook)? {
        try replicaAudits[device.name]?.look(through: process)
    }

    /// What is in the outbox of a device.
    func outbox(of device: SimulatedDevice, _ store: SimulatedDevice.Store) throws -> [OutboxEntry] {
        guard let process = device.process, !process.isDead, let look = try look(at: device, process) else {
            return try store.outbox(limit: .max)
        }
        return try outboxes[device.name, default: OutboxReader()].entries(
            of: store, holding: try look.outbox(), on: device.name)
    }

    /// At rest the log has been written back (I19).
    func checkLogs() throws {
        guard let bounds = parts.bounds else { return }
        for device in devices {
            guard let process = device.process, let bytes = try look(at: device, process)?.facts().logBytes else {
                continue
            }
            guard bytes <= bounds.logBytes else {
                throw Violation(
                    .I19, "the log of \(device.name) has \(bytes) bytes at rest, at most \(bounds.logBytes)")
            }
        }
    }
}
