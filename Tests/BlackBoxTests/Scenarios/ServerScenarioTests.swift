import Foundation
import Glibc
import TestRings
import Testing

/// A server that is killed, stopped or full, met by devices that must lose nothing.
@Suite(.ring(.test), .serialized) struct BlackBoxServerTests {
    @Test(.timeLimit(.minutes(15))) func `a server that is killed in the middle of a push has each write once`()
        async throws
    {
        try await inTown(settings: ["TOMBOLO_SYNC_BATCH_TRANSACTIONS": "1"]) { town, ledger, scribes in
            let scribe = scribes[0]
            // Each round kills it a little later on its way through hello and the pushes. The proxy holds the answer back
            // until the server is dead and the connection cut: the client never hears what became of its request.
            for round in 0..<6 {
                for index in 0..<4 { try scribe.create("round.\(round).\(index)") }
                try scribe.writeGroup("g\(round)", revision: 0, size: 40)
                let proxy = scribe.device.proxy
                let last = proxy.traffic.requests + round + 2
                proxy.setWeather(ProxyWeather(holdsAnswersFrom: last))
                let sync = try scribe.device.start(["sync"])
                try eventually("request \(round + 2) of the sync") {
                    try demand(sync.isRunning, "sync ended before its request \(round + 2): \(sync.errors)")
                    return proxy.traffic.requests >= last
                }
                town.server.end(SIGKILL)
                proxy.cutAll()
                let status = try sync.wait(atMost: .patience)
                try demand(status == 4, "sync ended with \(status): \(sync.errors)")
                proxy.setWeather(.fair)
                try town.server.start()
            }
            try town.demandNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `a stopped server ends a sync at its deadline, and has everything when it goes on`()
        async throws
    {
        try await inTown { town, ledger, scribes in
            let scribe = scribes[0]
            try scribe.create("before")
            try scribe.device.expect(0, "sync")
            try scribe.create("meanwhile")
            town.server.send(SIGSTOP)
            // A look does not wait as long as a sync may.
            let look = try scribe.device.expect(0, "status")
            try demand(
                look.output.contains("5.0 seconds allowed"), "status does not tell how long it waited: \(look.output)")
            // Without a deadline it would not end: the server says no word.
            scribe.device.setTimeouts(.milliseconds(1_500))
            let answer = try scribe.device.expect(4, "sync")
            try demand(answer.errors.contains("safe in the outbox"), "no word of the outbox: \(answer.errors)")
            try scribe.create("still stopped")
            town.server.send(SIGCONT)
            try town.demandNoFinding(ledger)
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
        try await inTown { town, ledger, scribes in
            let scribe = scribes[0]
            try scribe.create("in the backup")
            for scribe in scribes { try scribe.device.expect(0, "sync") }
            town.server.end(SIGTERM)
            let backup = town.folder + "/backup"
            try FileManager.default.copyItem(atPath: town.server.folder, toPath: backup)
            try town.server.start()
            try scribe.create("lost")
            try scribe.device.expect(0, "sync")

            town.server.end(SIGTERM)
            let mark = town.server.database + "-mark"
            let keptMark = try Data(contentsOf: URL(filePath: mark))
            try FileManager.default.removeItem(atPath: town.server.folder)
            try FileManager.default.moveItem(atPath: backup, toPath: town.server.folder)
            switch restore {
            case .declared: try town.server.renewEpoch()
            case .silent: break
            case .besideTheMark: try keptMark.write(to: URL(filePath: mark))
            }
            try town.server.start()
            // Something new is in the journal.
            try scribe.device.expect(6, "sync")
            let entry = try scribe.device.expect(0, "journal", "--json").objects.first
            try demand(entry?["event"] as? String == "forgotten", "the journal has \(String(describing: entry))")
            try scribe.device.expect(0, "journal", "resend", "\(entry?["entry"] as? Int ?? 0)")
            for scribe in scribes { try scribe.device.expect(0, "sync") }
            try town.demandNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15))) func `a server without room on its disk keeps nobody's write from arriving later`()
        async throws
    {
        try await inTown(startsServer: false, makesDatabases: false) { town, ledger, scribes in
            let disk = try SmallDisk(at: town.server.folder, mebibytes: 2, log: "\(town.folder)/logs/disk")
            defer { disk.end() }
            print("black box: the server's full disk is \(disk.kind.rawValue)")
            town.server.setLauncher(disk.launcher)
            for device in town.devices { try town.server.addToken(device.name, to: device.tokenFile) }
            try town.server.start()
            for scribe in scribes {
                try scribe.device.expect(0, "init")
                try scribe.create("first.\(scribe.device.name)")
                try scribe.device.expect(0, "sync")
            }
            try disk.fill(town.server.process)
            for scribe in scribes {
                try scribe.writeGroup("full-\(scribe.device.name)", revision: 0, size: 50)
                let answer = try scribe.device.expect(4, "sync")
                try demand(answer.errors.contains("safe in the outbox"), "no word of the outbox: \(answer.errors)")
            }
            // One that goes on trying meets the room when it comes.
            let before = scribes[0].device.proxy.traffic.requests
            let patient = try scribes[0].device.start(["sync", "--wait", "240s"])
            try eventually("three more tries") { scribes[0].device.proxy.traffic.requests >= before + 3 }
            try demand(patient.isRunning, "the patient sync ended with \(patient.status ?? -1): \(patient.errors)")
            try disk.makeRoom(town.server.process)
            let status = try patient.wait(atMost: .patience)
            try demand(status == 0, "the patient sync ended with \(status): \(patient.errors)")
            try town.demandNoFinding(ledger)
        }
    }
}
