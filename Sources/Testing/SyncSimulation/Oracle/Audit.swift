public import SyncCore

/// The inspector of the files of one simulated machine, opened once per process of the machine.
///
/// An inspector reads through the disk of the process, but without the code under test. It is kept because opening a
/// database takes longer than reading a small one.
struct Audit<Inspector> {
    private let open: @Sendable (DiskProcess) throws -> Inspector
    private var opened: (process: DiskProcess, inspector: Inspector)?

    init(_ open: @escaping @Sendable (DiskProcess) throws -> Inspector) {
        self.open = open
    }

    /// Returns the inspector of a process, which must be alive and have a working disk.
    mutating func inspector(through process: DiskProcess) throws -> Inspector {
        if let opened, opened.process === process { return opened.inspector }
        let inspector = try open(process)
        opened = (process, inspector)
        return inspector
    }
}

/// A reader of the files of one device, which caches the decoded entries of its outbox.
struct ReplicaFiles {
    private var audit: Audit<any ReplicaInspector>
    private var reader = OutboxReader()

    init(_ open: @escaping @Sendable (DiskProcess) throws -> any ReplicaInspector) {
        audit = Audit(open)
    }

    mutating func facts(through process: DiskProcess) throws -> ReplicaFacts {
        try audit.inspector(through: process).facts()
    }

    /// Returns the outbox as the store shows it. Throws a `Violation` when the file holds other entries.
    mutating func outbox(
        of store: SimulatedDevice.Store, through process: DiskProcess, on device: String
    ) throws -> [OutboxEntry] {
        try reader.entries(of: store, holding: try audit.inspector(through: process).outbox(), on: device)
    }
}

/// A reader of the files of a device's process. Each call reads them again.
public protocol ReplicaInspector {
    func facts() throws -> ReplicaFacts
    /// Returns the stored contents of each outbox entry, in order.
    func outbox() throws -> [OutboxRow]
}

/// A reader of the files of the server's process. Each call reads them again.
public protocol AuthorityInspector {
    func facts() throws -> AuthorityFacts
}

/// An outbox entry as stored in the file.
public struct OutboxRow: Hashable, Sendable {
    public let sequence: OutboxSequence
    /// The stored contents. Equal bytes mean equal entries.
    public let bytes: [UInt8]

    public init(sequence: OutboxSequence, bytes: [UInt8]) {
        self.sequence = sequence
        self.bytes = bytes
    }
}
