import SyncConcurrency

/// One writing command, as the one who gave it knows it.
struct Write: Hashable, Sendable {
    let device: String
    /// Its place among the writes of its device.
    let serial: Int
    let kind: Kind
    /// The texts that it writes, each of which no other write ever writes.
    let texts: [String]
    /// The ids of what it changes or deletes, and of what it has created as far as its answer told.
    var records: [String]
    var fate: Fate

    enum Kind: String, Sendable {
        case create, update, delete
        /// Several records in one transaction.
        case group
    }

    enum Fate: String, Sendable {
        /// The command said that it is done.
        case acknowledged
        /// It was killed, or failed: it may have happened, whole.
        case unknown
    }

    var words: String {
        "\(device)'s write \(serial) (\(kind) \((texts.first ?? records.first).map { "'\($0)'" } ?? ""), \(fate))"
    }
}

/// The name of one member of a group of records that are written together.
struct GroupText: Hashable {
    let group: String
    let revision: Int
    let member: Int
    let size: Int

    var text: String { "group.\(group).\(revision).\(member).\(size)" }

    init(group: String, revision: Int, member: Int, size: Int) {
        self.group = group
        self.revision = revision
        self.member = member
        self.size = size
    }

    init?(_ text: String) {
        let parts = text.split(separator: ".")
        guard parts.count == 5, parts[0] == "group", let revision = Int(parts[2]), let member = Int(parts[3]),
            let size = Int(parts[4])
        else { return nil }
        self.init(group: String(parts[1]), revision: revision, member: member, size: size)
    }
}

/// All that was written, told by the commands that wrote it.
final class Ledger: Sendable {
    private let all = Guarded<[Write]>([])

    var writes: [Write] { all.withLock { $0 } }

    /// Notes a write before it is done: should it be cut short, it is still known that it may have happened.
    func begin(_ device: String, _ kind: Write.Kind, texts: [String] = [], records: [String] = []) -> Int {
        all.withLock { all in
            let serial = all.count { $0.device == device }
            all.append(
                Write(device: device, serial: serial, kind: kind, texts: texts, records: records, fate: .unknown))
            return all.count - 1
        }
    }

    func acknowledge(_ write: Int, created: [String] = []) {
        all.withLock { all in
            all[write].fate = .acknowledged
            all[write].records += created
        }
    }
}
