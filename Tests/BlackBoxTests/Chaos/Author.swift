import Foundation
import SyncSimulation

/// Simulates the user of one device: creates, changes, and deletes records, one at a time or in groups, and sometimes
/// syncs.
struct Author {
    private let device: Device
    private let ledger: Ledger
    private let plan: ChaosPlan
    private var random: SeededRandom
    private var serial = 0
    /// The author's groups, each with the newest revision that may exist.
    private var groups: [(name: String, revision: Int)] = []

    init(_ device: Device, _ ledger: Ledger, _ plan: ChaosPlan) {
        self.device = device
        self.ledger = ledger
        self.plan = plan
        random = SeededRandom(seed: plan.seed, stream: "author.\(device.name)")
    }

    private static let groupSize = 4

    /// Runs one randomly chosen command.
    mutating func turn() throws {
        serial += 1
        let text = "\(device.name).\(serial)"
        var writer = Writer(device: device, ledger: ledger)
        if random.below(100) < plan.killedCommands { writer.killedAfter = .milliseconds(random.below(120)) }
        if random.below(100) < plan.syncs {
            guard !device.isWatching else { return }
            let answer = try device.run(["sync"], killedAfter: writer.killedAfter ?? .seconds(10))
            // The allowed results, in this order: synced, not synced, synced with a new journal entry, synced by
            // another process, a database that a stopped process keeps locked, and a command that this test killed.
            try require(
                [0, 4, 6, 7, 74, 137].contains(answer.status),
                "\(device.name): sync ended with \(answer.status): \(answer.errors)")
            return
        }
        switch random.below(10) {
        case 0...2: try writer.create(text)
        case 3...5:
            // The record may come from another device, so that two devices can change one record or change a deleted
            // one.
            if let id = try randomUser() { try writer.update(id, to: text) }
        case 6: if let id = try randomUser() { try writer.createAvatar("https://example.org/\(text)", of: id) }
        case 7: if let id = try randomUser() { try writer.delete([id]) }
        default:
            if groups.isEmpty || random.below(2) == 0 {
                let name = "\(device.name)-\(serial)"
                if try writer.writeGroup(name, revision: 0, size: Self.groupSize) { groups.append((name, 0)) }
            } else {
                let index = random.below(groups.count)
                if random.below(5) == 0 {
                    let group = groups.remove(at: index)
                    try writer.deleteGroup(group.name, revision: group.revision, size: Self.groupSize)
                    return
                }
                groups[index].revision += 1
                try writer.writeGroup(groups[index].name, revision: groups[index].revision, size: Self.groupSize)
            }
        }
    }

    /// Returns the id of a user that this device currently shows and that belongs to no group.
    private mutating func randomUser() throws -> String? {
        let users = try Observation.sample(device.name, device: device.database).users
            .filter { GroupText($0.name) == nil }.map(\.id).sorted()
        return users.isEmpty ? nil : users[random.below(users.count)]
    }
}
