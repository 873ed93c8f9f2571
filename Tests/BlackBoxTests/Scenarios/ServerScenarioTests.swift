import Foundation
import Glibc
import TestRings
import Testing

/// A server that is killed, stopped or full, met by devices that must lose nothing.
@Suite(.ring(.test), .serialized) struct BlackBoxServerTests {
    @Test(.timeLimit(.minutes(15))) func `a server that is killed in the middle of a push has each write once`()
        async throws
    {
        try await inTestbed(settings: ["SYNCCTL_SYNC_BATCH_TRANSACTIONS": "1"]) { testbed, ledger, writers in
            let writer = writers[0]
            // Each round kills it a little later on its way through hello and the pushes. The proxy holds the answer back
            // until the server is dead and the connection cut: the client never hears what became of its request.
            for round in 0..<6 {
                for index in 0..<4 { try writer.create("round.\(round).\(index)") }
                try writer.writeGroup("g\(round)", revision: 0, size: 40)
                let proxy = writer.device.proxy
                let last = proxy.traffic.requests + round + 2
                proxy.setConditions(ProxyConditions(holdsAnswersFrom: last))
                let sync = try writer.device.start(["sync"])
                try eventually("request \(round + 2) of the sync") {
                    try demand(sync.isRunning, "sync ended before its request \(round + 2): \(sync.errors)")
                    return proxy.traffic.requests >= last
                }
                testbed.server.end(SIGKILL)
                proxy.cutAll()
                let status = try sync.wait(atMost: .patience)
                try demand(status == 4, "sync ended with \(status): \(sync.errors)")
                proxy.setConditions(.fair)
                try testbed.server.start()
            }
            try testbed.demandNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `a stopped server ends a sync at its deadline, and has everything when it goes on`()
        async throws
    {
        try await inTestbed { testbed, ledger, writers in
            let writer = writers[0]
            try writer.create("before")
            try writer.device.expect(0, "sync")
            try writer.create("meanwhile")
            testbed.server.send(SIGSTOP)
            // A look does not wait as long as a sync may.
            let look = try writer.device.expect(0, "status")
            try demand(
                look.output.contains("5.0 seconds allowed"), "status does not tell how long it waited: \(look.output)")
            // Without a deadline it would not end: the server says no word.
            writer.device.setTimeouts(.milliseconds(1_500))
            let answer = try writer.device.expect(4, "sync")
            try demand(answer.errors.contains("safe in the outbox"), "no word of the outbox: \(answer.errors)")
            try writer.create("still stopped")
            testbed.server.send(SIGCONT)
            try testbed.demandNoFinding(ledger)
        }
    }

    enum Restore: String, CaseIterable {
        /// The whole folder, and the operator says so.
        case declared
        /// The whole folder, and nobody says so: the device proves it.
        case silent
        /// The database alone: the mark beside it proves it before anybody is served.
        case besideTheMark
    }

    @Test(.timeLimit(.minutes(15)), arguments: Restore.allCases)
    func `what a server has lost that was restored from a backup comes back from a device's journal`(
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
            try writer.create("lost")
            try writer.device.expect(0, "sync")

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
            // Something new is in the journal.
            try writer.device.expect(6, "sync")
            let entry = try writer.device.expect(0, "journal", "--json").objects.first
            try demand(entry?["event"] as? String == "forgotten", "the journal has \(String(describing: entry))")
            try writer.device.expect(0, "journal", "resend", "\(entry?["entry"] as? Int ?? 0)")
            for writer in writers { try writer.device.expect(0, "sync") }
            try testbed.demandNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15))) func `a server without room on its disk keeps nobody's write from arriving later`()
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
                let answer = try writer.device.expect(4, "sync")
                try demand(answer.errors.contains("safe in the outbox"), "no word of the outbox: \(answer.errors)")
            }
            // One that goes on trying meets the room when it comes.
            let before = writers[0].device.proxy.traffic.requests
            let patient = try writers[0].device.start(["sync", "--wait", "240s"])
            try eventually("three more tries") { writers[0].device.proxy.traffic.requests >= before + 3 }
            try demand(patient.isRunning, "the patient sync ended with \(patient.status ?? -1): \(patient.errors)")
            try disk.makeRoom(testbed.server.process)
            let status = try patient.wait(atMost: .patience)
            try demand(status == 0, "the patient sync ended with \(status): \(patient.errors)")
            try testbed.demandNoFinding(ledger)
        }
    }
}
