import SyncAuthority
import SyncCore
import SyncModel

extension World {
    /// Carries out an event of the script, unless it is impossible now.
    func happen(_ happening: WorldEvent) throws {
        switch happening {
        case .operation(let place, let seed): if let device = device(at: place) { act(on: device, seed: seed) }
        case .device(let place, let fault): if let device = device(at: place) { try strike(device, fault) }
        case .server(let fault): try strikeServer(fault)
        case .disk(let party, let fault): if isUp(party) { disk(of: party)?.plan(fault) }
        }
    }

    private func device(at place: Int) -> SimulatedDevice? {
        devices.indices.contains(place) ? devices[place] : nil
    }

    func disk(of party: Party) -> SimulatedDisk? {
        switch party {
        case .server: server.disk
        case .device(let place): device(at: place)?.disk
        }
    }

    private func isUp(_ party: Party) -> Bool {
        switch party {
        case .server: server.isUp
        case .device(let place): device(at: place)?.isUp ?? false
        }
    }

    // MARK: Devices

    private func strike(_ device: SimulatedDevice, _ fault: DeviceFault) throws {
        func count(_ kind: FaultKind) { tally.count(kind, network.phases(of: device.name)) }
        func mark(_ text: String) { simulation.mark(text, by: device.name, as: .fault) }
        switch fault {
        case .recovers: try recover(device)
        case .killed:
            guard device.isUp else { return }
            count(.deviceKilled)
            simulation.start("kill \(device.name)") { device.kill() }
        case .stops:
            guard device.isUp, device.engineEnd == nil else { return }
            count(.engineStopped)
            device.stop()
        case .losesPower(let seed):
            guard device.isUp else { return }
            count(.devicePowerLost)
            if device.storage.durability == .normal { count(.unflushedPowerLost) }
            simulation.start("power of \(device.name)") { device.losePower(seed: seed) }
        case .suspended:
            guard device.isUp, !asleep.contains(device.name) else { return }
            count(.deviceSuspended)
            if device.pausesClock { count(.clockPaused) }
            simulation.suspend(device.name, pausingClock: device.pausesClock)
            asleep.insert(device.name)
        case .cutOff(let direction):
            count(.deviceCutOff)
            network.cut(device.name, direction)
        case .losesLink:
            count(.linkDown)
            mark("loses its link")
            network.watch.linkChanged(of: device.name)
            device.reachability.set(.down("no carrier"))
        case .clock(let error):
            count(.clockJumped)
            if abs(error.components.seconds) >= 7 * SimulationLimits.day.components.seconds {
                count(.clockWrongForWeeks)
            }
            mark("its clock is wrong by \(error)")
            statuses.clockIsSet(device.name)
            device.wallClock.set(to: Simulation.startTime.advanced(by: simulation.now + error))
        case .imageKept:
            guard device.isUp else { return }
            images[device.name] = KeptImage(
                disk: device.disk.image(), expectations: history.expectations(of: device.name),
                told: userOracle.image(of: device.name), owner: device.owner, build: device.build)
            simulation.note("kept an image", by: device.name)
        case .rolledBack:
            guard let image = images[device.name] else { return }
            count(.deviceRolledBack)
            userOracle.replaceDisk(of: device.name, by: image.told, journal: journal(of: device))
            device.kill()
            device.disk.release()
            device.disk.restore(image.disk)
            device.owner = image.owner
            device.build = max(device.build, image.build)
            history.rollBack(device.name, to: image.expectations)
            deviceOracle.rolledBack(device.name)
            powerLosses[device.name] = device.disk.powerLossCount
            forgetFile(of: device)
            simulation.note("rolled back", by: device.name, as: .fault)
            try startDevice(device)
        case .deletesAllowed: device.allowDeletes()
        case .clockDrifts, .meets, .receivesFalseResponses, .cloned, .rivalStarts, .diskFilled, .diskReadOnly,
            .userChanges,
            .upgraded:
            try strikeRarely(device, fault)
        }
    }

