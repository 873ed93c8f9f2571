import Foundation
import TestRings
import Testing

@testable import syncctl

@Suite(.ring(.test)) struct DoctorTests {
    @Test func `a healthy device is told so, in a sentence for each check`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let answer = try programs.syncctl("doctor")
        #expect(answer.status == 0, "\(answer)")
        #expect(
            answer.output == """
                ok         database: \(programs.folder)/.local/share/tombolo/tombolo.sqlite is readable and undamaged
                ok         account: this device has not met a server yet, and belongs to no account
                ok         engine: no process syncs this database now
                ok         contact: no sync has been complete yet
                ok         outbox: everything that was written here is confirmed
                ok         journal: no entry needs attention
                ok         space default: nothing of it has been fetched yet
                ok         server: no server is configured: this device works alone

                """)
    }

    @Test func `what a person has to look at ends with its own status`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        try programs.syncctl("user", "create", "username=Ned")
        try programs.syncctl("outbox", "cancel", "1")
        let answer = try programs.syncctl("doctor", "--json", "--server", "http://127.0.0.1:9")
        #expect(answer.status == CommandStatus.unhealthy.rawValue)
        #expect(answer.output.contains(#""check":"journal","state":"attention","message":"1 entry needs attention"#))
        #expect(answer.output.contains(#""check":"server","state":"broken","message":"there is no connection to"#))
        let local = try programs.syncctl("doctor", "--local", "--json", "--server", "http://127.0.0.1:9")
        #expect(!local.output.contains(#""check":"server""#))
    }

    @Test func `permissions are repaired with fix, and told without`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let folder = programs.folder + "/.local/share/tombolo"
        #expect(chmod(folder, 0o777) == 0)
        let told = try programs.syncctl("doctor")
        #expect(told.status == CommandStatus.unhealthy.rawValue)
        #expect(told.output.contains("broken     database: others may write in \(folder)"), "\(told.output)")
        let fixed = try programs.syncctl("doctor", "--fix")
        #expect(fixed.status == 0, "\(fixed.output)")
        #expect(fixed.output.hasPrefix("fixed      folder: only the owner may write in \(folder) now\n"))
        #expect(try programs.syncctl("status").status == 0)
    }

    @Test func `a damaged database is found`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let lines = (0..<400).map { #"{"type":"user","username":"user \#($0)"}"# }.joined(separator: "\n")
        #expect(try programs.syncctl("import", "--jsonl", "-", input: lines).status == 0)
        #expect(try programs.syncctl("doctor", "--fix").output.contains("fixed      log: "))
        let path = programs.folder + "/.local/share/tombolo/tombolo.sqlite"
        var bytes = try Data(contentsOf: URL(filePath: path))
        // Every page behind the first ten: what holds rows and indexes.
        for offset in stride(from: 40_960, to: bytes.count, by: 4_096) { bytes[offset] = 0xFF }
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.write(contentsOf: bytes)
        try handle.close()
        let answer = try programs.syncctl("doctor")
        #expect(answer.status == CommandStatus.unhealthy.rawValue)
        #expect(answer.output.contains("broken     database: "), "\(answer)")
    }
}
