import Foundation
import Glibc
import Testing

/// A server that is killed, stopped or full, met by devices that must lose nothing.
@Suite(.serialized) struct BlackBoxServerTests {
    @Test(.timeLimit(.minutes(15))) func `a server that is killed in the middle of a push has each write once`()
        async throws
    {
        try await inTown(settings: ["TOMBOLO_SYNC_BATCH_TRANSACTIONS": "1"]) { town, ledger, scribes in
            let scribe = scribes[0]
            // Each round kills it a little later on its way through hello and the pushes. Each request takes long enough
            // for this thread to see it, or nearly always: the machine may be busy.
            var inTheMiddle = 0
            for round in 0..<6 {
                for index in 0..<4 { try scribe.create("round.\(round).\(index)") }
                try scribe.writeGroup("g\(round)", revision: 0, size: 40)
                scribe.device.proxy.setWeather(ProxyWeather(delay: .milliseconds(25)))
                let before = scribe.device.proxy.traffic.requests
                let sync = try scribe.device.start(["sync"])
                try eventually("request \(round + 2) of the sync") {
                    !sync.isRunning || scribe.device.proxy.traffic.requests >= before + round + 2
                }
                town.server.end(SIGKILL)
                let status = try sync.wait(atMost: .patience)
                try demand([0, 4].contains(status), "sync ended with \(status): \(sync.errors)")
                if status == 4 { inTheMiddle += 1 }
                try town.server.start()
            }
            try demand(inTheMiddle >= 3, "the server was killed in the middle of only \(inTheMiddle) syncs of 6")
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
            let start = ContinuousClock.now
            let answer = try scribe.device.expect(4, "sync", within: .patience)
            let lasted = ContinuousClock.now - start
            try demand(answer.errors.contains("safe in the outbox"), "no word of the outbox: \(answer.errors)")
            // The deadline of the request is 1.5 s.
            try demand(lasted > .seconds(1) && lasted < .seconds(10), "the sync ended after \(lasted)")
            try scribe.create("still stopped")
            town.server.send(SIGCONT)
            try town.demandNoFinding(ledger)
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `what a server has lost that was restored from a backup comes back from a device's journal`() async throws {
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
            try FileManager.default.removeItem(atPath: town.server.folder)
            try FileManager.default.moveItem(atPath: backup, toPath: town.server.folder)
            try town.server.renewEpoch()
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
            let patient = try scribes[0].device.start(["sync", "--wait", "60s"])
            try eventually("three more tries") { scribes[0].device.proxy.traffic.requests >= before + 3 }
            try demand(patient.isRunning, "the patient sync ended with \(patient.status ?? -1): \(patient.errors)")
            try disk.makeRoom(town.server.process)
            let status = try patient.wait(atMost: .seconds(60))
            try demand(status == 0, "the patient sync ended with \(status): \(patient.errors)")
            try town.demandNoFinding(ledger)
        }
    }
}
