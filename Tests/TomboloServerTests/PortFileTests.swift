import Foundation
import SyncProgram
import Testing

@testable import TomboloServer

@Suite struct PortFileTests {
    private let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false) + "/port-\(UUID())"
    private var file: PortFile { portFile(at: folder + "/port") }

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    @Test func `a port replaces that of an earlier run, and nothing else is left in the folder`() throws {
        for port in [8_080, 9] {
            try file.check()
            // A script that waits for the file must not read the port of an earlier run.
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            try file.write(port)
            #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "\(port)\n")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["port"])
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func `the end of a server removes only its own port`() throws {
        let (first, second) = (file, file)
        first.remove()
        try first.write(8_080)
        second.remove()
        try second.write(9)
        first.remove()
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "9\n")
        second.remove()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        second.remove()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func `a link that appears after the check is not replaced`() throws {
        try file.check()
        #expect(symlink("elsewhere", file.path) == 0)
        #expect(throws: ConfigurationError.self) { try file.write(8_080) }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == "elsewhere")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["port"])
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test(arguments: ["SQLite format 3\0", "cy 123", "70000\n", "-1"])
    func `a file with other contents is not replaced`(contents: String) throws {
        try file.check()
        try contents.write(toFile: file.path, atomically: false, encoding: .utf8)
        #expect(throws: ConfigurationError.self) { try file.check() }
        #expect(throws: ConfigurationError.self) { try file.write(8_080) }
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == contents)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["port"])
        try FileManager.default.removeItem(atPath: folder)
    }

    private func portFile(at path: String) -> PortFile {
        PortFile(path: path, serverFiles: [folder + "/authority.sqlite", folder + "/tokens"])
    }

    /// Regression test: the lock of a database that is being served was replaced, so that two servers served it.
    @Test(arguments: ["authority.sqlite", "authority.sqlite-wal", "authority.sqlite-serving", "tokens", "tokens.lock"])
    func `a file of the server is not replaced, whatever the spelling of its folder`(name: String) throws {
        let link = folder + "-link"
        #expect(symlink(folder, link) == 0)
        try "".write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
        for spelling in [folder, folder + "/.", link] {
            #expect(throws: ConfigurationError.self) { try portFile(at: "\(spelling)/\(name)").check() }
            #expect(throws: ConfigurationError.self) { try portFile(at: "\(spelling)/\(name)").write(8_080) }
        }
        #expect(try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
        // The same name in another folder is free.
        try FileManager.default.createDirectory(atPath: folder + "/other", withIntermediateDirectories: false)
        try portFile(at: "\(folder)/other/\(name)").write(8_080)
        for path in [link, folder] { try FileManager.default.removeItem(atPath: path) }
    }

    @Test func `an empty file is replaced`() throws {
        try "".write(toFile: file.path, atomically: false, encoding: .utf8)
        try file.check()
        try file.write(8_080)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "8080\n")
        try FileManager.default.removeItem(atPath: folder)
    }
}
