import AuthorityStoreSQLite
import SyncAuthority
public import SyncCore
import SyncModel
public import SyncSimulation
import SyncStoreSQLite

extension WorldParts {
    /// Returns all production parts except HTTP: the SQLite stores, the authority, and the codec.
    public static func onSQLite(_ settings: SQLiteParts = SQLiteParts()) -> WorldParts {
        var parts = WorldParts(
            wire: { WireForm(catalog: $0.catalog) },
            openStore: { process, runtime, storage in
                try openLocalStore(process, runtime, storage, settings)
            },
            openAuthority: { process, setting, rules, histories in
                let store = try SQLiteAuthorityStore(
                    singleConnectionTo: process.uri(for: "/authority.sqlite"), newHistory: histories.nextHistory(),
                    configuration: SQLiteAuthorityConfiguration(durability: settings.serverDurability))
                var policy = setting.limits?.limiting(settings.authority) ?? settings.authority
                policy.access = rules
                policy.accounts = setting.accounts
                let authority = Authority(
                    store: store, catalog: setting.catalog, policy: policy, histories: histories)
                if policy.accounts != .unlimited { try authority.measureUsage() }
                return authority
            },
            upkeep: { task, service in
                guard let authority = service as? Authority else { throw UnexpectedAuthorityError() }
                switch task {
                case .trimFeed(let space, let count): try authority.trimFeed(of: space, to: FeedBound(commits: count))
                case .trimConflicts(let count):
                    while try authority.trimConflicts(keeping: ConflictAmount(conflicts: count)) {}
                case .startEpoch(let history): try authority.startNewEpoch(history)
                }
            },
            outcome: { service, sender in
                guard let authority = service as? Authority else { throw UnexpectedAuthorityError() }
                let stored = try authority.outcome(of: sender.number, from: sender.identity, of: sender.principal)
                return stored.map { ($0.hash, $0.outcome) }
            })
        parts.auditReplica = { process in try ReplicaAudit(of: "/cache.sqlite", on: process) }
        parts.auditAuthority = { process in try AuthorityAudit(of: "/authority.sqlite", on: process) }
        parts.bounds = SQLiteParts.bounds
        parts.messageBounds = SQLiteParts.messageBounds
        return parts
    }

    /// Opens a device's store, which follows the space `default`.
    ///
    /// The durability is `normal` if `storage` says so, and `settings.storeDurability` otherwise.
    public static func openLocalStore(
        _ process: DiskProcess, _ runtime: EngineRuntime, _ storage: DeviceStorage = DeviceStorage(),
        _ settings: SQLiteParts = SQLiteParts()
    ) throws -> SimulatedDevice.Store {
        var configuration = StoreConfiguration(file: "/cache.sqlite")
        configuration.vfs = process.vfsName
        configuration.connections = storage.hasReaders ? .pool(readers: 2) : .single
        configuration.durability = storage.durability == .normal ? .normal : settings.storeDurability
        configuration.limits = settings.limits
        if storage.hasSmallJournal {
            configuration.limits.activeJournalEntries = DeviceStorage.smallJournal.entries
            configuration.limits.noticeEntries = DeviceStorage.smallJournal.notices
        }
        var random = runtime.generator
        let store = try SQLiteStore.open(
            configuration, catalog: storage.build.catalog, now: runtime.now(), random: &random)
        try store.follow(.default)
        return store
    }
}

/// An error for a part of a world that was given another server than the one it was made for.
public struct UnexpectedAuthorityError: Error {
    /// Creates the error.
    public init() {}
}
