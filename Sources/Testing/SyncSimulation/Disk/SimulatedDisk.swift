import CFaultVFS
import SyncConcurrency

/// An in-memory disk of one machine for the real SQLite. It fails and loses power on demand.
///
/// SQLite uses it through the `DiskProcess` of each process. Disks are independent of each other and may be used from
/// any thread. Only the seed, the plans, and the operations decide which faults happen and what survives a loss of
/// power.
public final class SimulatedDisk: Sendable {
    private let address: UInt
    /// The fault counts that `takeFaults` has already returned.
    private let told = Guarded([FaultKind: Int]())

    public init(seed: UInt64) {
        address = UInt(bitPattern: fault_disk_create(seed))
    }

    /// Turns off SQLite's memory statistics, whose process-wide lock would slow down worlds on several threads.
    ///
    /// Call this before anything uses SQLite; afterwards it has no effect.
    public static func prepareForManyThreads() {
        _ = fault_vfs_stop_counting_memory()
    }

    deinit {
        fault_disk_release(pointer)
    }

    var pointer: OpaquePointer {
        guard let pointer = OpaquePointer(bitPattern: address) else { preconditionFailure("a disk has an address") }
        return pointer
    }

    /// Starts a process that uses this disk.
    public func makeProcess() -> DiskProcess {
        DiskProcess(disk: self)
    }

    // MARK: Faults

    /// Adds a planned fault. The first plan that matches an operation decides.
    public func plan(_ fault: DiskFault) {
        let fits = fault_disk_add_rule(pointer, fault.rule)
        precondition(fits, "a disk holds at most 64 unfinished plans")
    }

    public func clearPlans() {
        fault_disk_clear_rules(pointer)
    }

    /// Runs `body` without planned faults, and lets it write even if the disk is read-only.
    ///
    /// The capacity still applies: writes to a full disk fail.
    public func withoutFaults<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        fault_disk_set_lenient(pointer, true)
        defer { fault_disk_set_lenient(pointer, false) }
        return try body()
    }

    /// Kills every process that uses the disk and loses unsynced data.
    ///
    /// A subset of the unsynced writes survives, in pieces of 512 bytes. Files that were created or deleted since their
    /// directory was last synced may be as they were before.
    public func losePower(seed: UInt64) {
        fault_disk_lose_power(pointer, seed)
    }

    /// Sets the fraction of lost pieces that contain noise after a loss of power, instead of their previous contents.
    public func setGarbage(fraction: Double) {
        fault_disk_set_garbage(pointer, fraction)
    }

    /// Sets the total size of all files above which writes fail, as on a full disk; nil for no limit.
    public func setCapacity(bytes: Int?) {
        fault_disk_set_capacity(pointer, bytes.map(Int64.init) ?? -1)
    }

    public func setReadOnly(_ isReadOnly: Bool) {
        fault_disk_set_read_only(pointer, isReadOnly)
    }

    /// Flips bits of one byte of a file, both as processes see it and on the medium. Returns false when there is no
    /// such byte, or no bit in the mask.
    public func corrupt(_ name: String, at offset: Int, flipping mask: UInt8 = 0xFF) -> Bool {
        fault_disk_flip(pointer, name, Int64(offset), mask)
    }

    // MARK: Files

    /// The names of all files, in byte order.
    public var fileNames: [String] {
        var names: [String] = []
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1_024) { buffer in
            while let base = buffer.baseAddress, fault_disk_name_at(pointer, names.count, base, buffer.count) {
                names.append(String(cString: base))
            }
        }
        return names
    }

    /// Returns the contents of a file as processes see it; nil when the file does not exist.
    public func contents(of name: String) -> [UInt8]? {
        let size = fault_disk_size(pointer, name)
        guard size >= 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            count = max(Int(fault_disk_read(pointer, name, buffer.baseAddress, size)), 0)
        }
    }

    /// Returns the size of a file in bytes; nil when the file does not exist.
    public func size(of name: String) -> Int? {
        let size = fault_disk_size(pointer, name)
        return size >= 0 ? Int(size) : nil
    }

    /// Replaces a file durably. Processes that have the old file open keep it.
    public func replace(_ name: String, with bytes: [UInt8]) {
        let done = fault_disk_replace(pointer, name, bytes, Int64(bytes.count))
        precondition(done, "there is no room on the disk for \(name)")
    }

    /// Removes a file durably. Processes that have it open keep it. Returns false when the file does not exist.
    @discardableResult
    public func remove(_ name: String) -> Bool {
        fault_disk_remove(pointer, name)
    }

    /// Returns a copy of all files as processes see them, for another disk or for a rollback.
    public func image() -> DiskImage {
        DiskImage(
            files: fileNames.compactMap { name in contents(of: name).map { DiskImage.File(name: name, bytes: $0) } })
    }

    /// Makes the disk hold exactly the files of the image. Processes keep the old files that they have open, so end
    /// them first.
    public func restore(_ image: DiskImage) {
        for name in fileNames { remove(name) }
        for file in image.files { replace(file.name, with: file.bytes) }
    }

    // MARK: Statistics

    public var operationCount: Int { Int(fault_disk_operations(pointer)) }

    /// Returns the number of operations of these kinds so far.
    public func count(of operations: DiskOperations) -> Int {
        (0..<DiskOperations.names.count).reduce(0) { sum, bit in
            operations.contains(DiskOperations(rawValue: 1 << UInt32(bit)))
                ? sum + Int(fault_disk_operations_of_kind(pointer, 1 << UInt32(bit))) : sum
        }
    }

    /// The number of operations that plans have affected.
    public var faultCount: Int { Int(fault_disk_hits(pointer)) }

    /// Returns the number of operations that plans have affected since the last call, by kind of fault.
    func takeFaults() -> [(FaultKind, Int)] {
        told.withLock { told in
            Self.classes.map { kind, number in
                let count = Int(fault_disk_hits_of_class(pointer, Int32(number)))
                let news = count - (told[kind] ?? 0)
                told[kind] = count
                return (kind, news)
            }
        }
    }

    private static let classes: [(FaultKind, Int)] = [
        (.diskError, FAULT_CLASS_ERROR), (.diskFull, FAULT_CLASS_FULL), (.diskBusy, FAULT_CLASS_BUSY),
        (.diskKill, FAULT_CLASS_KILL), (.diskPowerLost, FAULT_CLASS_POWER_LOSS),
    ]

    public var powerLossCount: Int { Int(fault_disk_power_losses(pointer)) }

    /// A hash of the kind, the kind of file, the offset, the size, and the result of all operations so far. It is the
    /// same for the same seed and program.
    public var traceHash: UInt64 { fault_disk_hash(pointer) }

    /// Descriptions of the last operations, oldest first.
    public var lastOperations: [String] {
        withUnsafeTemporaryAllocation(of: fault_operation.self, capacity: 256) { buffer in
            let count = fault_disk_log(pointer, buffer.baseAddress, buffer.count)
            return buffer[..<count].map { operation in
                let name = withUnsafeBytes(of: operation.name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                let kind = DiskOperations.names[operation.kind.trailingZeroBitCount]
                return
                    "\(operation.number) \(kind) \(name) \(operation.offset) \(operation.size) -> \(operation.result)"
            }
        }
    }
}

/// The files of a disk at one moment, in the order of their names.
public struct DiskImage: Hashable, Sendable {
    public struct File: Hashable, Sendable {
        public let name: String
        public let bytes: [UInt8]
    }

    public let files: [File]
}
