extension WorldPlan {
    /// The script of this plan's world.
    public var script: WorldScript {
        var author = Author(plan: self)
        var script = WorldScript(setting: setting)
        var left = max(steps, 1)
        while left > 0 {
            let burst = author.nextBurst(atMost: left)
            script.moments.append(author.nextMoment(of: burst))
            left -= burst
        }
        return script
    }

    /// The generator of a script.
    ///
    /// It draws the numbers for every kind of fault at each step, whether the fault is enabled or not, so that changing
    /// one rate does not affect the others.
    fileprivate struct Author {
        let plan: WorldPlan
        var random: SeededRandom
        /// The random numbers of faults that were added later. Each group has its own stream, so that the worlds of
        /// existing seeds stay the same except for the new faults.
        var rare: SeededRandom
        var users: SeededRandom
        var later: SeededRandom
        var bursts: SeededRandom
        var operators: SeededRandom
        var disks: SeededRandom
        var rights: SeededRandom
        var outside: SeededRandom
        var lies: SeededRandom
        var builds: SeededRandom
        var identities: SeededRandom
        var horizon: SeededRandom
        var trimming: SeededRandom
        var claims: SeededRandom
        var quotas: SeededRandom

        init(plan: WorldPlan) {
            self.plan = plan
            random = SeededRandom(seed: plan.setting.seed, stream: "script")
            rare = SeededRandom(seed: plan.setting.seed, stream: "script.rare")
            users = SeededRandom(seed: plan.setting.seed, stream: "script.users")
            later = SeededRandom(seed: plan.setting.seed, stream: "script.later")
            bursts = SeededRandom(seed: plan.setting.seed, stream: "script.bursts")
            operators = SeededRandom(seed: plan.setting.seed, stream: "script.operators")
            disks = SeededRandom(seed: plan.setting.seed, stream: "script.disks")
            rights = SeededRandom(seed: plan.setting.seed, stream: "script.rights")
            outside = SeededRandom(seed: plan.setting.seed, stream: "script.outside")
            lies = SeededRandom(seed: plan.setting.seed, stream: "script.lies")
            builds = SeededRandom(seed: plan.setting.seed, stream: "script.builds")
            identities = SeededRandom(seed: plan.setting.seed, stream: "script.identities")
            horizon = SeededRandom(seed: plan.setting.seed, stream: "script.horizon")
            trimming = SeededRandom(seed: plan.setting.seed, stream: "script.trimming")
            claims = SeededRandom(seed: plan.setting.seed, stream: "script.claims")
            quotas = SeededRandom(seed: plan.setting.seed, stream: "script.quotas")
        }

        /// Draws the number of operations at the next instant.
        mutating func nextBurst(atMost most: Int) -> Int {
            min(bursts.within(1...max(plan.burst, 1)), most)
        }

        mutating func nextMoment(of burst: Int) -> WorldScript.Moment {
            var happenings: [WorldEvent] = []
            for place in 0..<plan.setting.devices { happenings += faults(of: place) }
            happenings += serverFaults()
            let place = random.below(plan.setting.devices)
            happenings.append(.operation(device: place, seed: random.next()))
            for _ in 1..<burst {
                happenings.append(.operation(device: bursts.below(plan.setting.devices), seed: bursts.next()))
            }
            let pause = random.duration(in: plan.pause)
            let sleep = rare.duration(in: .seconds(3_600)...(.seconds(20_000)))
            let isLong = rare.chance(plan.rates.longPause)
            let days = later.duration(in: SimulationLimits.day...(SimulationLimits.day * 30))
            guard later.chance(plan.rates.sleepForDays) else {
                return WorldScript.Moment(happenings, pause: isLong ? sleep : pause)
            }
            // All devices sleep: an awake device would keep polling, which would take too long to simulate.
            happenings += (0..<plan.setting.devices).map { .device($0, .suspended) }
            return WorldScript.Moment(happenings, pause: days)
        }

        private mutating func faults(of place: Int) -> [WorldEvent] {
            var faults: [DeviceFault] = []
            let rates = plan.rates
            if random.chance(rates.recover) { faults.append(.recovers) }
            if random.chance(rates.killDevice) { faults.append(.killed) }
            let noise = random.next()
            if random.chance(rates.losePowerOfDevice) { faults.append(.losesPower(seed: noise)) }
            if random.chance(rates.suspendDevice) { faults.append(.suspended) }
            let direction: SimulatedNetwork.Direction = random.chance(0.5) ? .toServer : .toDevice
            if random.chance(rates.cutDevice) { faults.append(.cutOff(direction)) }
            if random.chance(rates.dropLink) { faults.append(.losesLink) }
            let error = Duration.milliseconds(random.within(-50_000...50_000))
            if random.chance(rates.jumpClock) { faults.append(.clock(wrongBy: error * 40)) }
            if random.chance(2 * rates.rollBackDevice) { faults.append(.imageKept) }
            if random.chance(rates.rollBackDevice) { faults.append(.rolledBack) }
            faults += rareFaults(of: place)
            var happenings = faults.map { WorldEvent.device(place, $0) }
            let fault = random.diskFault()
            if random.chance(rates.deviceDiskFault) { happenings.append(.disk(.device(place), fault)) }
            return happenings
        }

        private mutating func rareFaults(of place: Int) -> [DeviceFault] {
            var faults: [DeviceFault] = []
            let rates = plan.rates
            let response = ScriptedResponse.allCases[rare.below(ScriptedResponse.allCases.count)]
            let times = rare.within(1...6)
            if rare.chance(rates.scriptResponse) { faults.append(.meets(response, times: times)) }
            let drift = rare.within(-50_000...50_000)
            if rare.chance(rates.driftClock) { faults.append(.clockDrifts(drift)) }
            let source = rare.below(plan.setting.devices)
            if rare.chance(rates.cloneDevice), source != place { faults.append(.cloned(from: source)) }
            if rare.chance(rates.rivalEngine) { faults.append(.rivalStarts) }
            let room = rare.below(60_000)
            if rare.chance(rates.fillDisk) { faults.append(.diskFilled(leaving: room)) }
            let isAnnounced = users.chance(0.5)
            if users.chance(rates.changeUser) { faults.append(.userChanges(isAnnounced: isAnnounced)) }
            if operators.chance(rates.stopDevice) { faults.append(.stops) }
            if disks.chance(rates.protectDisk) { faults.append(.diskReadOnly) }
            if later.chance(rates.allowDeletes) { faults.append(.deletesAllowed) }
            let days = outside.within(7...90) * (outside.chance(0.5) ? 1 : -1)
            if outside.chance(rates.clockDrift) { faults.append(.clock(wrongBy: SimulationLimits.day * days)) }
            if outside.chance(3 * rates.clockDrift) { faults.append(.clock(wrongBy: .zero)) }
            let lie = lies.below(Lie.drawn.count)
            // Some lies end soon. Others last until the device recovers or all faults end.
            let count = lies.chance(0.5) ? lies.within(1...6) : 1_000
            if lies.chance(rates.lie) { faults.append(.receivesFalseResponses(Lie.drawn[lie], times: count)) }
            // A push can name 16 former numbers of a transaction. The device has to ask about the outcome under them
            // before it can name others.
            let refusals = identities.within(1...40)
            if identities.chance(rates.refuseIdentities) {
                faults.append(.receivesFalseResponses(.identityConflict, times: refusals))
            }
            if builds.chance(rates.upgrade) { faults.append(.upgraded) }
            let claim = Lie.claims[claims.below(Lie.claims.count)]
            let repeats = claims.within(1...6)
            if claims.chance(rates.falseClaim) { faults.append(.receivesFalseResponses(claim, times: repeats)) }
            return faults
        }

        private mutating func serverFaults() -> [WorldEvent] {
            var faults: [ServerFault] = []
            let rates = plan.rates
            if random.chance(rates.recover) { faults.append(.recovers) }
            let kept = random.below(30)
            if random.chance(rates.compactServer) { faults.append(.compacted(keeping: kept)) }
            if random.chance(2 * rates.restoreServer) { faults.append(.backedUp) }
            if random.chance(rates.restoreServer) { faults.append(.restored) }
            if random.chance(rates.killServer) { faults.append(.killed) }
            let noise = random.next()
            if random.chance(rates.losePowerOfServer) { faults.append(.losesPower(seed: noise)) }
            let room = rare.below(60_000)
            if rare.chance(rates.fillDisk) { faults.append(.diskFilled(leaving: room)) }
            if rare.chance(rates.emptyServer) { faults.append(.emptied) }
            if operators.chance(rates.secondServer) { faults.append(.secondStarts) }
            let delay = operators.duration(in: .seconds(1)...(.seconds(90)))
            if operators.chance(rates.slowServer) { faults.append(.slowed(by: delay)) }
            let error = Duration.milliseconds(operators.within(-2_000_000...2_000_000))
            if operators.chance(rates.jumpClockOfServer) { faults.append(.clock(wrongBy: error)) }
            if disks.chance(rates.protectDisk) { faults.append(.diskReadOnly) }
            let (place, space) = (rights.below(plan.setting.devices), rights.below(plan.setting.spaces.count))
            if rights.chance(rates.changeAccess) { faults.append(.accessChanged(device: place, space: space)) }
            if outside.chance(2 * rates.restoreServerSilently) { faults.append(.backedUp) }
            if outside.chance(rates.restoreServerSilently) { faults.append(.restoredSilently) }
            let forgery = outside.next()
            if outside.chance(rates.forgePush) { faults.append(.forged(seed: forgery)) }
            if builds.chance(rates.upgrade) { faults.append(.upgraded) }
            let conflicts = trimming.below(4)
            if trimming.chance(rates.trimConflicts) { faults.append(.conflictsTrimmed(keeping: conflicts)) }
            faults += restoreBehindHorizon()
            let bytes = quotas.within(500...40_000)
            if quotas.chance(rates.changeQuota) { faults.append(.quotaChanged(bytes: bytes)) }
            var happenings = faults.map { WorldEvent.server($0) }
            let fault = random.diskFault()
            if random.chance(rates.serverDiskFault) { happenings.append(.disk(.server, fault)) }
            return happenings
        }
    }
}