    private func recover(_ device: SimulatedDevice) throws {
        wake(device)
        network.repair(device.name)
        free(device)
        device.renewCredentials()
        network.watch.hasReason(toTryAgain: device.name)
        giveLink(to: device)
        if device.needsStart { try startDevice(device) }
    }

    func giveLink(to device: SimulatedDevice) {
        if device.reachability.current != .up { network.watch.linkChanged(of: device.name) }
        device.reachability.set(.up)
    }

    func wake(_ device: SimulatedDevice) {
        simulation.resume(device.name)
        asleep.remove(device.name)
        device.wokeUp()
    }

    /// Starts a device. The start may fail only because of a disk fault.
    func startDevice(_ device: SimulatedDevice) throws {
        network.watch.reset(device.name)
        do {
            try device.start()
            history.hasStarted(device.name)
        } catch let failure as StoreError {
            try checkHonest(failure, where: device.name)
        }
        try admitLosses(of: device)
        device.endIfDead()
    }

    func startServer() throws {
        do {
            try server.start()
        } catch {
            simulation.note("does not start: \(Self.reason(of: error))", by: "server", as: .fault)
        }
        try settle()
    }

    /// Returns a description without the error's message. The message contains the address of the database, which
    /// differs in every run.
    private static func reason(of error: any Error) -> String {
        (error as? AuthorityStoreError).map { "\($0.code)" } ?? "\(type(of: error))"
    }

    /// Determines the outcomes of the pushes that the server handled but did not answer, such as before it died.
    func settle() throws {
        guard let outcome = parts.outcome else { return }
        try server.disk.withoutFaults {
            _ = try server.ask { authority, _ in try history.settle { try outcome(authority, $0) } }
        }
    }

    private func checkHonest(_ failure: StoreError, where name: String) throws {
        switch failure.code {
        case .inputOutput, .diskFull, .busy, .readOnly, .missingFile: return
        default: throw Violation(.I25, "\(name) does not open: \(failure)")
        }
    }

    // MARK: The server

