import Foundation
import TestRings
import Testing

/// Proves that the checker detects faults: the test plants one fault at a time in correct databases, and the checker
/// must report the invariant that the fault violates.
@Suite(.ring(.check)) struct BlackBoxCheckerTests {
    /// A change to the databases or the evidence, and the finding that must follow.
    struct PlantedFault: Sendable {
        let what: String
        let invariant: String
        /// Words that must all occur in one of the findings for the invariant.
        let says: [String]
        /// SQL for the databases of the server, the laptop, and the phone.
        var server: [String] = []
        var laptop: [String] = []
        var phone: [String] = []
        var forge: @Sendable (inout Evidence) -> Void = { _ in }

        /// Returns SQL that adds a commit to the feed. Its changes are an SQL expression over the feed's rows that
        /// `source` selects.
        static func commit(of changes: String, from source: String) -> String {
            "INSERT INTO change_feed SELECT space, 1000, chain, total_bytes, 1, \(changes), principal, client, 9, 9, at FROM change_feed \(source)"
        }
    }

    static let plants = [
        PlantedFault(
            what: "an acknowledged write is nowhere", invariant: "I1",
            says: ["'never.arrived' is not on the server, not in the outbox and not in the journal"],
            forge: { $0.addWrite(.create, texts: ["never.arrived"]) }),
        PlantedFault(
            what: "a row is taken from server and replicas, with its commit", invariant: "I1",
            says: ["'kept.laptop' is not on the server"],
            server: [
                "DELETE FROM change_feed WHERE changes LIKE '%\"kept.laptop\"%'",
                "DELETE FROM record WHERE fields LIKE '%\"kept.laptop\"%'",
            ], laptop: ["DELETE FROM user WHERE username = 'kept.laptop'"],
            phone: ["DELETE FROM user WHERE username = 'kept.laptop'"]),
        PlantedFault(
            what: "an acknowledged deletion did not happen", invariant: "I1",
            says: ["lives on the server, and nothing says why"],
            server: [
                "UPDATE record SET deletion = NULL WHERE deletion IS NOT NULL",
                "DELETE FROM change_feed WHERE changes LIKE '%\"deleted\"%'",
            ]),
        PlantedFault(
            what: "a commit is in the feed twice", invariant: "I2",
            says: ["the feed has transaction ", "more than once"],
            server: [
                """
                INSERT INTO change_feed SELECT space, 1000, chain, total_bytes, changed, changes, principal, client, incarnation, number, at
                FROM change_feed WHERE changes LIKE '%"kept.laptop"%'
                """
            ]),
        PlantedFault(
            what: "a text is in two commits of the feed", invariant: "I2",
            says: ["'kept.laptop' took effect 2 times"],
            server: [PlantedFault.commit(of: "changes", from: #"WHERE changes LIKE '%"kept.laptop"%'"#)]),
        PlantedFault(
            what: "a create took effect as two records", invariant: "I2",
            says: ["'kept.laptop' was written once, and 2 records have it"],
            server: [
                """
                INSERT INTO record SELECT collection, randomblob(16), 1000, space, version, creation, deletion, fields, origins,
                    equal_edits FROM record WHERE fields LIKE '%"kept.laptop"%'
                """
            ]),
        PlantedFault(
            what: "a write took effect, and the journal says that it was rejected", invariant: "I2",
            says: ["'kept.phone' took effect, and phone's journal says: rejected tooLarge"],
            phone: [
                """
                INSERT INTO sync_journal (at, sequence, event, state, payload, code) VALUES (0, 99, 'rejected', 'active',
                '{"mutations":[{"create":{"username":"kept.phone"}}]}', 'tooLarge')
                """
            ]),
        PlantedFault(
            what: "one letter of a name was changed on the way", invariant: "I2",
            says: ["the server has 'kepT.phone', which nobody wrote"],
            server: ["UPDATE record SET fields = replace(fields, 'kept.phone', 'kepT.phone')"]),
        PlantedFault(
            what: "a row is missing on one replica", invariant: "I4", says: ["phone has nothing"],
            phone: ["DELETE FROM user WHERE username = 'kept.laptop'"]),
        PlantedFault(
            what: "a value differs on one replica", invariant: "I4",
            says: ["laptop has ", "'https://example.org/other.png'"],
            laptop: ["UPDATE avatar SET image_url = 'https://example.org/other.png'"]),
        PlantedFault(
            what: "a reference differs on one replica", invariant: "I4", says: ["avatar ", "laptop has "],
            laptop: ["UPDATE avatar SET author = (SELECT id FROM user WHERE username = 'kept.phone')"]),
        PlantedFault(
            what: "a digest differs", invariant: "I4", says: ["the digests differ: "],
            forge: { $0.digests["phone"] = "{}" }),
        PlantedFault(
            what: "half a transaction is on a replica", invariant: "I10",
            says: ["phone shows 2 of the 4 records of group g"],
            phone: ["DELETE FROM user WHERE username LIKE 'group.%.3.4' OR username LIKE 'group.%.2.4'"]),
        PlantedFault(
            what: "half an update is on a replica", invariant: "I10",
            says: ["phone shows 4 of the 4 records of group g, of revisions [0, 1]"],
            phone: ["UPDATE user SET username = replace(username, '.1.3.4', '.0.3.4')"]),
        PlantedFault(
            what: "a reader once saw half a transaction", invariant: "I10",
            says: ["phone shows 1 of the 4 records of group g"],
            forge: { $0.samples.append(Sample(name: "phone", version: 1, users: [("x", "group.g.0.0.4")])) }),
        PlantedFault(
            what: "a transaction is in two commits of the feed", invariant: "I10",
            says: ["(group 'group.g.1.0.4', acknowledged) is in the feed at "],
            server: [
                "UPDATE change_feed SET changes = replace(changes, 'group.g.1.3.4', 'group.g.9.3.4')",
                PlantedFault.commit(
                    of: #"'[{"collection":"user","id":"0","updated":{"username":"group.g.1.3.4"}}]'"#, from: "LIMIT 1"),
            ]),
        PlantedFault(
            what: "a deleted record lives on the server", invariant: "I12",
            says: ["was deleted at ", ", and lives on the server"],
            server: ["UPDATE record SET deletion = NULL WHERE deletion IS NOT NULL"]),
        PlantedFault(
            what: "a deleted record is shown by a replica", invariant: "I12",
            says: ["phone stood at ", "('gone'), deleted at "],
            forge: { $0.showDeleted() }),
        PlantedFault(
            what: "the feed changes a deleted record", invariant: "I12",
            says: ["the feed changes ", " after its deletion"],
            server: [
                PlantedFault.commit(
                    of: #"replace(changes, '"deleted":true', '"updated":{}')"#,
                    from: #"WHERE changes LIKE '%"deleted":true%'"#)
            ]),
        PlantedFault(
            what: "a replica holds a deleted record", invariant: "I12",
            says: ["phone stands at ", " and shows ", ", deleted at "],
            phone: ["UPDATE user SET id = (SELECT id FROM gone) WHERE username = 'kept.phone'"]),
        PlantedFault(
            what: "a replica's database is damaged", invariant: "I4",
            says: ["phone's database: ", " missing from index planted"],
            phone: [
                "CREATE INDEX planted ON user (username)", "PRAGMA writable_schema = ON",
                "UPDATE sqlite_master SET sql = replace(sql, '(username)', '(sync_space)') WHERE name = 'planted'",
            ]),
        PlantedFault(
            what: "a device has no whole copy", invariant: "I18", says: ["phone has no whole copy yet"],
            phone: ["UPDATE sync_space SET phase = 'snapshot'"]),
        PlantedFault(
            what: "a device does not come to rest", invariant: "I18", says: ["phone did not come to rest: it hums"],
            forge: { $0.complaints["phone"] = "it hums" }),
        PlantedFault(
            what: "an entry is stuck in the outbox", invariant: "I18", says: ["laptop has 1 unconfirmed transactions"],
            laptop: [
                "INSERT INTO sync_outbox (space, payload, bytes, written_at, checksum) VALUES ('default', '{\"mutations\":[]}', 2, 0, 0)"
            ]),
        PlantedFault(
            what: "a device stands behind the server", invariant: "I18",
            says: ["phone stands at ", ", the server at "],
            phone: ["UPDATE sync_space SET version = version - 1"]),
        PlantedFault(
            what: "a device asks and asks", invariant: "I18",
            says: ["phone asked 500 times in a quiet time, 4 allowed"],
            forge: { $0.quiet = [QuietTime(device: "phone", requests: 500, allowed: 4)] }),
    ]

    @Test(.timeLimit(.minutes(15)))
    func `each planted fault is reported with its invariant, and correct databases have no findings`()
        async throws
    {
        try await inTestbed { testbed, ledger, writers in
            for writer in writers {
                let kept = try writer.create("kept.\(writer.device.name)")
                try require(kept != nil, "the create was not acknowledged")
            }
            let gone = try writers[0].create("gone")
            try writers[0].createAvatar("https://example.org/a.png", of: "kept.laptop")
            try writers[0].writeGroup("g", revision: 0, size: 4)
            try writers[0].device.expect(0, "sync")
            try writers[0].writeGroup("g", revision: 1, size: 4)
            try writers[0].delete([gone ?? ""])
            let evidence = try testbed.settle(ledger)
            let whole = try Checker.findings(in: evidence)
            try require(whole.isEmpty, "whole databases: \(whole)")
            try require(ledger.writes.allSatisfy { $0.fate == .acknowledged }, "not all was acknowledged")

            let goneBytes = (gone ?? "").replacing("-", with: "")
            for (index, plant) in Self.plants.enumerated() {
                let folder = "\(testbed.folder)/plant-\(index)"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                var forged = try evidence.copied(to: folder)
                for (path, statements) in [
                    (forged.server, plant.server), (forged.devices[0].database, plant.laptop),
                    (forged.devices[1].database, plant.phone),
                ] where !statements.isEmpty {
                    let database = try Database(path, isWritable: true)
                    try database.rows("CREATE TEMP TABLE gone AS SELECT x'\(goneBytes)' AS id")
                    for statement in statements {
                        try database.rows(statement)
                        if statement.hasPrefix("PRAGMA") || statement.hasPrefix("CREATE") { continue }
                        let changed = try database.rows("SELECT changes()").first?.integer(0) ?? 0
                        try require(changed > 0, "\(plant.what): nothing was changed by \(statement)")
                    }
                }
                plant.forge(&forged)
                let findings = try Checker.findings(in: forged)
                try require(
                    findings.contains { finding in
                        finding.invariant == plant.invariant && plant.says.allSatisfy(finding.words.contains)
                    }, "\(plant.what): expected \(plant.invariant) with \(plant.says), found \(findings)")
            }
        }
    }
}

extension Evidence {
    /// Returns this evidence with copies of the databases.
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

    /// Adds a sample in which the phone shows a deleted record at the end.
    fileprivate mutating func showDeleted() {
        let gone = writes.first { $0.kind == .delete }?.records.first
        samples.append(Sample(name: "phone", version: .max, users: [(gone ?? "", "gone")]))
    }
}
