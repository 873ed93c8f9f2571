import Foundation
import Glibc
import TestRings
import Testing

/// Tests that a change of the members of a space reaches devices while the server runs.
@Suite(.ring(.check), .serialized) struct BlackBoxMemberTests {
    @Test(.timeLimit(.minutes(15)))
    func `an account gets a space, loses it, and gets it back while the server runs`() async throws {
        try await inTestbed { testbed, _, _ in
            let (ned, arya) = (testbed.devices[0], testbed.devices[1])
            // The accounts have the names of their devices.
            try testbed.server.manage(["space", "set", "team_7", ned.name, "writer"])
            try testbed.server.manage(["space", "set", "team_7", arya.name, "reader"])
            for device in [ned, arya] { try device.expect(0, "space", "follow", "team_7") }
            try ned.expect(0, "user", "create", "--space", "team_7", "username=Milk")
            for device in [ned, arya] { try device.expect(0, "sync") }
            try arya.requireUsers(["Milk"])

            // A reader's change is rejected, and stays in the journal.
            try arya.expect(0, "user", "set", "Milk", "username=Cream")
            try arya.expect(6, "sync")
            let journal = try arya.expect(0, "journal", "list").output
            try require(
                journal.contains("phone may not write in space team_7"),
                "the rejected change is not in the journal: \(journal)")
            try ned.expect(0, "sync")
            try ned.requireUsers(["Milk"])

            // A watching device learns of the loss although nothing is committed in the space.
            try arya.startWatch()
            try eventually("the device watches team_7") {
                arya.lastWatchLine.contains(#""in_sync":true"#) && arya.lastWatchLine.contains(#""space":"team_7""#)
            }
            try testbed.server.manage(["space", "remove", "team_7", arya.name])
            try eventually("the device has removed the space; it says: \(arya.lastWatchLine)") {
                try arya.users().isEmpty
            }
            try require(
                try arya.expect(0, "space", "list").output.contains("no access"), "the lost space is not shown as lost")
            // The space default stays open to both.
            try arya.expect(0, "user", "create", "username=Tea")
            try eventually("the other space works") {
                try ned.expect(0, "sync")
                return try ned.users() == ["Milk", "Tea"]
            }
            try testbed.server.manage(["space", "set", "team_7", arya.name, "writer"])
            // The sync waits for the watch, which downloads the space again.
            try arya.expect(0, "sync")
            try arya.requireUsers(["Milk", "Tea"])
            arya.endWatch(SIGTERM)
            try arya.expect(0, "sync")
            try arya.requireUsers(["Milk", "Tea"])
            try arya.expect(0, "user", "set", "Milk", "username=Cream")
            for device in [arya, ned] { try device.expect(0, "sync") }
            try ned.requireUsers(["Cream", "Tea"])
        }
    }

    /// The device no longer has the lost value. But others may, and they learn of the loss from the new history.
    @Test(.timeLimit(.minutes(15)))
    func `a device that has left a space and follows it again proves that a restored server has lost commits`()
        async throws
    {
        try await inTestbed { testbed, _, _ in
            let (ned, server) = (testbed.devices[0], testbed.server)
            try server.manage(["space", "set", "team_7", ned.name, "writer"])
            try ned.expect(0, "space", "follow", "team_7")
            try ned.expect(0, "user", "create", "--space", "team_7", "username=Milk")
            try ned.expect(0, "sync")
            server.end(SIGTERM)
            let backup = testbed.folder + "/backup"
            try FileManager.default.copyItem(atPath: server.folder, toPath: backup)
            let history = try server.manage(["epoch", "show"])
            try server.start()
            try ned.expect(0, "user", "set", "Milk", "username=Cream")
            try ned.expect(0, "sync")

            server.end(SIGTERM)
            try FileManager.default.removeItem(atPath: server.folder)
            try FileManager.default.moveItem(atPath: backup, toPath: server.folder)
            try server.start()
            try ned.expect(0, "space", "unfollow", "team_7")
            try ned.expect(0, "space", "follow", "team_7")
            try ned.expect(0, "sync")
            try ned.requireUsers(["Milk"])
            server.end(SIGTERM)
            try require(try server.manage(["epoch", "show"]) != history, "the server has not noticed the restore")
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `no commit is lost while commands change members beside a server that checkpoints`() async throws {
        try await inTestbed(devices: ["laptop"]) { testbed, ledger, writers in
            let device = testbed.devices[0]
            let commands = 40
            let server = testbed.server
            let changes = Thread {
                for number in 0..<commands {
                    _ = try? server.manage(["space", "set", "team_\(number % 3)", "a\(number)", "reader"])
                }
            }
            changes.start()
            // Each round writes some hundred pages into the WAL, so that the server checkpoints several times.
            for round in 0..<24 {
                try writers[0].writeGroup("round.\(round)", revision: 0, size: 300)
                try device.expect(0, "sync")
            }
            let size = try FileManager.default.attributesOfItem(atPath: server.database)[.size] as? Int
            try require(size ?? 0 > 1_000_000, "the server has not checkpointed: its file has \(size ?? 0) bytes")
            try eventually("the commands have ended") { changes.isFinished }
            let output = try testbed.server.manage(["space", "list"])
            let members = output.split(separator: "\n").compactMap { line in
                line.hasPrefix("team_") ? Int(line.split(separator: "\t")[1]) : nil
            }
            try require(members.reduce(0, +) == commands, "members were lost: \(output)")
            try testbed.requireNoFinding(ledger)
        }
    }
}

extension Device {
    fileprivate func users() throws -> [String] {
        try expect(0, "user", "list", "--json").output.split(separator: "\n").compactMap { line in
            line.firstMatch(of: #/"username":"([^"]+)"/#).map { String($0.1) }
        }.sorted()
    }

    fileprivate func requireUsers(_ names: [String]) throws {
        let found = try users()
        try require(found == names, "\(name) has the users \(found); expected \(names)")
    }
}
