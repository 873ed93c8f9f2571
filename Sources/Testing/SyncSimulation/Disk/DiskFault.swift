import CFaultVFS

/// The operations that SQLite performs on a disk.
public struct DiskOperations: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    public static let open = DiskOperations(rawValue: 1 << 0)
    public static let read = DiskOperations(rawValue: 1 << 1)
    public static let write = DiskOperations(rawValue: 1 << 2)
    public static let truncate = DiskOperations(rawValue: 1 << 3)
    public static let sync = DiskOperations(rawValue: 1 << 4)
    public static let delete = DiskOperations(rawValue: 1 << 5)
    public static let lock = DiskOperations(rawValue: 1 << 6)
    /// Locks in the shared memory of a WAL.
    public static let sharedMemoryLock = DiskOperations(rawValue: 1 << 7)
    public static let sharedMemoryMap = DiskOperations(rawValue: 1 << 8)
    public static let access = DiskOperations(rawValue: 1 << 9)

    /// The operations that change the contents of the disk.
    public static let changes: DiskOperations = [.write, .truncate, .sync, .delete]
    public static let all = DiskOperations(rawValue: (1 << 10) - 1)

    static let names = ["open", "read", "write", "truncate", "sync", "delete", "lock", "shmLock", "shmMap", "access"]
}

/// The kinds of files that SQLite uses.
public struct DiskFiles: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    public static let database = DiskFiles(rawValue: 1 << 0)
    /// A rollback journal.
    public static let journal = DiskFiles(rawValue: 1 << 1)
    /// A WAL file.
    public static let wal = DiskFiles(rawValue: 1 << 2)
    /// Temporary files and files that do not exist.
    public static let other = DiskFiles(rawValue: 1 << 3)

    public static let all: DiskFiles = [.database, .journal, .wal, .other]
}

/// A planned disk fault, which may affect several operations.
public struct DiskFault: Hashable, Sendable {
    public var operations: DiskOperations
    public var files: DiskFiles
    /// The number of matching operations to leave alone first.
    public var skip: Int
    /// The number of operations to affect after that; nil for all.
    public var times: Int?
    /// The fraction of the matching operations to affect.
    public var rate: Double
    public var effect: Effect

    public enum Effect: Hashable, Sendable {
        /// The operation fails. A write may have been done in part.
        case fail(Failure)
        /// The process ends in the middle of the operation, as by SIGKILL. Its completed writes stay.
        case kill
        /// Every process ends, and only a part of the unsynced data stays.
        case losePower
    }

    /// The error of a failed operation.
    public enum Failure: Hashable, Sendable, CaseIterable {
        case inputOutput, full, busy, cannotOpen
    }

    public init(
        _ operations: DiskOperations, of files: DiskFiles = .all, skip: Int = 0, times: Int? = 1, rate: Double = 1,
        effect: Effect
    ) {
        self.operations = operations
        self.files = files
        self.skip = skip
        self.times = times
        self.rate = rate
        self.effect = effect
    }
}

extension DiskFault {
    var rule: fault_rule {
        let (effect, code): (Int, Int32) =
            switch self.effect {
            case .fail(.inputOutput): (FAULT_EFFECT_FAIL, SQLITE_IOERR)
            case .fail(.full): (FAULT_EFFECT_FAIL, SQLITE_FULL)
            case .fail(.busy): (FAULT_EFFECT_FAIL, SQLITE_BUSY)
            case .fail(.cannotOpen): (FAULT_EFFECT_FAIL, SQLITE_CANTOPEN)
            case .kill: (FAULT_EFFECT_KILL, SQLITE_IOERR)
            case .losePower: (FAULT_EFFECT_POWER_LOSS, SQLITE_IOERR)
            }
        return fault_rule(
            kinds: operations.rawValue, files: files.rawValue, skip: UInt64(max(skip, 0)),
            times: times.map { UInt64(max($0, 0)) } ?? .max, rate: rate, effect: Int32(effect), code: code)
    }
}
