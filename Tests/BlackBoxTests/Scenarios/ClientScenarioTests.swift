import Foundation
import Glibc
import TestRings
import Testing

/// Tests killed commands, a damaged database, and a device with a full disk.
@Suite(.ring(.test), .serialized) struct BlackBoxClientTests {
    @Test(.timeLimit(.minutes(15)))
    func `acknowledged writes survive a killed syncctl, and others are complete or absent`()
        async throws
    {
        try await inTestbed { testbed, ledger, writers in
            var writer = writers[0]
            var (killed, through) = (0, 0)
            // The delay grows after a killed command and shrinks after a completed one, so that it approaches the
            // critical moment.
            var delay = Duration.milliseconds(8)
            // The delay approaches that moment on any machine, but the number of rounds that this takes varies.
            for index in 0..<200 {
                if index >= 36, killed > 3, through > 3 { break }
                writer.killedAfter = delay
                if index % 3 == 0 {
                    try writer.writeGroup("k\(index)", revision: 0, size: 300)
                } else {
                    try writer.create("killed.\(index)")
                }
                if ledger.writes.last?.fate == .unknown {
                    killed += 1
                    delay = delay * 13 / 10
                } else {
                    through += 1
                    delay = delay * 3 / 4
                }
                if index % 10 == 9 {
                    let sync = try writer.device.start(["sync"])
                    usleep(UInt32(index % 36) * 1_500)
                    sync.send(SIGKILL)
                    try sync.wait(atMost: .processTimeout)
                }
            }
            try require(killed > 3 && through > 3, "\(killed) were killed in time, \(through) got through")
            try testbed.requireNoFinding(ledger)
        }
    }

    @Test(.ring(.check), .timeLimit(.minutes(15)))
    func `salvaging a damaged database keeps its unsent writes, and a sync restores the server's records`() async throws
    {
        try await inTestbed { testbed, ledger, writers in
            let (writer, device) = (writers[0], testbed.devices[0])
            for index in 0..<60 { try writer.create("shared.\(index)") }
            for device in testbed.devices { try device.expect(0, "sync") }
            // The first round damages the header and the schema. The second damages a page that has records but no
            // unsent writes.
            for (round, text) in [nil, "shared.3"].enumerated() {
                for index in 0..<5 { try writer.create("unconfirmed.\(round).\(index)") }
                try device.expect(0, "doctor", "--fix")
                var bytes = [UInt8](try Data(contentsOf: URL(filePath: device.database)))
                let page = try text.map { try Self.page(of: bytes, with: $0, without: #""mutations""#) } ?? 0
                for offset in page..<page + 4_096 { bytes[offset] = 0x5A }
                try Data(bytes).write(to: URL(filePath: device.database))

                let told = try device.run(["doctor"])
                try require(told.status == 9 && told.output.contains("doctor --fix"), "\(told)")
                let fixed = try device.expect(0, "doctor", "--fix")
                try require(fixed.output.contains("5 unconfirmed writes saved, none lost"), fixed.output)
                let kept = try Data(contentsOf: URL(filePath: device.database + ".damaged-\(round + 1)"))
                try require(kept == Data(bytes), "the damaged file was changed")
                try device.expect(0, "sync")
                let list = try device.expect(0, "user", "list", "--json")
                for name in ["shared.3", "shared.59", "unconfirmed.\(round).4"] {
                    try require(list.output.contains("\"\(name)\""), "\(name) is missing: \(list.output)")
                }
            }
            try testbed.requireNoFinding(ledger)
        }
    }

    /// Returns the offset of a page that contains one text and not another.
    private static func page(of bytes: [UInt8], with text: String, without other: String) throws -> Int {
        let pages = stride(from: 4_096, to: bytes.count, by: 4_096)
        let found = pages.first { page in
            let data = Data(bytes[page..<page + 4_096])
            return data.firstRange(of: Data(text.utf8)) != nil && data.firstRange(of: Data(other.utf8)) == nil
        }
        guard let found else { throw UnmetConditionError("no page holds \(text)") }
        return found
    }

    @Test(.timeLimit(.minutes(15)))
    func `a device with a full disk reports it, keeps its data, and continues once there is space`() async throws {
        try await inTestbed(makesDatabases: false) { testbed, ledger, writers in
            let (writer, device) = (writers[0], testbed.devices[0])
            let disk = try SmallDisk(at: device.folder, mebibytes: 1, log: "\(testbed.folder)/logs/disk")
            defer { disk.end() }
            print("black box: the device's full disk is \(disk.kind.rawValue)")
            device.setLauncher(disk.launcher)
            for device in testbed.devices { try device.expect(0, "init") }
            for index in 0..<3 { try writer.create("roomy.\(index)") }
            try device.expect(0, "sync")
            try writer.create("unconfirmed")
            try require(ledger.writes.allSatisfy { $0.fate == .acknowledged }, "a write failed on a disk with room")

            try disk.fill()
            device.setLauncher(disk.launcher)
            // A write that needs no new page may still succeed.
            var refused: CommandResult?
            for index in 0..<20 where refused == nil {
                let write = ledger.begin(device.name, .create, texts: ["cramped.\(index)"])
                let answer = try device.run(["user", "create", "username=cramped.\(index)", "--json"])
                if answer.status == 0 { ledger.acknowledge(write) } else { refused = answer }
            }
            try require(refused?.status == 74, "expected 74 on a full disk: \(String(describing: refused))")
            let words = refused?.errors ?? ""
            try require(words.contains("free space on the disk") && !words.contains("Swift."), "the answer: \(words)")
            let list = try device.run(["user", "list", "--json"])
            if list.status == 0 {
                try require(
                    list.output.contains("roomy.2") && list.output.contains("unconfirmed"), "the list: \(list.output)")
            } else {
                try require(list.status == 74, "list ended with \(list.status): \(list.errors)")
            }
            let status = try device.run(["status", "--local"])
            try require([0, 74].contains(status.status), "status ended with \(status.status): \(status.errors)")
            try require(!status.errors.contains("lock file"), "status needs room for its look: \(status.errors)")
            let sync = try device.run(["sync"])
            try require([0, 74].contains(sync.status), "sync ended with \(sync.status): \(sync.errors)")

            try disk.makeRoom()
            device.setLauncher(disk.launcher)
            let again = try writer.create("room again")
            try require(again != nil, "no write goes in after room was made")
            try testbed.requireNoFinding(ledger)
        }
    }
}