extension WorldPlan.Author {
    /// Draws a silent restore after which a stranger makes more commits than the server keeps.
    fileprivate mutating func restoreBehindHorizon() -> [ServerFault] {
        var faults: [ServerFault] = []
        let kept = horizon.below(2)
        let commits = (0..<horizon.within(8...20)).map { _ in horizon.next() }
        // A stranger can make more commits than the backup lacks only if the backup is recent.
        if horizon.chance(10 * plan.rates.restoreServerBehindHorizon) { faults.append(.backedUp) }
        if horizon.chance(plan.rates.restoreServerBehindHorizon) {
            faults.append(.restoredSilently)
            faults += commits.map { .forged(seed: $0) }
            faults.append(.compacted(keeping: kept))
        }
        return faults
    }
}

extension SeededRandom {
    /// Draws a fault for one of the next operations of a disk.
    fileprivate mutating func diskFault() -> DiskFault {
        let skip = below(60)
        let times = chance(0.8) ? 1 : within(2...30)
        return switch below(6) {
        case 0: DiskFault(.changes, skip: skip, effect: .losePower)
        case 1: DiskFault(.changes, skip: skip, effect: .kill)
        case 2: DiskFault(.write, skip: skip, times: times, effect: .fail(.full))
        case 3: DiskFault([.lock, .sharedMemoryLock], skip: skip, times: times, effect: .fail(.busy))
        case 4: DiskFault([.sync, .truncate, .delete], skip: skip / 4, times: times, effect: .fail(.inputOutput))
        default: DiskFault([.read, .write], skip: skip, times: times, effect: .fail(.inputOutput))
        }
    }
}
