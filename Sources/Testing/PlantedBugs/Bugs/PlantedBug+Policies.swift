import AuthorityStoreSQLite
import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite

extension PlantedBug {
    /// Policies of the engine that are out of range.
    static let policies: [PlantedBug] = [
        PlantedBug(
            "no wait between tries", breaks: [.I18], "the back-off has neither a floor nor growth",
            shape: {
                $0.setting.policy.backoff.initial = .milliseconds(1)
                $0.setting.policy.backoff.floor = .milliseconds(1)
                $0.setting.policy.backoff.cap = .milliseconds(1)
                $0.setting.network.refuseRate = 0.5
            }),
        PlantedBug(
            "no cap on waits", breaks: [.I18], "the back-off grows forever",
            shape: {
                $0.setting.policy.backoff.initial = .seconds(600)
                $0.setting.policy.backoff.factor = 100
                $0.setting.policy.backoff.cap = .seconds(10_000_000)
                $0.setting.network.refuseRate = 0.6
                $0.rates.dropLink = 0
            }),
        PlantedBug(
            "polls in a loop", breaks: [.I18], "a poll starts immediately after the previous one",
            shape: {
                $0.setting.policy.pollInterval = .milliseconds(1)
                $0.setting.policy.pollIntervalWithHints = .milliseconds(1)
            }),
        PlantedBug(
            "never polls", breaks: [.I18], "a device without hints never polls",
            shape: {
                $0.setting.policy.pollInterval = .seconds(100_000)
                $0.setting.policy.pollIntervalWithHints = .seconds(100_000)
                $0.setting.policy.listensForHints = false
                $0.setting.devices = 3
            }),
        PlantedBug(
            "no retry after a refusal", breaks: [.I18], "a device that was refused never retries",
            shape: {
                $0.setting.policy.refusalRetry = .seconds(1_000_000)
                $0.rates.scriptResponse = 0.2
                $0.rates.recover = 0.02
            }),
        PlantedBug(
            "stop deadline ignored", breaks: [.I18], "an engine that is asked to stop waits for open requests",
            shape: {
                $0.setting.policy.stopDeadline = .seconds(1_000)
                $0.setting.network.loseResponseRate = 0.5
                $0.setting.slowProcessor = 0
                $0.rates.stopDevice = 0.1
            }),
    ]

    /// Makes the journals small, and much of what users write is rejected or merged.
    @Sendable private static func fillJournals(_ plan: inout WorldPlan) {
        plan.setting.hasSmallJournals = true
        plan.setting.hasRule = true
        plan.setting.devices = 2
        plan.steps = 400
    }

    /// Gives the server limits that the devices' writes exceed.
    @Sendable private static func tighten(_ plan: inout WorldPlan) {
        plan.setting.limits = TightLimits(
            pushBytes: 6_000, pushTransactions: 3, pageRows: 8, pageBytes: 1_000, transactionsPerWrite: 2,
            bodyBytes: 4_000, textBytes: 100)
        plan.steps = 300
    }

    /// Limits what accounts may store.
    @Sendable private static func limitAccounts(_ plan: inout WorldPlan) {
        plan.setting.accounts = AccountLimits(bytes: 4_000)
        plan.rates.changeQuota = 0.005
        plan.rates.secondServer = 0
        plan.rates.serverDiskFault = 0
        plan.rates.fillDisk = 0
        plan.rates.protectDisk = 0
        plan.steps = 300
    }

    /// Returns the real parts, with other limits of accounts than those of the world.
    private static func accounts(
        _ change: @escaping @Sendable (AccountLimits) -> AccountLimits
    ) -> WorldParts {
        var parts = WorldParts.onSQLite()
        let open = parts.openAuthority
        parts.openAuthority = { process, setting, rules, histories in
            var setting = setting
            setting.accounts = change(setting.accounts)
            return try open(process, setting, rules, histories)
        }
        return parts
    }

