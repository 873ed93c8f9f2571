import SyncConcurrency
import SyncModel

/// The stored amounts by which limits of accounts are checked: the last measurement of the store, and what this server
/// has added since.
///
/// To count exactly, each push would have to write one more row. Instead, the store is measured from time to time.
/// Between two measurements, deletions do not count yet, nor does what other servers of the database have added.
final class AccountUsage: Sendable {
    private let usage = Guarded((measured: [Principal: StoredUsage](), added: [Principal: StoredUsage]()))

    /// Returns what an account has stored.
    func stored(by principal: Principal) -> StoredUsage {
        usage.withLock { usage in
            var sum = usage.measured[principal] ?? StoredUsage()
            if let added = usage.added[principal] { sum.add(added) }
            return sum
        }
    }

    /// Counts what committed pushes have added, until the next measurement.
    func add(_ addition: StoredUsage, of principal: Principal) {
        usage.withLock { $0.added[principal, default: StoredUsage()].add(addition) }
    }

    /// Replaces the measurement. Additions during a measurement count twice until the next one.
    func measure(_ read: () throws(AuthorityError) -> [Principal: StoredUsage]) throws(AuthorityError) {
        let before = usage.withLock { $0.added }
        let measured = try read()
        usage.withLock { usage in
            usage.measured = measured
            for (principal, addition) in before { usage.added[principal]?.subtract(addition) }
            usage.added = usage.added.filter { $0.value != StoredUsage() }
        }
    }
}

extension StoredUsage {
    mutating func add(_ other: StoredUsage) {
        records += other.records
        bytes += other.bytes
    }

    mutating func subtract(_ other: StoredUsage) {
        records -= other.records
        bytes -= other.bytes
    }
}

extension CommitPlan {
    /// The amount that the plan adds to what its author stores. Deletions, and values that become shorter, count as
    /// nothing alone, but make room for other values of the same plan.
    var growth: StoredUsage {
        var growth = StoredUsage()
        for record in records where record.isAlive {
            if record.creation != nil {
                growth.records += 1
                growth.bytes += AuthorityLimits.recordBytes
            }
            for write in record.changedWrites {
                growth.bytes += write.value.byteCount - (record.before?.field(write.field).value.byteCount ?? 0)
            }
        }
        growth.bytes = max(0, growth.bytes)
        return growth
    }
}
