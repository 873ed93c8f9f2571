import Foundation
import Glibc
import TestRings
import Testing

/// Tests that devices lose nothing if a server is killed, stopped, or restored, or has a full disk.
@Suite(.ring(.test), .serialized) struct BlackBoxServerTests {
    @Test(.timeLimit(.minutes(15))) func `a server that is killed during a push has each write once`()
        async throws
    {
        try await inTestbed(settings: ["SYNCCTL_SYNC_BATCH_TRANSACTIONS": "1"]) { testbed, ledger, writers in
            let writer = writers[0]
            // Each round lets one more request of the sync reach the server, and then kills the server. The proxy holds
            // the last response back until the connection is cut, so that the client never receives it.
            for round in 0..<6 {
                for index in 0..<4 { try writer.create("round.\(round).\(index)") }
                try writer.writeGroup("g\(round)", revision: 0, size: 40)
                let proxy = writer.device.proxy
                let last = proxy.traffic.requests + round + 2
                proxy.setConditions(ProxyConditions(holdsResponsesFrom: last))
                let sync = try writer.device.start(["sync"])
                try eventually("request \(round + 2) of the sync") {
                    try require(sync.isRunning, "sync ended before its request \(round + 2): \(sync.errors)")
                    return proxy.traffic.requests >= last
                }
                testbed.server.end(SIGKILL)
                proxy.cutAll()
                let status = try sync.wait(atMost: .processTimeout)
                try require(status == 4, "sync ended with \(status): \(sync.errors)")
                proxy.setConditions(.fair)
                try testbed.server.start()
            }
            try testbed.requireNoFinding(ledger)
        }
    }

    @Test(.ring(.check), .timeLimit(.minutes(15)))
    func `a sync with a stopped server ends at its deadline and loses nothing`()
        async throws
    {
        try await inTestbed { testbed, ledger, writers in
            let writer = writers[0]
            try writer.create("before")
            try writer.device.expect(0, "sync")
            try writer.create("meanwhile")
            testbed.server.send(SIGSTOP)
            // The status command has a shorter deadline than a sync.
            let status = try writer.device.expect(0, "status")
            // On a busy machine, the timer of the silent connection may end before that of the whole request.
            try require(
                status.output.contains("5.0 seconds"),
                "the status does not say how long it waited: \(status.output)")
            // Without a deadline, the sync would never end, because the server does not respond.
            writer.device.setTimeouts(.milliseconds(1_500))
            let sync = try writer.device.expect(4, "sync")
            try require(sync.errors.contains("safe in the outbox"), "the outbox is not mentioned: \(sync.errors)")
            try writer.create("still stopped")
            testbed.server.send(SIGCONT)
            try testbed.requireNoFinding(ledger)
        }
    }

    enum Restore: String, CaseIterable {
        /// The whole folder is restored, and the operator renews the epoch.
        case declared
        /// The whole folder is restored, the epoch is not renewed, and a device proves the restore.
        case silent
        /// Only the database is restored. The mark beside it proves the restore before any client is served.
        case besideTheMark
    }

    @Test(.timeLimit(.minutes(15)), arguments: TestRing.sample([.silent], Restore.allCases))
    func `writes that a restored server has lost come back from a device's journal`(
        restore: Restore
    ) async throws {
        try await inTestbed { testbed, ledger, writers in
            let writer = writers[0]
            try writer.create("in the backup")
            for writer in writers { try writer.device.expect(0, "sync") }
            testbed.server.end(SIGTERM)
            let backup = testbed.folder + "/backup"
            try FileManager.default.copyItem(atPath: testbed.server.folder, toPath: backup)
            try testbed.server.start()
            for name in ["lost", "lost too"] {
                try writer.create(name)
                try writer.device.expect(0, "sync")
            }

            testbed.server.end(SIGTERM)
            let mark = testbed.server.database + "-mark"
            let keptMark = try Data(contentsOf: URL(filePath: mark))
            try FileManager.default.removeItem(atPath: testbed.server.folder)
            try FileManager.default.moveItem(atPath: backup, toPath: testbed.server.folder)
            switch restore {
            case .declared: try testbed.server.renewEpoch()
            case .silent: break
            case .besideTheMark: try keptMark.write(to: URL(filePath: mark))
            }
            try testbed.server.start()
            // Status 6 means that the journal has a new entry.
            try writer.device.expect(6, "sync")
            let entries = try writer.device.expect(0, "journal", "--json").objects
            let isLost = !entries.isEmpty && entries.allSatisfy { $0["event"] as? String == "lost" }
            try require(isLost, "the journal has \(entries)")
            let restored = try writer.device.expect(0, "journal", "restore", "--lost", "--json").objects
            try require(restored.count == entries.count, "restored \(restored)")
            for writer in writers { try writer.device.expect(0, "sync") }
            try testbed.requireNoFinding(ledger)
        }
    }

    /// A push whose edits all lose makes no commit, so the restored server has lost no version. It numbers its
    /// conflicts again.
    @Test(.ring(.check), .timeLimit(.minutes(15)))
    func `a device learns of each lost value after a restored server has lost only conflicts`() async throws {
        try await inTestbed(devices: ["laptop", "phone", "tablet"]) { testbed, _, _ in
            let (laptop, phone, tablet) = (testbed.devices[0], testbed.devices[1], testbed.devices[2])
            for name in ["One", "Two"] { try laptop.expect(0, "user", "create", "username=\(name)") }
            for device in testbed.devices { try device.expect(0, "sync") }
            try laptop.expect(0, "user", "set", "Two", "username=Confirmed")
            try laptop.expect(0, "sync")
            try laptop.expect(0, "user", "set", "One", "username=Loses")
            try phone.expect(0, "user", "set", "One", "username=Wins")
            try phone.expect(0, "sync")
            testbed.server.end(SIGTERM)
            let backup = testbed.folder + "/backup"
            try FileManager.default.copyItem(atPath: testbed.server.folder, toPath: backup)
            try testbed.server.start()
            // Status 6 means that the journal has a new entry.
            try laptop.expect(6, "sync")
            // This sync brings the notice, which the journal has already.
            try laptop.expect(0, "sync")

            testbed.server.end(SIGTERM)
            try FileManager.default.removeItem(atPath: testbed.server.folder)
            try FileManager.default.moveItem(atPath: backup, toPath: testbed.server.folder)
            try testbed.server.start()
            // The tablet has not seen the value that it replaces.
            try tablet.expect(0, "user", "set", "Two", "username=Blind")
            try tablet.expect(6, "sync")
            try laptop.expect(6, "sync")
            let journal = try laptop.expect(0, "journal", "list", "--json").output
            for value in ["Loses", "Confirmed"] {
                try require(journal.contains("\"\(value)\""), "the journal does not have '\(value)': \(journal)")
            }
        }
    }

    /// Restores a backup as the guide says: stop, delete the WAL, move the file in, start.
    @Test(.ring(.check), .timeLimit(.minutes(15)))
    func `a backup that was made during pushes is restored, and devices offer what it lacks`() async throws {
        try await inTestbed { testbed, ledger, writers in
            let writer = writers[0]
            try writer.create("in the backup")
            for writer in writers { try writer.device.expect(0, "sync") }
            let copies = testbed.folder + "/copies"
            try FileManager.default.createDirectory(
                atPath: copies, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let server = testbed.server
            let rounds = 4
            for round in 0..<rounds {
                // Single records, because lost changes are restored one by one, and not in the groups of their
                // transactions.
                for number in 0..<10 { try writer.create("round.\(round).\(number)") }
                let backup = Thread { _ = try? server.manage(["backup", "\(copies)/copy-\(round).sqlite"]) }
                backup.start()
                try writer.device.expect(0, "sync")
                try eventually("backup \(round) has ended") { backup.isFinished }
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: copies).sorted()
            try require(names == (0..<rounds).map { "copy-\($0).sqlite" }, "the backups are \(names)")
            for name in names { try server.manage(["backup", "--check", "\(copies)/\(name)"]) }
            // A backup has what was pushed before it, and perhaps a part of what was pushed beside it.
            let sizes = try names.map { name in
                try Database("\(copies)/\(name)").rows("SELECT count(*) FROM record").first?.integer(0) ?? -1
            }
            for (round, size) in sizes.enumerated() {
                let before = Int64(10 * round + 1)
                try require(size >= before && size <= before + 10, "the backups have \(sizes) records")
            }
            try writer.create("lost")
            try writer.device.expect(0, "sync")
            let status = try server.manage(["status"])
            try require(status.contains("; 42 records ("), status)

            try require(server.end(SIGTERM) == 0, "the server did not stop: \(server.errors)")
            for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: server.database + ending) }
            try FileManager.default.removeItem(atPath: server.database)
            try FileManager.default.moveItem(atPath: "\(copies)/\(names[rounds - 1])", toPath: server.database)
            try server.start()
            try require(
                server.errors.contains("restored from an older copy"), "the restore was not noticed: \(server.errors)")
            try writer.device.expect(6, "sync")
            let entries = try writer.device.expect(0, "journal", "--json").objects
            let isLost = !entries.isEmpty && entries.allSatisfy { $0["event"] as? String == "lost" }
            try require(isLost, "the journal has \(entries)")
            try writer.device.expect(0, "journal", "restore", "--lost")
            for writer in writers { try writer.device.expect(0, "sync") }
            try testbed.requireNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15))) func `writes to a server with a full disk arrive once there is space`()
        async throws
    {
        try await inTestbed(startsServer: false, makesDatabases: false) { testbed, ledger, writers in
            let disk = try SmallDisk(at: testbed.server.folder, mebibytes: 2, log: "\(testbed.folder)/logs/disk")
            defer { disk.end() }
            print("black box: the server's full disk is \(disk.kind.rawValue)")
            testbed.server.setLauncher(disk.launcher)
            for device in testbed.devices { try testbed.server.addToken(device.name, to: device.tokenFile) }
            try testbed.server.start()
            for writer in writers {
                try writer.device.expect(0, "init")
                try writer.create("first.\(writer.device.name)")
                try writer.device.expect(0, "sync")
            }
            try disk.fill(testbed.server.process)
            for writer in writers {
                try writer.writeGroup("full-\(writer.device.name)", revision: 0, size: 50)
                let sync = try writer.device.expect(4, "sync")
                try require(sync.errors.contains("safe in the outbox"), "the outbox is not mentioned: \(sync.errors)")
            }
            // A sync that keeps retrying succeeds once there is space.
            let before = writers[0].device.proxy.traffic.requests
            let waitingSync = try writers[0].device.start(["sync", "--wait", "240s"])
            try eventually("three more tries") { writers[0].device.proxy.traffic.requests >= before + 3 }
            try require(
                waitingSync.isRunning,
                "the waiting sync ended with \(waitingSync.status ?? -1): \(waitingSync.errors)")
            try disk.makeRoom(testbed.server.process)
            let status = try waitingSync.wait(atMost: .processTimeout)
            try require(status == 0, "the waiting sync ended with \(status): \(waitingSync.errors)")
            try testbed.requireNoFinding(ledger)
        }
    }
}