    /// Injects a fault into the server, or performs an operator's task: compaction, a backup, or a restore.
    private func strikeServer(_ fault: ServerFault) throws {
        func count(_ kind: FaultKind) { tally.count(kind, network.phases(of: nil)) }
        switch fault {
        case .recovers:
            server.disk.release()
            server.delay = nil
            if !server.isUp { try startServer() }
        case .diskFilled(let room):
            count(.serverDiskFilled)
            server.disk.fill(leaving: room)
        case .diskReadOnly:
            count(.serverDiskReadOnly)
            server.disk.setReadOnly(true)
        case .emptied:
            guard let beginning, parts.upkeep != nil else { return }
            count(.serverEmptied)
            try restore(DiskImage(files: []), beginning)
            simulation.note("is another, and empty", by: "server")
        case .killed:
            guard server.isUp else { return }
            count(.serverKilled)
            simulation.start("kill server") { [server] in server.stopOldest() }
        case .losesPower(let seed):
            guard server.isUp else { return }
            count(.serverPowerLost)
            simulation.start("power of server") { [server] in server.losePower(seed: seed) }
        case .compacted(let kept):
            guard server.isUp, parts.upkeep != nil else { return }
            count(.serverCompacted)
            simulation.note("keeps \(kept) commits", by: "server")
            try followFeed()
            do {
                for space in script.setting.spaces {
                    try doUpkeep(.trimFeed(space, keeping: kept))
                    feed.compacted(space, keeping: kept)
                }
            } catch let failure as AuthorityError where failure.code == .unavailable {
                // The server's disk is full.
                simulation.note("cannot compact: \(failure)", by: "server")
            }
        case .conflictsTrimmed(let kept):
            guard server.isUp, parts.upkeep != nil else { return }
            count(.conflictsTrimmed)
            hasTrimmedConflicts = true
            simulation.note("keeps \(kept) conflicts", by: "server")
            do {
                try doUpkeep(.trimConflicts(keeping: kept))
            } catch let failure as AuthorityError where failure.code == .unavailable {
                simulation.note("cannot remove conflicts: \(failure)", by: "server")
            }
        case .backedUp:
            guard server.isUp, parts.upkeep != nil else { return }
            // The server must be stopped for the backup: uncommitted data in a running server's WAL would become
            // visible in the copy.
            server.stop()
            try server.disk.withoutFaults { try startServer() }
            guard server.isUp else { return }
            backup = (server.disk.image(), history.memory)
            simulation.note("backed up", by: "server")
        case .secondStarts:
            guard server.instanceCount == 1 else { return }
            let phases = network.phases(of: nil)
            startSecondServer()
            // Each process counts only what it has added itself.
            history.usageIsUncertain()
            if server.instanceCount > 1 { tally.count(.secondServer, phases) }
        case .upgraded:
            guard server.setting.build < .current else { return }
            count(.serverUpgraded)
            try upgradeServer()
        case .slowed(let delay):
            count(.serverSlow)
            server.delay = delay
            simulation.note("takes \(delay) for each request", by: "server", as: .fault)
        case .clock(let error):
            count(.serverClockJumped)
            latestServerTime = max(latestServerTime, server.wallClock.now)
            server.wallClock.set(to: Simulation.startTime.advanced(by: simulation.now + error))
            simulation.note("its clock is wrong by \(error)", by: "server", as: .fault)
        case .accessChanged(let place, let index):
            guard let owner = device(at: place)?.owner, script.setting.spaces.indices.contains(index) else { return }
            count(.accessChanged)
            let space = script.setting.spaces[index]
            let hasIt = access.change(of: owner, in: space, at: simulation.now)
            simulation.note("\(owner.name) may \(hasIt ? "again" : "no more") use \(space)", by: "server", as: .fault)
            // The server reads its access rules when a process starts.
            guard server.isUp else { return }
            server.stop()
            try startServer()
        case .quotaChanged(let bytes):
            try changeQuota(AccountLimits(bytes: bytes, clients: server.setting.accounts.clients))
        case .restored:
            guard let (image, memory) = backup else { return }
            count(.serverRestored)
            try restore(image, memory)
            simulation.note("restored from a backup", by: "server", as: .fault)
        case .restoredSilently:
            guard let (image, memory) = backup else { return }
            count(.serverRestored)
            count(.serverRestoredSilently)
            try restore(image, memory, isAnnounced: false)
            simulation.note("restored from a backup, and not told", by: "server", as: .fault)
        case .forged(let seed):
            guard server.isUp, parts.upkeep != nil else { return }
            count(.pushForged)
            try forge(seed: seed)
        }
    }

    /// Changes the limits of accounts. The server reads them when a process starts.
    func changeQuota(_ accounts: AccountLimits) throws {
        server.setting.accounts = accounts
        history.accounts = accounts
        simulation.note("lets each account store \(accounts.bytes) bytes", by: "server", as: .fault)
        guard server.isUp else { return }
        server.stop()
        try startServer()
    }

    private func startSecondServer() {
        do {
            try server.startSecond()
        } catch {
            simulation.note("starts no second process: \(Self.reason(of: error))", by: "server", as: .fault)
        }
    }

    private func restore(_ image: DiskImage, _ memory: History.Memory, isAnnounced: Bool = true) throws {
        wasRestored = true
        server.stop()
        server.disk.release()
        server.disk.restore(image)
        server.disk.clearPlans()
        history.rollBack(to: memory)
        userOracle.restoreServer()
        feed.forget()
        readers = [:]
        forgetChecks()
        try server.start()
        try settle()
        histories.serverWasRestored(isAnnounced: isAnnounced)
        guard isAnnounced else {
            deviceOracle.serverWasRestoredSilently()
            // Until the server detects the restore, or everything is at rest, it is unknown which devices follow this
            // history.
            history.epoch = WorldHistories.inDoubt
            return
        }
        let next = histories.nextHistory()
        try doUpkeep(.startEpoch(next))
        history.epoch = next.epoch
    }

    private func doUpkeep(_ task: WorldParts.Upkeep) throws {
        guard let upkeep = parts.upkeep else { return }
        try server.disk.withoutFaults {
            _ = try server.ask { authority, _ in try upkeep(task, authority) }
        }
    }
}
