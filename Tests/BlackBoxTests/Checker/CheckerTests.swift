import Foundation
import Testing

/// The checker, shown that it sees: each fault is planted in databases that were found whole, and it names the promise.
@Suite struct BlackBoxCheckerTests {
    /// What is done to the databases or the evidence, and the invariant that has to be named.
    struct Plant: Sendable, CustomTestStringConvertible {
        let what: String
        let invariant: String
        /// SQL on the server's database, on the laptop's, on the phone's.
        var server: [String] = []
        var laptop: [String] = []
        var phone: [String] = []
        var forge: @Sendable (inout Evidence) -> Void = { _ in }

        var testDescription: String { what }
    }

    static let plants = [
        Plant(
            what: "an acknowledged write is nowhere", invariant: "I1",
            forge: { $0.addWrite(.create, texts: ["never.arrived"]) }),
        Plant(
            what: "a row is taken from server and replicas, with its commit", invariant: "I1",
            server: [
                "DELETE FROM log WHERE changes LIKE '%\"kept.laptop\"%'",
                "DELETE FROM record WHERE fields LIKE '%\"kept.laptop\"%'",
            ], laptop: ["DELETE FROM user WHERE username = 'kept.laptop'"],
            phone: ["DELETE FROM user WHERE username = 'kept.laptop'"]),
        Plant(
            what: "an acknowledged deletion did not happen", invariant: "I1",
            server: [
                "UPDATE record SET deletion = NULL WHERE deletion IS NOT NULL",
                "DELETE FROM log WHERE changes LIKE '%\"deleted\"%'",
            ]),
        Plant(
            what: "a commit is in the feed twice", invariant: "I2",
            server: [
                """
                INSERT INTO log SELECT space, 1000, changed, changes, principal, client, incarnation, number, at
                FROM log WHERE changes LIKE '%"kept.laptop"%'
                """
            ]),
        Plant(
            what: "a create took effect as two records", invariant: "I2",
            server: [
                """
                INSERT INTO record SELECT collection, randomblob(16), 1000, space, version, creation, deletion, fields, origins
                FROM record WHERE fields LIKE '%"kept.laptop"%'
                """
            ]),
        Plant(
            what: "a write took effect, and the journal says that it was rejected", invariant: "I2",
            phone: [
                """
                INSERT INTO sync_journal (at, sequence, event, state, payload, code) VALUES (0, 99, 'rejected', 'active',
                '{"mutations":[{"create":{"username":"kept.phone"}}]}', 'tooLarge')
                """
            ]),
        Plant(
            what: "one letter of a name was changed on the way", invariant: "I2",
            server: ["UPDATE record SET fields = replace(fields, 'kept.phone', 'kepT.phone')"]),
        Plant(
            what: "a row is missing on one replica", invariant: "I4",
            phone: ["DELETE FROM user WHERE username = 'kept.laptop'"]),
        Plant(
            what: "a value differs on one replica", invariant: "I4",
            laptop: ["UPDATE avatar SET image_url = 'https://example.org/other.png'"]),
        Plant(
            what: "a reference differs on one replica", invariant: "I4",
            laptop: ["UPDATE avatar SET author = (SELECT id FROM user WHERE username = 'kept.phone')"]),
        Plant(what: "a digest differs", invariant: "I4", forge: { $0.digests["phone"] = "{}" }),
        Plant(
            what: "half a transaction is on a replica", invariant: "I10",
            phone: ["DELETE FROM user WHERE username LIKE 'group.%.3.4' OR username LIKE 'group.%.2.4'"]),
        Plant(
            what: "half an update is on a replica", invariant: "I10",
            phone: ["UPDATE user SET username = replace(username, '.1.3.4', '.0.3.4')"]),
        Plant(
            what: "a reader once saw half a transaction", invariant: "I10",
            forge: { $0.samples.append(Sample(name: "phone", version: 1, users: [("x", "group.g.0.0.4")])) }),
        Plant(
            what: "a transaction is in two commits of the feed", invariant: "I10",
            server: [
                "UPDATE log SET changes = replace(changes, 'group.g.1.3.4', 'group.g.9.3.4')",
                """
                INSERT INTO log SELECT space, 1000, 1,
                '[{"collection":"user","id":"0","updated":{"username":"group.g.1.3.4"}}]', principal, client, 9, 9, at
                FROM log LIMIT 1
                """,
            ]),
        Plant(
            what: "a deleted record lives on the server", invariant: "I12",
            server: ["UPDATE record SET deletion = NULL WHERE deletion IS NOT NULL"]),
        Plant(
            what: "a deleted record is shown by a replica", invariant: "I12",
            forge: { $0.showDeleted() }),
        Plant(
            what: "the feed changes a deleted record", invariant: "I12",
            server: [
                """
                INSERT INTO log SELECT space, 1000, 1, replace(changes, '"deleted":true', '"updated":{}'), principal,
                client, 9, 9, at FROM log WHERE changes LIKE '%"deleted":true%'
                """
            ]),
        Plant(
            what: "an entry is stuck in the outbox", invariant: "I18",
            laptop: [
                "INSERT INTO sync_outbox (space, payload, bytes, written_at) VALUES ('default', '{\"mutations\":[]}', 2, 0)"
            ]),
        Plant(
            what: "a device stands behind the server", invariant: "I18",
            phone: ["UPDATE sync_space SET version = version - 1"]),
        Plant(
            what: "a device asks and asks", invariant: "I18",
            forge: { $0.quiet = [QuietTime(device: "phone", requests: 500, allowed: 4)] }),
    ]

