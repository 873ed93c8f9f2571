import CFaultVFS
import SyncConcurrency

/// The disk of one machine, in memory, under the real SQLite: it fails and loses power on demand.
///
/// SQLite reaches it through the `DiskProcess` of each process that uses it. Disks are independent of each other, and
/// may be used from any thread; which faults come, and what a loss of power leaves, depends on the seed and the
/// operations alone.
public final class SimulatedDisk: Sendable {
    private let address: UInt
    /// The faults that `takeFaults` has told of.
    private let told = Guarded([FaultKind: Int]())

    public init(seed: UInt64) {
        address = UInt(bitPattern: fault_disk_create(seed))
    }

    /// Lets worlds on several threads not wait for each other: SQLite counts its memory under one lock of the process. To be
    /// called before anything uses SQLite, and without effect afterwards.
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

    /// Adds a plan to those that there are; the first that matches an operation decides.
    public func plan(_ fault: DiskFault) {
        let fits = fault_disk_add_rule(pointer, fault.rule)
        precondition(fits, "a disk keeps 64 plans at most that still have something to do")
    }

    public func clearPlans() {
        fault_disk_clear_rules(pointer)
    }

    /// Lets `body` look at what is on the disk without meeting a planned fault.
    public func withoutFaults<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        fault_disk_set_lenient(pointer, true)
        defer { fault_disk_set_lenient(pointer, false) }
        return try body()
    }

    /// Ends every process that uses the disk. Of what was not synced a subset stays, in pieces of 512 bytes; of files
    /// that were made or deleted since their directory was synced, some are as before.
    public func losePower(seed: UInt64) {
        fault_disk_lose_power(pointer, seed)
    }

    /// After a loss of power, this fraction of the lost pieces is noise instead of what was there before.
    public func setGarbage(fraction: Double) {
        fault_disk_set_garbage(pointer, fraction)
    }

    /// Beyond so many bytes in all files writes fail, as on a full disk; nil: no bound.
    public func setCapacity(bytes: Int?) {
        fault_disk_set_capacity(pointer, bytes.map(Int64.init) ?? -1)
    }

    public func setReadOnly(_ isReadOnly: Bool) {
        fault_disk_set_read_only(pointer, isReadOnly)
    }

    /// Flips bits of one byte of a file, also on the medium. False when there is no such byte.
    @discardableResult
    public func corrupt(_ name: String, at offset: Int, flipping mask: UInt8 = 0xFF) -> Bool {
        fault_disk_flip(pointer, name, Int64(offset), mask)
    }

    // MARK: Files

    /// The names of all files, in the order of their bytes.
    public var fileNames: [String] {
        var names: [String] = []
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1_024) { buffer in
            while let base = buffer.baseAddress, fault_disk_name_at(pointer, names.count, base, buffer.count) {
                names.append(String(cString: base))
            }
        }
        return names
    }

    /// The bytes of a file, as processes see it; nil when there is none.
    public func contents(of name: String) -> [UInt8]? {
        let size = fault_disk_size(pointer, name)
        guard size >= 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            count = max(Int(fault_disk_read(pointer, name, buffer.baseAddress, size)), 0)
        }
    }

    /// How many bytes a file has; nil when there is none.
    public func size(of name: String) -> Int? {
        let size = fault_disk_size(pointer, name)
        return size >= 0 ? Int(size) : nil
    }

    /// Puts a file in the place of another, durably. Who has the other one open keeps it.
    public func replace(_ name: String, with bytes: [UInt8]) {
        let done = fault_disk_replace(pointer, name, bytes, Int64(bytes.count))
        precondition(done, "there is no room on the disk for \(name)")
    }

    /// Removes a file durably. Who has it open keeps it. False when there is none.
    @discardableResult
    public func remove(_ name: String) -> Bool {
        fault_disk_remove(pointer, name)
    }

    /// All files as processes see them now: for a copy on another disk, or to roll back to.
    public func image() -> DiskImage {
        DiskImage(
            files: fileNames.compactMap { name in contents(of: name).map { DiskImage.File(name: name, bytes: $0) } })
    }

    /// Makes the disk hold exactly the image. Who has a file open keeps the old one: end the processes first.
    public func restore(_ image: DiskImage) {
        for name in fileNames { remove(name) }
        for file in image.files { replace(file.name, with: file.bytes) }
    }

    // MARK: What happened

    public var operationCount: Int { Int(fault_disk_operations(pointer)) }

    /// How many operations of these kinds there have been.
    public func count(of operations: DiskOperations) -> Int {
        (0..<DiskOperations.names.count).reduce(0) { sum, bit in
            operations.contains(DiskOperations(rawValue: 1 << UInt32(bit)))
                ? sum + Int(fault_disk_operations_of_kind(pointer, 1 << UInt32(bit))) : sum
        }
    }

    /// How many operations a plan has hit.
    public var faultCount: Int { Int(fault_disk_hits(pointer)) }

    /// The operations that a plan has hit since this was last called, by what befell them.
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

    /// Over kind, file, place and result of all operations so far: the same for the same seed and program.
    public var traceHash: UInt64 { fault_disk_hash(pointer) }

    /// The last operations in words, oldest first.
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
