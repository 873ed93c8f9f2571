public import SyncCore

/// Looks at the files of one machine, through its process and past the code under test.
///
/// An open database is kept while the process lives: to open one takes longer than to read a small one.
struct Audit<Look> {
    private let open: @Sendable (DiskProcess) throws -> Look
    private var opened: (process: DiskProcess, look: Look)?

    init(_ open: @escaping @Sendable (DiskProcess) throws -> Look) {
        self.open = open
    }

    /// The look at the files of a process, which lives and whose disk works.
    mutating func look(through process: DiskProcess) throws -> Look {
        if let opened, opened.process === process { return opened.look }
        let look = try open(process)
        opened = (process, look)
        return look
    }
}

/// How the files of one device are read, and what was read of them.
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

/// An open look at the files of a device's process: each call reads them again.
public protocol ReplicaLook {
    func facts() throws -> ReplicaFacts
    /// Returns the contents of the file for each entry of the outbox, in their order.
    func outbox() throws -> [OutboxRow]
}

/// An open look at the files of the server's process: each call reads them again.
public protocol AuthorityLook {
    func facts() throws -> AuthorityFacts
}

/// An entry of an outbox as its file holds it.
public struct OutboxRow: Hashable, Sendable {
    public let sequence: OutboxSequence
    /// Equal bytes mean equal entries.
    public let bytes: [UInt8]

    public init(sequence: OutboxSequence, bytes: [UInt8]) {
        self.sequence = sequence
        self.bytes = bytes
    }
}