    @Test(.timeLimit(.minutes(2))) func `each planted fault is named by its invariant, and whole databases by none`()
        async throws
    {
        try await onOwnThread {
            let town = try Town(devices: ["laptop", "phone"])
            defer { town.end() }
            let ledger = Ledger()
            let scribes = town.devices.map { Scribe(device: $0, ledger: ledger) }
            for scribe in scribes {
                try scribe.device.expect(0, "init")
                let kept = try scribe.create("kept.\(scribe.device.name)")
                try demand(kept != nil, "the create was not acknowledged")
            }
            let gone = try scribes[0].create("gone")
            try scribes[0].createAvatar("https://example.org/a.png", of: "kept.laptop")
            try scribes[0].writeGroup("g", revision: 0, size: 4)
            try scribes[0].device.expect(0, "sync")
            try scribes[0].writeGroup("g", revision: 1, size: 4)
            try scribes[0].delete([gone ?? ""])
            let evidence = try town.settle(ledger)
            let whole = try Checker.findings(in: evidence)
            try demand(whole.isEmpty, "whole databases: \(whole)")
            try demand(ledger.writes.allSatisfy { $0.fate == .acknowledged }, "not all was acknowledged")

            for (index, plant) in Self.plants.enumerated() {
                let folder = "\(town.folder)/plant-\(index)"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                var forged = try evidence.copied(to: folder)
                for (path, statements) in [
                    (forged.server, plant.server), (forged.devices[0].database, plant.laptop),
                    (forged.devices[1].database, plant.phone),
                ] where !statements.isEmpty {
                    let database = try Database(path, isWritable: true)
                    for statement in statements {
                        try database.rows(statement)
                        let changed = try database.rows("SELECT changes()").first?.integer(0) ?? 0
                        try demand(changed > 0, "\(plant.what): nothing was changed by \(statement)")
                    }
                }
                plant.forge(&forged)
                let findings = try Checker.findings(in: forged)
                try demand(
                    findings.contains { $0.invariant == plant.invariant },
                    "\(plant.what): expected \(plant.invariant), found \(findings)")
            }
        }
    }
}

extension Evidence {
    /// The same evidence over copies of the databases.
    fileprivate func copied(to folder: String) throws -> Evidence {
        func copy(_ path: String, _ name: String) throws -> String {
            for ending in ["", "-wal"] where FileManager.default.fileExists(atPath: path + ending) {
                try FileManager.default.copyItem(atPath: path + ending, toPath: "\(folder)/\(name).sqlite\(ending)")
            }
            return "\(folder)/\(name).sqlite"
        }
        return Evidence(
            server: try copy(server, "server"),
            devices: try devices.map { ($0.name, try copy($0.database, $0.name)) }, writes: writes, samples: samples,
            digests: digests, quiet: quiet)
    }

    fileprivate mutating func addWrite(_ kind: Write.Kind, texts: [String]) {
        let write = Write(device: "laptop", serial: 99, kind: kind, texts: texts, records: [], fate: .acknowledged)
        self = Evidence(
            server: server, devices: devices, writes: writes + [write], samples: samples, digests: digests, quiet: quiet
        )
    }

    /// As if the phone had shown, at its end, what had been deleted.
    fileprivate mutating func showDeleted() {
        let gone = writes.first { $0.kind == .delete }?.records.first
        samples.append(Sample(name: "phone", version: .max, users: [(gone ?? "", "gone")]))
    }
}
