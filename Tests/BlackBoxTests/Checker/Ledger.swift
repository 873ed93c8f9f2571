import SyncConcurrency

/// A command that writes, and its result as seen by its caller.
struct Write: Hashable, Sendable {
    let device: String
    /// The position of the write among the writes of its device.
    let serial: Int
    let kind: Kind
    /// The texts that it writes. Each is unique to this write.
    let texts: [String]
    /// The ids of the records that it changes or deletes, and of those that it created according to its output.
    var records: [String]
    var fate: Fate

    enum Kind: String, Sendable {
        case create, update, delete
        /// A write of several records in one transaction.
        case group
    }

    enum Fate: String, Sendable {
        /// The command reported success.
        case acknowledged
        /// The command was killed or failed. The write may have happened completely or not at all.
        case unknown
    }

    var words: String {
        "\(device)'s write \(serial) (\(kind) \((texts.first ?? records.first).map { "'\($0)'" } ?? ""), \(fate))"
    }
}

/// The text of one record in a group of records that are written together.
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

/// All writes of a run, with the results that their commands reported.
final class Ledger: Sendable {
    private let all = Guarded<[Write]>([])

    var writes: [Write] { all.withLock { $0 } }

    /// Records a write before its command runs, because a command that is killed may have written.
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
