import Foundation
import RecordImport
import TestRings
import Testing

@testable import syncctl

/// Tests how the programs treat files that are not regular, such as named pipes, which could block a program forever.
@Suite(.ring(.test)) struct FileKindTests {
    private let programs: Programs
    private let pipe: String

    init() throws {
        programs = try Programs()
        pipe = programs.folder + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
    }

    @Test func `a link is a picture only if it leads to a readable file with contents`() throws {
        let folder = programs.folder
        for (name, contents) in [("empty", ""), ("picture", "PNG")] {
            #expect(FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: Data(contents.utf8)))
        }
        for (target, isPicture) in [
            ("picture", true), ("empty", false), (folder, false), (pipe, false), ("nowhere", false),
        ] {
            let link = folder + "/link"
            #expect(symlink(target, link) == 0)
            #expect(ImportInput.isPicture(link) == isPicture, "\(target)")
            #expect(unlink(link) == 0)
        }
        #expect(ImportInput.isPicture(folder + "/picture") && !ImportInput.isPicture(folder + "/empty"))
    }

    private static let commands: [(program: String, arguments: [String], words: String)] = [
        ("syncctl", ["init", "--catalog", "PIPE"], "the catalog PIPE was not read: it is not a regular file"),
        (
            "syncctl", ["doctor", "--fix", "--catalog", "PIPE"],
            "the catalog PIPE was not read: it is not a regular file"
        ),
        (
            "syncctl", ["status", "--config", "PIPE"],
            "the configuration file PIPE was not read: it is not a regular file"
        ),
        (
            "syncctl",
            ["sync", "--server", "https://127.0.0.1:9", "--token-file", "TOKEN", "--set", "server.ca-file=PIPE"],
            "PIPE cannot be read, is not a regular file, or contains no certificates"
        ),
        (
            "syncctl", ["sync", "--server", "https://127.0.0.1:9", "--token-file", "PIPE"],
            "server.token-file: PIPE is not a regular file"
        ),
        ("syncd", ["--port", "0", "--catalog", "PIPE"], "the catalog PIPE was not read: it is not a regular file"),
        ("syncd", ["catalog", "check", "PIPE"], "the catalog PIPE was not read: it is not a regular file"),
        (
            "syncd", ["token", "list", "--set", "authority.token-file=PIPE"],
            "authority.token-file: PIPE is not a regular file; expected one with a principal and a hash in each line"
        ),
        (
            "syncd", ["token", "add", "arya", "--set", "authority.token-file=PIPE"],
            "authority.token-file: PIPE is not a regular file; expected one with a principal and a hash in each line"
        ),
        (
            "syncd", ["--port", "0", "--set", "listen.certificate-file=PIPE", "--set", "listen.key-file=PIPE"],
            "the certificate cannot be read from PIPE: it is not a regular file"
        ),
    ]

    /// Previously, the programs waited forever for a writer of the pipe.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: TestRing.sample(Array(commands.prefix(3)), commands))
    func `a pipe or device is refused, and the error names it`(program: String, arguments: [String], words: String)
        throws
    {
        #expect(try programs.syncctl("init").status == 0)
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        for file in [pipe, "/dev/zero"] {
            let response = try programs.run(
                program,
                arguments.map {
                    $0.replacingOccurrences(of: "PIPE", with: file).replacingOccurrences(of: "TOKEN", with: token)
                })
            #expect(response.status == CommandExitStatus.configuration.rawValue, "\(response)")
            #expect(response.errors.contains(words.replacingOccurrences(of: "PIPE", with: file)), "\(response)")
        }
    }

    /// Previously, SQLite waited forever for the other end of the pipe, or treated the database as empty.
    @Test(.timeLimit(.minutes(5)), arguments: TestRing.sample(["-wal"], ["-wal", "-journal"]))
    func `a pipe beside a database is refused by name`(suffix: String) throws {
        let waits = ["timeout", "30"]
        for (program, commands, file, status) in [
            (
                "syncctl",
                [["init"], ["status"], ["user", "list"], ["user", "create", "username=x"], ["space"], ["sync"]],
                programs.folder + "/.local/share/syncctl/tombolo.sqlite", CommandExitStatus.noStore
            ),
            (
                "syncd", [["--port", "0"], ["epoch"]], programs.folder + "/.local/share/syncd/authority.sqlite",
                .configuration
            ),
        ] {
            let folder = URL(filePath: file).deletingLastPathComponent()
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            #expect(try programs.run("syncd", ["token", "add", "ned-\(program)"]).status == 0)
            #expect(mkfifo(file + suffix, 0o600) == 0)
            for isThere in [false, true] {
                if isThere {
                    #expect(unlink(file + suffix) == 0)
                    if program == "syncctl" {
                        #expect(try programs.syncctl("init").status == 0)
                    } else {
                        let (server, _) = try programs.serve()
                        kill(server.processIdentifier, SIGTERM)
                        server.waitUntilExit()
                    }
                    #expect(mkfifo(file + suffix, 0o600) == 0)
                }
                for words in commands where isThere || words == commands[0] {
                    let words = words + (words == ["sync"] ? ["--server", "http://127.0.0.1:9"] : [])
                    let response = try programs.run(program, words, launcher: waits)
                    #expect(response.status == status.rawValue, "\(words): \(response)")
                    #expect(response.errors.contains("\(file)\(suffix) is not a regular file"), "\(words): \(response)")
                }
            }
        }
        let database = programs.folder + "/.local/share/syncctl/tombolo.sqlite"
        for words in [["doctor", "--local"], ["doctor", "--fix"]] {
            let doctor = try programs.run("syncctl", words, launcher: waits)
            #expect(doctor.status == CommandExitStatus.unhealthy.rawValue, "\(doctor)")
            #expect(doctor.output.contains("\(database)\(suffix) is not a regular file"), "\(doctor)")
        }
    }

    @Test func `a pipe of the shell and standard input are read as files`() throws {
        let models = programs.folder + "/models.json"
        try programs.run("syncd", ["catalog", "show"]).output.write(toFile: models, atomically: true, encoding: .utf8)
        let inputs = [
            "--catalog <(sleep 0.2; cat '\(models)')", "--catalog /dev/stdin < '\(models)'",
            "--catalog /dev/stdin < <(cat '\(models)')", #"--config <(echo '{"log": {"level": "error"}}')"#,
        ]
        for (number, input) in inputs.enumerated() {
            let response = try programs.run(
                "syncctl", ["init", "--store", "\(programs.folder)/device-\(number)"],
                launcher: ["bash", "-c", #"exec "$0" "$@" "# + input])
            #expect(response.status == 0, "\(input): \(response)")
        }
    }

    @Test func `an input with too many bytes or lines is refused before its rows are read`() throws {
        let file = FileManager.default.temporaryDirectory.path(percentEncoded: false) + "/input-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: file) }
        for (bytes, problem) in [
            (Data(repeating: UInt8(ascii: "\n"), count: ImportLimits.inputLines + 1), "has more than 500000 lines"),
            (Data("x\n".utf8), nil),
        ] as [(Data, String?)] {
            try bytes.write(to: URL(filePath: file))
            if let problem {
                let error = #expect(throws: CommandError.self) { try ImportInput(file: file) }
                #expect(error?.message == "\(file) \(problem)")
            } else {
                #expect(try ImportInput(file: file).bytes.count == bytes.count)
            }
        }
        #expect(truncate(file, ImportLimits.inputBytes + 1) == 0)
        let error = #expect(throws: CommandError.self) { try ImportInput(file: file) }
        #expect(error?.message.contains("is larger than") == true)
    }
}
