import Foundation

/// Writes on one device with `syncctl`, and records the results of the commands in the ledger.
struct Writer: Sendable {
    let device: Device
    let ledger: Ledger
    /// The time after which a command is killed. Nil lets it run to its end.
    var killedAfter: Duration?

    /// - Returns: The id, if the command printed it.
    @discardableResult
    func create(_ text: String) throws -> String? {
        let write = ledger.begin(device.name, .create, texts: [text])
        let answer = try device.run(["user", "create", "username=\(text)", "--json"], killedAfter: killedAfter)
        return note(write, answer, result: "created").first
    }

    @discardableResult
    func createAvatar(_ text: String, of user: String) throws -> String? {
        let write = ledger.begin(device.name, .create, texts: [text])
        let answer = try device.run(
            ["avatar", "create", "author=\(user)", "image_url=\(text)", "--json"], killedAfter: killedAfter)
        return note(write, answer, result: "created").first
    }

    @discardableResult
    func update(_ id: String, to text: String) throws -> Bool {
        let write = ledger.begin(device.name, .update, texts: [text], records: [id])
        let answer = try device.run(["user", "set", id, "username=\(text)", "--json"], killedAfter: killedAfter)
        return !note(write, answer, result: "changed").isEmpty
    }

    @discardableResult
    func delete(_ ids: [String], of collection: String = "user") throws -> Bool {
        let write = ledger.begin(device.name, .delete, records: ids)
        let answer = try device.run([collection, "delete", "--json"] + ids, killedAfter: killedAfter)
        return !note(write, answer, result: "deleted").isEmpty
    }

    /// Writes all members of a group in one transaction: creates them, or renames each for this revision.
    @discardableResult
    func writeGroup(_ group: String, revision: Int, size: Int) throws -> Bool {
        let texts = (0..<size).map { GroupText(group: group, revision: revision, member: $0, size: size).text }
        let lines = texts.enumerated().map {
            #"{"type":"user","key":"\#(group)-\#($0.offset)","username":"\#($0.element)"}"#
        }
        let write = ledger.begin(device.name, .group, texts: texts)
        let answer = try device.run(
            ["import", "--jsonl", "-", "--source", "box", "--json"], input: lines.joined(separator: "\n") + "\n",
            killedAfter: killedAfter)
        guard answer.objects.contains(where: { $0["created"] != nil }) else { return false }
        ledger.acknowledge(write)
        return true
    }

    /// Deletes all members of a group at this revision in one transaction.
    @discardableResult
    func deleteGroup(_ group: String, revision: Int, size: Int) throws -> Bool {
        let names = (0..<size).map { GroupText(group: group, revision: revision, member: $0, size: size).text }
        let ids = try Observation.sample(device.name, device: device.database).users
            .filter { names.contains($0.name) }.map(\.id)
        return try ids.count == size && delete(ids)
    }

    /// Writes and syncs without faults, and returns the traffic in each direction.
    func trafficOfOneSync() throws -> ProxyTraffic {
        try create("whole")
        try device.expect(0, "sync")
        return device.proxy.traffic
    }

    /// Records the result of a write. A complete line of output is an acknowledgment, even if the process failed later.
    private func note(_ write: Int, _ answer: CommandResult, result: String) -> [String] {
        let ids = answer.objects.filter { $0["result"] as? String == result }.compactMap { $0["id"] as? String }
        if !ids.isEmpty { ledger.acknowledge(write, created: result == "created" ? ids : []) }
        return ids
    }
}