    /// Limits that the parts do not enforce.
    static let limits: [PlantedBug] = [
        PlantedBug(
            "no limit to the outbox", breaks: [.I19], "the outbox may exceed its limits",
            parts: {
                var settings = SQLiteParts()
                settings.limits.outboxEntries = .max
                settings.limits.outboxBytes = .max
                return .onSQLite(settings)
            },
            shape: {
                $0.setting.network.refuseRate = 1
                $0.setting.devices = 1
                $0.steps = 600
            }),
        PlantedBug(
            "no limit to the journal", breaks: [.I19], "handled journal entries are never deleted",
            parts: {
                var settings = SQLiteParts()
                settings.limits.journalEntries = .max
                return .onSQLite(settings)
            },
            shape: { $0.setting.devices = 1 }),
        PlantedBug(
            "journal never full", breaks: [.I19],
            "edits are taken, and notices requested, however many entries the user has not handled",
            parts: {
                var parts = WorldParts.onSQLite()
                let open = parts.openStore
                parts.openStore = { process, runtime, storage in
                    var storage = storage
                    storage.hasSmallJournal = false
                    return try open(process, runtime, storage)
                }
                return parts
            }, shape: fillJournals),
        PlantedBug(
            "journal full too early", breaks: [.I6], "edits are refused although the journal has room",
            parts: {
                .wrappingStores {
                    $0.onCommit = { (base, edits, seen, space, now) throws(StoreError) in
                        guard try base.outboxSummary().activeJournalEntries < DeviceStorage.smallJournal.entries - 1
                        else { throw StoreError(.journalFull, "planted") }
                        return try base.commit(edits, seen: seen, in: space, now: now)
                    }
                }
            }, shape: fillJournals),
        PlantedBug(
            "long texts taken", breaks: [.I17], "the server commits texts that are longer than its models allow",
            parts: {
                var parts = WorldParts.onSQLite()
                let open = parts.openAuthority
                parts.openAuthority = { process, setting, rules, histories in
                    var setting = setting
                    setting.limits?.textBytes = 200
                    return try open(process, setting, rules, histories)
                }
                return parts
            }, shape: tighten),
        PlantedBug(
            "large pushes said to be malformed", breaks: [.I17],
            "the journal gives another reason than its size for a transaction that the server never took",
            parts: {
                .wrappingStores {
                    $0.onWithdraw = { Rejection(code: .malformed, message: $0.message, mutation: nil) }
                }
            }, shape: tighten),
        PlantedBug(
            "no limit to an account", breaks: [.I19], "accounts store more than they may",
            parts: { accounts { _ in .unlimited } }, shape: limitAccounts),
        PlantedBug(
            "account full too early", breaks: [.I17], "writes are rejected although their account may store more",
            parts: { accounts { AccountLimits(bytes: $0.bytes / 10) } }, shape: limitAccounts),
        PlantedBug(
            "too many clients too early", breaks: [.I17],
            "a device may not write, although its account may write with more clients",
            parts: { accounts { AccountLimits(bytes: $0.bytes, clients: 1) } },
            shape: { plan in
                limitAccounts(&plan)
                plan.setting.accounts.clients = 5
                plan.rates.cloneDevice = 0.02
                plan.setting.devices = 3
            }),
        PlantedBug(
            "WAL never checkpointed", breaks: [.I19], "neither the engine nor a write checkpoints the WAL",
            parts: {
                var settings = SQLiteParts()
                settings.limits.checkpointPages = 1_000_000
                return .onSQLite(settings)
            }),
        PlantedBug(
            "no bytes counted in pages", breaks: [.I19], "the size of a page in bytes is not limited",
            parts: {
                var settings = SQLiteParts()
                settings.authority.pageBytes = 1_000_000
                return .onSQLite(settings)
            },
            shape: {
                // A device that has been offline for a long time reads full pages.
                $0.setting.policy.pageRows = 40
                $0.setting.devices = max($0.setting.devices, 2)
                $0.rates.dropLink = 0.1
                $0.rates.recover = 0.05
            }),
        PlantedBug(
            "no rows counted in pages", breaks: [.I19], "the number of rows in a page is not limited",
            parts: {
                .wrappingAuthority(wide) {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        try base.pull(request.with(limit: 1_000), by: principal, now: now)
                    }
                }
            }),
    ]

    /// The options of the bug in which pages are full only by bytes.
    private static let wide: SQLiteParts = {
        var settings = SQLiteParts()
        settings.authority.limits = ServerLimits(
            pushBytes: settings.authority.limits.pushBytes,
            pushTransactions: settings.authority.limits.pushTransactions, pageRows: 1_000)
        return settings
    }()

    /// Makes devices commit without a flush, and lose power at the given rate.
    @Sendable private static func unflushed(_ plan: inout WorldPlan, losePower rate: Double) {
        plan.setting.unflushed = Set(0..<plan.setting.devices)
        plan.rates.losePowerOfDevice = rate
        plan.rates.killDevice = 0.1
        plan.rates.deviceDiskFault = 0
        plan.rates.rollBackDevice = 0
        plan.rates.cloneDevice = 0
    }

    /// Bugs in durability: a device or the server loses or damages data that it should keep.
    static let disks: [PlantedBug] = [
        PlantedBug(
            "device does not flush", breaks: [.I1, .I16, .I7], "a power loss may lose a committed write",
            parts: {
                var settings = SQLiteParts()
                settings.storeDurability = .normal
                return .onSQLite(settings)
            },
            shape: {
                $0.rates.losePowerOfDevice = 0.1
                $0.setting.unflushed = []
            }),
        PlantedBug(
            "WAL lost with the process", breaks: [.I1, .I25, .I16, .I5, .I8, .I7, .I18],
            "a device that does not flush each commit loses commits when its process is killed",
            parts: {
                var parts = WorldParts.onSQLite()
                let open = parts.openStore
                parts.openStore = { process, runtime, storage in
                    if storage.durability == .normal { process.disk.remove("/cache.sqlite-wal") }
                    return try open(process, runtime, storage)
                }
                return parts
            }, shape: { unflushed(&$0, losePower: 0) }),
        PlantedBug(
            "flushed commits lost", breaks: [.I1, .I25, .I16],
            "a device that does not flush each commit loses even flushed commits in a power loss",
            parts: {
                var parts = WorldParts.onSQLite()
                let open = parts.openStore
                let first = Guarded<DiskImage?>(nil)
                let losses = Guarded(0)
                parts.openStore = { process, runtime, storage in
                    let disk = process.disk
                    let before = losses.withLock { losses in
                        defer { losses = disk.powerLossCount }
                        return losses
                    }
                    if disk.powerLossCount > before, let image = first.withLock({ $0 }) { disk.restore(image) }
                    let store = try open(process, runtime, storage)
                    first.withLock { $0 = $0 ?? disk.image() }
                    return store
                }
                return parts
            },
            shape: {
                $0.setting.devices = 1
                unflushed(&$0, losePower: 0.05)
            }),
        PlantedBug(
            "numbers reused without a new identity", breaks: [.I16, .I18, .I2],
            "a device that has lost its newest commits keeps its identity",
            parts: {
                .wrappingStores { $0.onRenew = { (base, _) throws(StoreError) in try base.session() } }
            }, shape: { unflushed(&$0, losePower: 0.1) }),
        PlantedBug(
            "server does not flush", breaks: [.I1, .I9, .I5, .I16, .I13, .I18, .I25],
            "a power loss may lose commits that the server has confirmed",
            parts: {
                var settings = SQLiteParts()
                settings.serverDurability = .normal
                return .onSQLite(settings)
            }, shape: { $0.rates.losePowerOfServer = 0.1 }),
        PlantedBug(
            "WAL lost", breaks: [.I25, .I1, .I16, .I5, .I8, .I7, .I18],
            "the WAL of a database is removed while no process runs",
            parts: {
                var parts = WorldParts.onSQLite()
                let open = parts.openStore
                parts.openStore = { process, runtime, storage in
                    process.disk.remove("/cache.sqlite-wal")
                    return try open(process, runtime, storage)
                }
                return parts
            }, shape: { $0.rates.killDevice = 0.1 }),
        PlantedBug(
            "damaged pages", breaks: [.I25, .I5, .I4, .I18],
            "a byte of a device's database file is damaged after the file is opened",
            parts: {
                var parts = WorldParts.onSQLite()
                let open = parts.openStore
                parts.openStore = { process, runtime, storage in
                    let store = try open(process, runtime, storage)
                    if runtime.random() % 2 == 0 {
                        let size = process.disk.size(of: "/cache.sqlite") ?? 0
                        let offset = 4_096 + Int(runtime.random() % UInt64(max(size - 4_096, 1)))
                        _ = process.disk.corrupt("/cache.sqlite", at: offset)
                    }
                    return store
                }
                return parts
            }, shape: { $0.rates.killDevice = 0.1 }),
    ]
}
