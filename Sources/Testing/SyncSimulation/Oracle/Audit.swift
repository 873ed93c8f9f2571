public import SyncCore

/// A reader of the files of one machine, which works through its process but without the code under test.
///
/// An open database is kept as long as the process lives: opening one takes longer than reading a small one.
struct Audit<Look> {
    private let open: @Sendable (DiskProcess) throws -> Look
    private var opened: (process: DiskProcess, look: Look)?

    init(_ open: @escaping @Sendable (DiskProcess) throws -> Look) {
        self.open = open
    }

    /// Returns a reader of the files of a process, which must be alive and have a working disk.
    mutating func look(through process: DiskProcess) throws -> Look {
        if let opened, opened.process === process { return opened.look }
        let look = try open(process)
        opened = (process, look)
        return look
    }
}

/// The readers of a device's files, with a cache of its outbox.
struct ReplicaFiles {
    private var audit: Audit<any ReplicaLook>
    private var reader = OutboxReader()

    init(_ open: @escaping @Sendable (DiskProcess) throws -> any ReplicaLook) {
        audit = Audit(open)
    }

    mutating func facts(through process: DiskProcess) throws -> ReplicaFacts {
        try audit.look(through: process).facts()
    }

    /// Returns the outbox as the store shows it.
    mutating func outbox(
        of store: SimulatedDevice.Store, through process: DiskProcess, on device: String
    ) throws -> [OutboxEntry] {
        try reader.entries(of: store, holding: try audit.look(through: process).outbox(), on: device)
    }
}

/// A reader of the files of a device's process. Each call reads them again.
public protocol ReplicaLook {
    func facts() throws -> ReplicaFacts
    /// Returns the stored contents of each outbox entry, in order.
    func outbox() throws -> [OutboxRow]
}

/// A reader of the files of the server's process. Each call reads them again.
public protocol AuthorityLook {
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
