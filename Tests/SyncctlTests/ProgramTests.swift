import Foundation
import TestRings
import Testing

@testable import syncctl

@Suite(.ring(.test)) struct SyncctlProgramTests {
    @Test func `an argument that is not UTF-8 is refused, and nothing is stored`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let bytes = ["sh", "-c", #"exec "$@" "username=$(printf 'a\377')""#, "sh"]
        let response = try programs.run("syncctl", ["user", "create"], launcher: bytes)
        #expect(response.status == CommandExitStatus.usage.rawValue)
        #expect(response.errors.hasPrefix("syncctl: argument 3 is not UTF-8\n"), "\(response)")
        #expect(try programs.syncctl("user", "list", "--json").output.isEmpty)
    }

    @Test func `without a database syncctl suggests init, and init creates a private one`() throws {
        let programs = try Programs()
        let missing = try programs.syncctl("status")
        #expect(missing.status == CommandExitStatus.noStore.rawValue)
        #expect(missing.output.isEmpty)
        #expect(missing.errors.contains("syncctl init"))
        #expect(try programs.syncctl("init").status == 0)
        #expect(try programs.syncctl("init").status == 0)
        let folder = programs.folder + "/.local/share/syncctl"
        for (path, expected) in [(folder, 0o700), (folder + "/tombolo.sqlite", 0o600)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == expected, "\(path)")
        }
    }

    @Test func `a record can be created, found by name, changed, cleared, and deleted`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        #expect(try programs.syncctl("user", "create", "username=Ned Stark").status == 0)
        let avatar = try programs.syncctl("avatar", "create", "author=Ned Stark", "--json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(avatar.output.utf8)) as? [String: Any])
        let id = try #require(object["id"] as? String)
        #expect(object["uid"] as? Int == -1)
        #expect(object["pending"] as? Bool == true)
        #expect(try programs.syncctl("user", "set", "Ned Stark", "avatar=\(id)").output.hasPrefix("changed"))
        #expect(try programs.syncctl("user", "set", "Ned Stark", "avatar=\(id)").output.hasPrefix("unchanged"))
        #expect(try programs.syncctl("user", "show", "Ned Stark").output.contains(id))
        #expect(try programs.syncctl("user", "set", "Ned Stark", "avatar=").output.hasPrefix("changed"))
        #expect(try programs.syncctl("avatar", "delete", id).status == 0)
        #expect(try programs.syncctl("avatar", "show", id).status == CommandExitStatus.failed.rawValue)
        #expect(try programs.syncctl("outbox", "--json").output.split(separator: "\n").count >= 1)
    }

    @Test(arguments: [
        (["user", "create", "username="], CommandExitStatus.failed, "is empty"),
        (["user", "create", "username=\u{200B}"], .failed, "user.username contains U+200B"),
        (["user", "create", "username=Ned "], .failed, "ends with a space"),
        (["user", "create", "username=\u{1B}[31mred\u{202E}txt.exe"], .failed, "contains U+001B"),
        (["user", "create", "name=x"], .usage, "no field 'name'"),
        (["user", "create", "x"], .usage, "FIELD=VALUE"),
        (["user", "show", "7"], .failed, "uid 7"), (["user", "set", "nobody", "username=x"], .failed, "'nobody'"),
        (["avatar", "create", "author=nobody"], .failed, "'nobody'"), (["outbox", "cancel", "99"], .failed, "99"),
        (["journal", "show", "99"], .failed, "99"), (["sync"], .configuration, "server.url is not set"),
        (["status", "--set", "sync.page-rows=no"], .configuration, "sync.page-rows (--set)"),
        (["status", "--environment", "simulation"], .configuration, "test kit"),
        (["status", "--no-such-flag"], .usage, "no-such-flag"),
        (["sync", "--watch", "--wait", "5s"], .usage, "--watch and --wait cannot be combined"),
        (["import", "--csv", "/nonexistent.csv"], .noInput, "does not exist"), (["import", "x.dat"], .usage, "--csv"),
        (["sync", "--server", "http://sync.example.org"], .configuration, "not encrypted"),
        (["status", "--server", "https://a:b@example.org"], .configuration, "is not a URL"),
    ])
    func `a command that fails reports the reason and a specific exit status`(
        arguments: [String], status: CommandExitStatus, words: String
    ) throws {
        try expect(status, words, from: arguments)
    }

    @Test(arguments: [
        (["digest", "--remote"], CommandExitStatus.notSynced, "safe in the outbox"),
        (["sync", "--store", "nowhere"], .noStore, "syncctl init"),
        (["status", "--store", "nowhere"], .noStore, "syncctl init"),
    ])
    func `a command that fails with a server configured reports the reason and does not trap`(
        arguments: [String], status: CommandExitStatus, words: String
    ) throws {
        try expect(status, words, from: arguments + ["--server", "http://127.0.0.1:9"])
    }

    /// Runs a command with a new database, and checks that it fails with a readable message and no output.
    private func expect(_ status: CommandExitStatus, _ words: String, from arguments: [String]) throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let response = try programs.run("syncctl", arguments)
        #expect(response.status == status.rawValue, "\(response.errors)")
        #expect(response.errors.contains(words), "\(response.errors)")
        #expect(response.output.isEmpty, "\(response.output)")
        #expect(!response.errors.contains("Swift.") && !response.errors.contains("Failure("), "\(response.errors)")
    }

    @Test func `a name that looks like a uid or an id can be given with its field name`() throws {
        let programs = try Programs()
        #expect(try programs.syncctl("init").status == 0)
        let names = ["7", "0190b5a0-0000-7000-8000-000000000001", "username=7"]
        for name in names { #expect(try programs.syncctl("user", "create", "username=\(name)").status == 0) }
        for name in names {
            let shown = try programs.syncctl("user", "show", "username=\(name)")
            #expect(shown.status == 0 && shown.output.contains(name), "\(shown)")
            #expect(try programs.syncctl("avatar", "create", "author=username=\(name)").status == 0)
        }
        #expect(try programs.syncctl("user", "show", "7").status == CommandExitStatus.failed.rawValue)
        // Only the usual form of a number is a uid.
        for name in ["+1", "007"] {
            #expect(try programs.syncctl("user", "create", "username=\(name)").status == 0)
            let shown = try programs.syncctl("user", "show", name)
            #expect(shown.status == 0 && shown.output.contains(name), "\(shown)")
        }
    }

    @Test func `an entry of the journal is dismissed once, and the next time its state is reported`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        try programs.syncctl("user", "create", "username=Ned")
        #expect(try programs.syncctl("outbox", "cancel", "1").status == 0)
        let first = try programs.syncctl("journal", "dismiss", "1", "1")
        #expect(first.output == "dismissed 1 entry\n" && first.errors.isEmpty, "\(first)")
        let second = try programs.syncctl("journal", "dismiss", "1")
        #expect(
            second.output == "dismissed 0 entries\n" && second.errors == "entry 1 is dismissed already\n", "\(second)")
    }

    @Test func `a name matches in either Unicode form, even as the key of an import`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let composed = #"{"type":"user","username":"Zo\u00eb"}"# + "\n"
        let decomposed = #"{"type":"user","username":"Zoe\u0308"}"# + "\n"
        for (text, created) in [(composed, 1), (decomposed, 0), (composed + decomposed, 0)] {
            let response = try programs.syncctl("import", "--jsonl", "-", "--json", input: text)
            #expect(response.output.contains("\"created\":\(created)"), "\(response)")
        }
        #expect(try programs.syncctl("user", "show", "Zoe\u{308}").status == 0)
        #expect(try programs.syncctl("user", "list", "--where", "username=Zoe\u{308}").output.contains("Zo\u{EB}"))
    }

    @Test func `hostile arguments are executed neither by a shell nor as SQL`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        for name in ["'; DROP TABLE user; --", "$(touch pwned)", "`id`", "%s%n", "\" OR 1=1"] {
            for arguments in [["user", "create", "username=\(name)"], ["user", "show", "--", name]] {
                let response = try programs.run("syncctl", arguments, launcher: ["-C", programs.folder])
                #expect(response.status == 0, "\(response)")
            }
        }
        // This is the working directory of the programs.
        #expect(!FileManager.default.fileExists(atPath: programs.folder + "/pwned"))
        #expect(try programs.syncctl("user", "list", "--json").output.split(separator: "\n").count == 5)
    }

    @Test func `an import from standard input reports invalid lines, and a strict one writes nothing`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let text = "{\"type\":\"user\",\"username\":\"a\"}\nnonsense\n"
        let strict = try programs.syncctl("import", "--jsonl", "--strict", "-", input: text)
        #expect(strict.status == CommandExitStatus.partly.rawValue)
        #expect(strict.errors.contains("standard input:2: not JSON"))
        #expect(try programs.syncctl("user", "list", "--json").output.isEmpty)
        let loose = try programs.syncctl("import", "--jsonl", "-", "--json", input: text)
        #expect(loose.status == CommandExitStatus.partly.rawValue)
        #expect(loose.output.contains("\"created\":1"))
    }

    @Test func `the output of list can be imported on another device`() throws {
        let (one, other) = (try Programs(), try Programs())
        try one.syncctl("init")
        try other.syncctl("init")
        try one.syncctl("user", "create", "username=Ned Stark")
        try one.syncctl("avatar", "create", "author=Ned Stark", "image_url=https://example.org/a.png")
        let text = try one.syncctl("avatar", "list", "--json").output + one.syncctl("user", "list", "--json").output
        #expect(try other.syncctl("import", "--jsonl", "-", input: text).status == 0)
        #expect(try other.syncctl("digest", "--json").output == one.syncctl("digest", "--json").output)
    }

    @Test(.ring(.check), arguments: ["missing", "empty", "open", "link", "folder"])
    func `commands that need no server work without a token file, and doctor reports it`(state: String) throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let (token, good) = (programs.folder + "/token", programs.folder + "/good")
        let files = FileManager.default
        #expect(
            files.createFile(atPath: good, contents: Data("secret\n".utf8), attributes: [.posixPermissions: 0o600]))
        switch state {
        case "empty": #expect(files.createFile(atPath: token, contents: nil, attributes: [.posixPermissions: 0o600]))
        case "open":
            #expect(
                files.createFile(
                    atPath: token, contents: Data("secret\n".utf8), attributes: [.posixPermissions: 0o644]))
        case "link": try files.createSymbolicLink(atPath: token, withDestinationPath: good)
        case "folder": try files.createDirectory(atPath: token, withIntermediateDirectories: false)
        default: break
        }
        let there = ["--server", "http://127.0.0.1:9", "--token-file", token]
        for command in [["user", "create", "username=Ned"], ["user", "list"], ["status", "--local"], ["journal"]] {
            let response = try programs.run("syncctl", command + there)
            #expect(response.status == 0, "\(command): \(response)")
        }
        let status = try programs.run("syncctl", ["status"] + there)
        #expect(status.status == 0 && status.output.contains("refused: server.token-file: "), "\(status)")
        let doctor = try programs.run("syncctl", ["doctor", "--local"] + there)
        #expect(doctor.status == CommandExitStatus.unhealthy.rawValue, "\(doctor)")
        #expect(doctor.output.contains("broken     token: server.token-file: "), "\(doctor)")
        #expect(doctor.output.contains("ok         database: "), "\(doctor)")
        for command in [["sync"], ["digest", "--remote"]] {
            let response = try programs.run("syncctl", command + there)
            #expect(response.status == CommandExitStatus.configuration.rawValue, "\(command): \(response)")
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a configuration file that is no regular file is refused by name`() throws {
        let programs = try Programs()
        let usual = programs.folder + "/.config/syncctl/config.json"
        try FileManager.default.createDirectory(
            atPath: programs.folder + "/.config/syncctl", withIntermediateDirectories: true)
        #expect(mkfifo(usual, 0o600) == 0)
        for response in [
            try programs.syncctl("user", "list"), try programs.syncctl("user", "list", "--config", usual),
            try programs.syncctl("user", "list", variables: ["SYNCCTL_CONFIG": usual]),
            try programs.run("syncd", ["config", "--config", usual]),
        ] {
            #expect(response.status == CommandExitStatus.configuration.rawValue)
            #expect(
                response.errors.contains(
                    ": the configuration file \(usual) was not read: it is not a regular file\n"), "\(response)")
        }
    }

    @Test(.ring(.check)) func `if the response of a command cannot be written, it says what was saved`() throws {
        let programs = try Programs()
        let full = ["sh", "-c", "exec \"$0\" \"$@\" >/dev/full"]
        let made = try programs.syncctl("init", launcher: full)
        #expect(made.errors.hasPrefix("syncctl: the database is ready, but the output cannot be written: "))
        for words in [[], ["--json"]] {
            let response = try programs.run("syncctl", ["user", "create", "username=Ned"] + words, launcher: full)
            #expect(response.status == CommandExitStatus.machine.rawValue)
            #expect(
                response.errors.hasPrefix("syncctl: the change was saved, but the output cannot be written: "),
                "\(response)")
        }
        #expect(try programs.syncctl("user", "list", "--json").output.split(separator: "\n").count == 2)
        let list = try programs.syncctl("user", "list", launcher: full)
        #expect(list.errors.hasPrefix("syncctl: the output cannot be written: "), "\(list)")
        // Help, the version, and completion scripts are output that must not be lost silently, either.
        for (program, status, words) in [
            ("syncctl", CommandExitStatus.machine.rawValue, "syncctl: the output cannot be written: "),
            ("syncd", 1, "syncd: cannot write the output: "),
        ] {
            for request in [["--version"], ["--help"], ["help"], ["--generate-completion-script", "bash"]] {
                let lost = try programs.run(program, request, launcher: full)
                #expect(lost.status == status && lost.errors.hasPrefix(words), "\(request): \(lost)")
                let shown = try programs.run(program, request)
                #expect(shown.status == 0 && shown.output.hasSuffix("\n"), "\(request): \(shown.status)")
                #expect(shown.errors.isEmpty, "\(request): \(shown.errors)")
            }
        }
    }

    @Test func `after a sync with a silent server, status and doctor show the reason`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let silent = try ScriptedServer("")
        let there = ["--server", silent.url]
        let sync = try programs.run("syncctl", ["sync", "--wait", "1s"] + there)
        #expect(sync.status == CommandExitStatus.notSynced.rawValue, "\(sync)")
        let status = try programs.run("syncctl", ["status", "--local"] + there)
        #expect(status.output.contains(": the server has not responded for 1s\n"), "\(status)")
        let doctor = try programs.run("syncctl", ["doctor", "--local"] + there)
        #expect(doctor.status == CommandExitStatus.unhealthy.rawValue, "\(doctor)")
        #expect(doctor.output.contains(": the server has not responded for 1s\n"), "\(doctor)")
    }

    @Test(.timeLimit(.minutes(10))) func `a pause that one server asked for does not hold up a sync with another`()
        throws
    {
        let programs = try Programs()
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let (_, url) = try programs.serve()
        try programs.syncctl("init")
        let portal = try ScriptedServer(
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 9999\r\nConnection: close\r\n\r\n")
        func run(_ words: String..., at server: String) throws -> Programs.CommandResult {
            try programs.run("syncctl", words + ["--server", server, "--token-file", token])
        }
        for _ in 0..<2 {
            #expect(try run("sync", at: portal.url).status == CommandExitStatus.notSynced.rawValue)
            #expect(try run("status", "--local", at: portal.url).output.contains("asked for a pause until"))
        }
        let status = try run("status", "--json", at: portal.url)
        #expect(status.output.contains(#""state":"paused""#), "\(status)")
        #expect(status.output.contains(#""paused_until":"#), "\(status)")
        #expect(!(try run("status", "--local", at: url).output.contains("asked for a pause until")))
        let sync = try run("sync", at: url)
        #expect(sync.status == 0, "\(sync)")
    }

    @Test func `the displayed configuration contains no secret`() throws {
        let programs = try Programs()
        let response = try programs.syncctl("config", "show", variables: ["SYNCCTL_SERVER_TOKEN": "canary-11"])
        #expect(response.output.contains("$SYNCCTL_SERVER_TOKEN"))
        #expect(!(response.output + response.errors).contains("canary"))
    }

    @Test func `the help documents every exit status`() throws {
        let help = try Programs().syncctl("--help").output
        let documented = help.matches(of: #/\n +([0-9]+)  /#).compactMap { Int32($0.1) }
        #expect(documented.sorted() == CommandExitStatus.allCases.map(\.rawValue).sorted())
    }

    static let canMakeNamespaces: Bool =
        (try? Programs().run("syncctl", ["--version"], launcher: ["unshare", "-rn"]).status) == 0

    @Test(.enabled(if: canMakeNamespaces, "no network namespace can be made here"))
    func `a machine without links is reported as offline at once`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let response = try programs.syncctl(
            "status", "--server", "https://sync.example.org", launcher: ["unshare", "-rn"])
        #expect(response.output.contains("offline: this machine has no network link"), "\(response.output)")
        let local = try programs.syncctl(
            "status", "--local", "--server", "http://127.0.0.1:9", launcher: ["unshare", "-rn"])
        #expect(local.output.contains("not contacted"), "\(local.output)")
    }
}

@Suite(.ring(.test)) struct ServerProgramTests {
    @Test(arguments: ["t", "token", "folder/t"]) func `a token file may have a relative path`(path: String) throws {
        let programs = try Programs()
        let added = try programs.run(
            "syncd", ["token", "add", "ned", "--token-file", path], launcher: ["-C", programs.folder])
        #expect(added.status == 0, "\(added)")
        #expect(FileManager.default.fileExists(atPath: programs.folder + "/" + path))
    }

    @Test func `syncctl simulate runs the simulation program`() throws {
        let programs = try Programs()
        let response = try programs.syncctl("simulate", "--seed", "3", "--steps", "20", "--clients", "2")
        #expect(response.status == 0, "\(response.errors)")
        #expect(response.output.contains("seed 3: every promise was kept"), "\(response.output)")
        #expect(try programs.syncctl("simulate", "--seed", "3", "--clients", "99").status == 64)
        let broken = programs.folder + "/broken.world"
        try Data("tombolo-world 1\ndevice0 explodes\n".utf8).write(to: URL(filePath: broken))
        let refused = try programs.syncctl("simulate", "--script", broken)
        #expect(refused.status == 66)
        #expect(refused.errors.contains("line 2"), "\(refused.errors)")
    }

    @Test(arguments: [("syncctl", ["status"], CommandExitStatus.machine.rawValue), ("syncd", [], 78)])
    func `a program with a limit that is too low reports it`(
        program: String, arguments: [String], status: Int32
    ) throws {
        func run(_ limit: String) throws -> Programs.CommandResult {
            try Programs().run(program, arguments, launcher: ["sh", "-c", "ulimit \(limit); exec \"$0\" \"$@\""])
        }
        let files = try run("-n 20")
        #expect(
            files.errors == """
                \(program): this process may open 20 files, and needs 64
                  raise the limit, as with: ulimit -n 1024

                """)
        #expect(files.status == status)
        let space = try run("-v 409600")
        #expect(space.errors.hasPrefix("\(program): this process may use 400 MiB of address space, and needs "))
        #expect(space.errors.hasSuffix("  raise the limit, as with: ulimit -v unlimited\n"))
        #expect(space.status == status)
    }

    @Test func `a program that inherits too many open files says so`() throws {
        let opening = "ulimit -n 64; for i in $(seq 54); do exec {file}</dev/null; done; exec \"$0\" \"$@\""
        let response = try Programs().run("syncctl", ["status"], launcher: ["bash", "-c", opening])
        #expect(response.status == CommandExitStatus.machine.rawValue)
        #expect(response.errors.contains("are open already, and needs 48 more"), "\(response)")
    }

    @Test(arguments: [
        ("syncd token add laptop", Int32(1)), ("syncd config", 1), ("syncsim --seed 3 --steps 5", 74),
        ("syncctl simulate --seed 3 --steps 5", 74), ("syncctl config show", 74),
    ])
    func `a full disk at standard output does not cause a trap`(command: String, status: Int32) throws {
        let programs = try Programs()
        let words = command.split(separator: " ").map(String.init)
        let response = try programs.run(
            words[0], Array(words.dropFirst()), launcher: ["sh", "-c", "exec \"$0\" \"$@\" >/dev/full"])
        #expect(response.status == status, "\(response.errors)")
        #expect(try programs.run("syncd", ["token", "list"]).output.isEmpty)
    }

    @Test(arguments: [
        ("syncd token add ann", Int32(78), "/tokens cannot be written: File too large"),
        ("syncd token add ann --output ann.token", 78, "ann.token cannot be written: File too large"),
        ("syncd catalog show", 1, "cannot write the output: File too large"),
        ("syncd --help", 1, "cannot write the output: File too large"),
        ("syncctl --help", 74, "the output cannot be written: File too large"),
        ("syncctl init", 74, "could not write"), ("syncsim --seed 3 --steps 5", 74, "File too large"),
        ("contacts --help", 1, "the output cannot be written"), ("contacts add Ned", 1, "could not write"),
    ])
    func `a limit on the size of files is an error with a message`(
        command: String, status: Int32, text: String
    ) throws {
        let programs = try Programs()
        let words = command.split(separator: " ").map(String.init)
        let response = try programs.run(
            words[0], Array(words.dropFirst()),
            launcher: ["sh", "-c", "cd && ulimit -f 0 && exec \"$0\" \"$@\" > output"])
        #expect(response.status == status, "\(response)")
        #expect(response.errors.contains(text), "\(response)")
        #expect(!FileManager.default.fileExists(atPath: programs.folder + "/ann.token"))
        #expect(try programs.run("syncd", ["token", "list"]).output.isEmpty)
    }

    @Test func `an import beyond the limit on the size of files names the limit`() throws {
        let programs = try Programs()
        #expect(try programs.syncctl("init").status == 0)
        let rows = (0..<2_000).map { #"{"type":"user","username":"user \#($0)"}"# }.joined(separator: "\n")
        let response = try programs.run(
            "syncctl", ["import", "--jsonl", "-"], input: rows,
            launcher: ["bash", "-c", "ulimit -f 300 && exec \"$0\" \"$@\""])
        #expect(response.status == 74, "\(response)")
        #expect(response.errors.contains("(ulimit -f) was reached"), "\(response)")
    }

    @Test(
        .enabled(if: DoctorTests.canMount, "no file system can be mounted here"),
        arguments: [("syncctl record list users", Int32(74)), ("syncd token list", 78), ("contacts list", 1)])
    func `a program that cannot read its arguments does nothing`(command: String, status: Int32) throws {
        let programs = try Programs()
        let words = command.split(separator: " ").map(String.init)
        let response = try programs.run(
            words[0], Array(words.dropFirst()),
            launcher: ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\""])
        #expect(response.status == status && response.output.isEmpty, "\(response)")
        #expect(response.errors.contains("mount /proc"), "\(response)")
    }

    @Test func `a server beyond the limit on the size of files does not start, and says why`() throws {
        let programs = try Programs()
        #expect(try programs.run("syncd", ["token", "add", "ann"]).status == 0)
        let response = try programs.run(
            "syncd", ["--port", "0"], launcher: ["sh", "-c", "ulimit -f 0 && exec \"$0\" \"$@\""])
        #expect(response.status == 1, "\(response)")
        #expect(response.errors.hasPrefix("syncd: authority.folder: SQLite could not "), "\(response)")
    }

    @Test func `if the name of a new history cannot be written, the message says that the history has begun`() throws {
        let programs = try Programs()
        let server = ["--folder", programs.folder + "/server", "--token-file", programs.folder + "/tokens"]
        #expect(try programs.run("syncd", ["token", "add", "ann"] + server).status == 0)
        let (process, _) = try programs.serve(server)
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()
        let old = try programs.run("syncd", ["epoch", "show"] + server).output.trimmingCharacters(in: .newlines)
        let renewal = try programs.run(
            "syncd", ["epoch", "renew"] + server, launcher: ["sh", "-c", "exec \"$0\" \"$@\" >/dev/full"])
        let new = try programs.run("syncd", ["epoch", "show"] + server).output.trimmingCharacters(in: .newlines)
        #expect(renewal.status == 1 && old != new && !new.isEmpty)
        #expect(
            renewal.errors.contains(
                "the history \(old) has ended, and \(new) has begun, but the output cannot be written: "),
            "\(renewal.errors)")
    }

    @Test func `a server does not start if its port file is a link or a pipe, or cannot be written`() throws {
        let programs = try Programs()
        let server = ["--folder", programs.folder + "/server", "--token-file", programs.folder + "/tokens"]
        #expect(try programs.run("syncd", ["token", "add", "ann"] + server).status == 0)
        let (link, pipe) = (programs.folder + "/link", programs.folder + "/pipe")
        #expect(symlink(programs.folder + "/target", link) == 0 && mkfifo(pipe, 0o600) == 0)
        for (path, reason) in [
            (link, "is a symbolic link; expected the file of an earlier run, an empty file, or nothing"),
            (pipe, "is a named pipe; expected the file of an earlier run, an empty file, or nothing"),
            (programs.folder, "is a folder; expected the file of an earlier run, an empty file, or nothing"),
            (programs.folder + "/none/port", "cannot write"),
        ] {
            let response = try programs.run(
                "syncd", ["--port", "0", "--port-file", path] + server, launcher: ["timeout", "10"])
            #expect(response.status == 78 && response.output.isEmpty, "\(response)")
            #expect(response.errors.contains("listen.port-file: ") && response.errors.contains(reason), "\(response)")
        }
        var status = stat()
        #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }

    @Test func `a simulation ends without an error message if the reader closes its pipe`() throws {
        let programs = try Programs()
        let pipe = programs.folder + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        // A pipe can be opened for writing only while it has a reader. The reader, descriptor 4, is then closed.
        let response = try programs.syncctl(
            "simulate", "--seed", "3", "--steps", "20",
            launcher: ["sh", "-c", "exec 4<>\(pipe) 3>\(pipe) 4>&-; exec \"$0\" \"$@\" >&3"])
        #expect(response.status == 141, "\(response.errors)")
        #expect(response.errors.isEmpty)
    }

    @Test func `a server without tokens does not start and reports how to create one`() throws {
        let programs = try Programs()
        let response = try programs.run("syncd", ["--port", "0"])
        #expect(response.status == 78)
        #expect(response.errors.contains("syncd token add"))
    }

    @Test func `the time of the last sync is current after each sync that succeeds`() throws {
        let programs = try Programs()
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let server = ["--server", try programs.serve().url, "--token-file", token]
        #expect(try programs.syncctl("init").status == 0)
        func syncedAt() throws -> String {
            #expect(try programs.run("syncctl", ["sync"] + server).status == 0)
            let status = try programs.syncctl("status", "--local", "--json").output
            let object = try JSONSerialization.jsonObject(with: Data(status.utf8)) as? [String: Any]
            return try #require(object?["last_sync"] as? String)
        }
        let first = try syncedAt()
        // Sets the stored time back by a minute, as if the sync had been a minute ago.
        let database = programs.folder + "/.local/share/syncctl/tombolo.sqlite"
        #expect(
            try programs.tool("sqlite3", [database, "UPDATE sync_contact SET last_sync = last_sync - 60000"]) == 0)
        #expect(try syncedAt() >= first)
    }

    @Test func `contacts sync says what happened, and its exit status tells it`() throws {
        let programs = try Programs()
        func sync(_ variables: [String: String], seconds: Int = 1) throws -> Programs.CommandResult {
            let (process, output, errors) = try programs.start(
                "contacts", ["sync", "\(seconds)"], variables: variables)
            process.waitUntilExit()
            let result = Programs.CommandResult(
                status: process.terminationStatus,
                output: String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self),
                errors: String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self))
            // A busy machine has not connected yet.
            guard result.output.contains(": connecting"), seconds < 100 else { return result }
            return try sync(variables, seconds: 4 * seconds)
        }
        let alone = try sync([:])
        #expect(alone.status == 1 && alone.output.contains("no server is configured"), "\(alone)")
        let first = try sync(["CONTACTS_SERVER_URL": "http://127.0.0.1:9"])
        #expect(first.status == 4, "\(first)")
        #expect(try programs.run("contacts", ["add", "Ned"]).status == 0)
        let offline = try sync(["CONTACTS_SERVER_URL": "http://127.0.0.1:9"])
        #expect(offline.status == 4, "\(offline)")
        #expect(offline.output.contains("offline (cannot connect to http://127.0.0.1:9"), "\(offline)")
        #expect(offline.output.hasSuffix(", 1 pending\n"), "\(offline)")
        let catalog = programs.folder + "/contacts.json"
        let field = { (name: String) in #"{"name": "\#(name)", "type": "text"}"# }
        try #"""
        {"format": 1, "models": [
            {"collection": "contact", "fields": [{"name": "name", "type": "text", "required": true},
                \#(["phone", "email", "notes"].map(field).joined(separator: ", ")),
                {"name": "company", "type": "reference", "target": "company"}]},
            {"collection": "company", "fields": [{"name": "name", "type": "text", "required": true}]}]}
        """#.write(toFile: catalog, atomically: true, encoding: .utf8)
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let url = try programs.serve("--catalog", catalog).url
        let refused = try sync(["CONTACTS_SERVER_URL": url, "CONTACTS_SERVER_TOKEN": "wrong"])
        #expect(refused.status == 5 && refused.output.hasPrefix("not in sync: needsToken ("), "\(refused)")
        // A device without its token works offline, and says that the token is missing.
        let missing = try sync(["CONTACTS_SERVER_URL": url, "CONTACTS_SERVER_TOKEN_FILE": token + "-missing"])
        #expect(missing.status == 5, "\(missing)")
        #expect(missing.output.contains("server.token-file: \(token)-missing does not exist"), "\(missing)")
        let variables = ["CONTACTS_SERVER_URL": url, "CONTACTS_SERVER_TOKEN_FILE": token]
        let synced = try programs.run("contacts", ["sync", "60"], variables: variables)
        #expect(synced.status == 0 && synced.output == "in sync\n", "\(synced)")
        #expect(
            try programs.run("contacts", ["sync", "soon"]).errors.contains("expected the number of seconds, 0 to 3600"))
    }

    @Test func `in production the server does not listen on a network without TLS`() throws {
        let response = try Programs().run("syncd", ["--host", "0.0.0.0", "--port", "0"])
        #expect(response.status == 78)
        #expect(response.errors.contains("listen.certificate-file"))
    }

    @Test func `token files are private, and the server stores only hashes`() throws {
        let programs = try Programs()
        let file = programs.folder + "/laptop.token"
        #expect(try programs.run("syncd", ["token", "add", "laptop", "--output", file]).status == 0)
        #expect(try programs.run("syncd", ["token", "add", "laptop", "--output", file]).status == 78)
        #expect(try programs.run("syncd", ["token", "list"]).output == "laptop\t1\n")
        let token = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let tokens = programs.folder + "/.local/share/syncd/tokens"
        #expect(try !String(contentsOfFile: tokens, encoding: .utf8).contains(token))
        for path in [file, tokens] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(path)")
        }
        #expect(try programs.run("syncd", ["token", "remove", "laptop"]).status == 0)
        #expect(try programs.run("syncd", ["token", "remove", "laptop"]).status == 78)
        #expect(try programs.run("syncd", ["token", "add", "two words"]).status == 64)
    }

    @Test(.timeLimit(.minutes(10))) func `writes of one account wait for its token`() throws {
        let programs = try Programs()
        let tokens = ["ada", "bo"].map { "\(programs.folder)/\($0).token" }
        for (name, token) in zip(["ada", "bo"], tokens) {
            #expect(try programs.run("syncd", ["token", "add", name, "--output", token]).status == 0)
        }
        let (_, url) = try programs.serve()
        let there = ["--server", url, "--token-file"]
        #expect(try programs.syncctl("init").status == 0)
        #expect(try programs.run("syncctl", ["sync"] + there + [tokens[0]]).status == 0)
        #expect(try programs.syncctl("user", "create", "username=Ned").status == 0)

        let refused = try programs.run("syncctl", ["sync"] + there + [tokens[1]])
        #expect(refused.status == CommandExitStatus.refused.rawValue)
        #expect(
            refused.errors.contains("the token belongs to 'bo', but this database belongs to 'ada'"),
            "\(refused.errors)")
        let status = try programs.run("syncctl", ["status", "--json"] + there + [tokens[1]]).output
        #expect(status.contains("\"state\":\"refused\"") && status.contains("\"account\":\"ada\""), "\(status)")
        #expect(status.contains("\"waiting\":1"), "\(status)")

        #expect(try programs.run("syncctl", ["sync"] + there + [tokens[0]]).status == 0)
        #expect(
            try programs.run("syncctl", ["status", "--json"] + there + [tokens[0]]).output.contains("\"waiting\":0"))
    }

    @Test(.timeLimit(.minutes(10))) func `two devices sync with a server, which stops gracefully`() throws {
        let programs = try Programs()
        let token = programs.folder + "/a.token"
        #expect(try programs.run("syncd", ["token", "add", "a", "--output", token]).status == 0)
        let (server, url) = try programs.serve()

        let there = ["--server", url, "--token-file", token]
        let (one, other) = (["--store", programs.folder + "/1"], ["--store", programs.folder + "/2"])
        for store in [one, other] { #expect(try programs.run("syncctl", ["init"] + store).status == 0) }
        #expect(try programs.run("syncctl", ["user", "create", "username=Ned"] + one).status == 0)
        let sync = try programs.run("syncctl", ["sync"] + one + there)
        #expect(sync.status == 0, "\(sync.errors)")
        #expect(try programs.run("syncctl", ["sync", "--json"] + other + there).output.contains("\"in_sync\""))
        let digests = try [one, other].map { try programs.run("syncctl", ["digest", "--json"] + $0).output }
        let remote = try programs.run("syncctl", ["digest", "--json", "--remote"] + other + there).output
        #expect(digests[0] == digests[1])
        #expect(digests[0] == remote)
        #expect(try programs.run("syncctl", ["status"] + one + there).output.contains("online"))

        // A running engine also pushes the writes of other processes.
        let (watch, lines, _) = try programs.start("syncctl", ["sync", "--watch", "--json"] + one + there)
        defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
        _ = try Programs.text(of: lines, upTo: "\"in_sync\":true")
        #expect(try programs.run("syncctl", ["user", "create", "username=Arya"] + one).status == 0)
        let beside = try programs.run("syncctl", ["sync"] + one + there)
        #expect(beside.status == 0, "\(beside.errors)")
        #expect(beside.errors.contains("process \(watch.processIdentifier) syncs this database"), "\(beside.errors)")
        #expect(
            beside.output == "in sync: process \(watch.processIdentifier) has sent and downloaded everything\n")
        #expect(try programs.run("syncctl", ["user", "show", "Arya"] + one).output.contains("synced"))
        let wrong = programs.folder + "/wrong.token"
        #expect(
            FileManager.default.createFile(
                atPath: wrong, contents: Data("wrong\n".utf8), attributes: [.posixPermissions: 0o600]))
        let refusedBeside = try programs.run("syncctl", ["sync"] + one + ["--server", url, "--token-file", wrong])
        #expect(refusedBeside.status == CommandExitStatus.refused.rawValue, "\(refusedBeside)")
        let unreachable = ["--server", "http://127.0.0.1:9", "--token-file", token]
        let down = try programs.run("syncctl", ["sync"] + one + unreachable)
        #expect(down.status == CommandExitStatus.notSynced.rawValue, "\(down)")
        kill(watch.processIdentifier, SIGTERM)
        watch.waitUntilExit()
        #expect(watch.terminationReason == .exit)
        #expect(watch.terminationStatus == 0)

        let refused = try programs.run("syncctl", ["sync"] + one + ["--server", url, "--token-file", wrong])
        #expect(refused.status == CommandExitStatus.refused.rawValue, "\(refused.errors)")

        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
        #expect(server.terminationReason == .exit)
        #expect(server.terminationStatus == 0)
        let gone = try programs.run("syncctl", ["sync"] + one + there)
        #expect(gone.status == CommandExitStatus.notSynced.rawValue, "\(gone.errors)")
        #expect(gone.errors.contains("safe in the outbox"))
    }

    /// Detects, for example, a new limit of a store that refuses the data of the benchmarks.
    @Test(.ring(.check), .timeLimit(.minutes(10))) func `the benchmarks run successfully`() throws {
        let programs = try Programs()
        let response = try programs.run("syncbench", ["--rounds", "1", "--rows", "2000", "--idle-seconds", "1"])
        #expect(response.status == 0, "\(response.errors)")
        let rows = Set(response.output.split(separator: "\n").compactMap { $0.split(separator: " ").first })
        #expect(
            rows == [
                "P1", "P2", "P3", "P3b", "P4", "P4b", "P5", "P5b", "P5c", "P6", "P7", "P8", "P9", "P10", "P11", "P12",
            ], "\(response.output)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a new history can be started only for an existing database that is not being served`() throws {
        let programs = try Programs()
        for words in [["epoch"], ["epoch", "renew"]] {
            let none = try programs.run("syncd", words)
            #expect(none.status == CommandExitStatus.configuration.rawValue)
            #expect(none.errors.contains("authority.sqlite"), "\(none.errors)")
            #expect(none.errors.contains("syncd serve makes one"), "\(none.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: programs.folder + "/.local/share/syncd"))
        #expect(try programs.run("syncd", ["token", "add", "a"]).status == 0)
        let (server, _) = try programs.serve()
        defer { if server.isRunning { kill(server.processIdentifier, SIGKILL) } }
        let served = try programs.run("syncd", ["epoch", "renew"])
        #expect(served.status == CommandExitStatus.failed.rawValue)
        #expect(served.errors.contains("is being served by another process"), "\(served.errors)")
        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
        let before = try programs.run("syncd", ["epoch"]).output
        let renewed = try programs.run("syncd", ["epoch", "renew"])
        #expect(renewed.status == 0)
        #expect(renewed.output != before)
        let conflicts = try programs.run("syncd", ["conflicts", "--space", "team"])
        #expect(conflicts.output.isEmpty)
        #expect(conflicts.errors == "no conflict of the space team is stored\n")
        #expect(try programs.run("syncd", ["epoch"]).output == renewed.output)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a second signal ends a watch whose output nobody reads`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let fifo = programs.folder + "/output"
        try #require(mkfifo(fifo, 0o600) == 0)
        let reader = open(fifo, O_RDWR | O_NONBLOCK)
        defer { close(reader) }
        let filler = [UInt8](repeating: 0, count: 4_096)
        while write(reader, filler, filler.count) > 0 {}
        let (watch, _, _) = try programs.start(
            "syncctl", ["sync", "--watch", "--server", "http://127.0.0.1:9"], variables: ["OUTPUT": fifo],
            launcher: ["sh", "-c", #"exec "$0" "$@" >"$OUTPUT""#])
        defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
        while try watch.isRunning && !programs.syncctl("status", "--local").output.contains("runs in process") {}
        kill(watch.processIdentifier, SIGTERM)
        kill(watch.processIdentifier, SIGINT)
        watch.waitUntilExit()
        // Until the handlers are installed, a signal ends the program by the default action.
        let status = watch.terminationStatus + (watch.terminationReason == .uncaughtSignal ? 128 : 0)
        #expect([128 + SIGTERM, 128 + SIGINT].contains(status))
    }

    @Test(.ring(.check), .timeLimit(.minutes(10)))
    func `a sync that would delete many records stops until the deletes are allowed`() throws {
        let programs = try Programs()
        let token = programs.folder + "/a.token"
        #expect(try programs.run("syncd", ["token", "add", "a", "--output", token]).status == 0)
        let tokens = programs.folder + "/.local/share/syncd/tokens"
        try programs.syncctl("init")
        let lines = (0..<60).map { #"{"type":"user","username":"u\#($0)"}"# }.joined(separator: "\n")
        #expect(try programs.syncctl("import", "--jsonl", "-", input: lines).status == 0)
        let (first, firstURL) = try programs.serve("--token-file", tokens)
        defer { if first.isRunning { kill(first.processIdentifier, SIGKILL) } }
        let there = ["--token-file", token, "--server"]
        let filled = try programs.run("syncctl", ["sync", "--json"] + there + [firstURL])
        #expect(filled.output.contains(#""rejected":0,"outbox":0"#), "\(filled.output)\(filled.errors)")
        kill(first.processIdentifier, SIGTERM)
        first.waitUntilExit()

        // This server has an empty database, as if it had lost all data.
        let (second, url) = try programs.serve("--token-file", tokens, "--folder", programs.folder + "/empty")
        defer { if second.isRunning { kill(second.processIdentifier, SIGKILL) } }
        let stopped = try programs.run("syncctl", ["sync", "--json"] + there + [url])
        #expect(stopped.status == CommandExitStatus.unhealthy.rawValue, "\(stopped.errors)")
        #expect(stopped.output.contains(#""result":"braked""#), "\(stopped.output)")
        #expect(stopped.errors.contains("would delete 60 records"), "\(stopped.errors)")
        #expect(try programs.syncctl("user", "list", "--json").output.split(separator: "\n").count == 60)
        let doctor = try programs.syncctl("doctor", "--local").output
        #expect(doctor.contains("space default: a new snapshot is incomplete; the earlier records"), "\(doctor)")
        #expect(try programs.syncctl("status", "--local").output.contains("fresh copy not complete"))

        // While another process syncs this database, `--allow-deletes` of this process has no effect.
        let (watch, statuses, errors) = try programs.start("syncctl", ["sync", "--watch"] + there + [url])
        defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
        _ = try Programs.text(of: statuses, upTo: "paused before deleting 60 of 60 records")
        for consent in [[], ["--allow-deletes"]] {
            let beside = try programs.run("syncctl", ["sync", "--json", "--wait", "3s"] + consent + there + [url])
            #expect(beside.status == CommandExitStatus.unhealthy.rawValue, "\(beside.output)\(beside.errors)")
            #expect(beside.output.contains(#""result":"braked""#), "\(beside.output)")
            #expect(beside.errors.contains("stop process \(watch.processIdentifier)"), "\(beside.errors)")
        }
        kill(watch.processIdentifier, SIGTERM)
        watch.waitUntilExit()
        #expect(watch.terminationStatus == CommandExitStatus.unhealthy.rawValue)
        let last = try #require(try errors.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) })
        #expect(last.contains("would delete 60 records"), "\(last)")
        #expect(try programs.syncctl("user", "list", "--json").output.split(separator: "\n").count == 60)

        let agreed = try programs.run("syncctl", ["sync", "--json", "--allow-deletes"] + there + [url])
        #expect(agreed.status == CommandExitStatus.rejected.rawValue, "\(agreed.errors)")
        #expect(agreed.output.contains(#""result":"in_sync""#), "\(agreed.output)")
        #expect(try programs.syncctl("user", "list", "--json").output.isEmpty)

        let older = try programs.syncctl("journal", "list", "--before", "1")
        #expect(older.errors == "no entry of the journal before entry 1 needs attention\n", "\(older)")
        // The deleted records can be restored from the journal.
        #expect(try programs.syncctl("journal", "--json").output.contains(#""event":"lost""#))
        #expect(try programs.syncctl("journal", "restore", "1").status == 0)
        #expect(try programs.syncctl("user", "list", "--json").output.split(separator: "\n").count == 60)
        #expect(try programs.run("syncctl", ["sync"] + there + [url]).status == 0)
        kill(second.processIdentifier, SIGTERM)
        second.waitUntilExit()
    }

    @Test(.timeLimit(.minutes(10)))
    func `repeated imports lose only the rows of records that the server has deleted`() throws {
        let programs = try Programs()
        let token = programs.folder + "/a.token"
        #expect(try programs.run("syncd", ["token", "add", "a", "--output", token]).status == 0)
        let (server, url) = try programs.serve()
        defer { if server.isRunning { kill(server.processIdentifier, SIGKILL) } }
        let sync = ["sync", "--json", "--server", url, "--token-file", token]
        let user = { (name: String) in #"{"type":"user","username":"\#(name)"}"# + "\n" }
        try programs.syncctl("init")
        #expect(try programs.syncctl("import", "--jsonl", "-", input: user("ned") + user("rob")).status == 0)
        #expect(try programs.run("syncctl", sync).status == 0)
        #expect(try programs.syncctl("user", "delete", "ned", "rob").status == 0)
        let report = try programs.syncctl("import", "--jsonl", "-", input: user("ned"))
        #expect(report.errors.contains("standard input:1: its record was deleted on this device"), "\(report.errors)")
        #expect(try programs.run("syncctl", sync).status == 0)

        // After that sync, only the server has a record of the deletions. It rejects the whole transaction, and names
        // one deleted record.
        let rows = user("ned") + user("arya") + user("rob") + user("bran")
        #expect(try programs.syncctl("import", "--jsonl", "-", input: rows).status == 0)
        let first = try programs.run("syncctl", sync)
        #expect(first.status == CommandExitStatus.rejected.rawValue, "\(first.errors)")
        #expect(first.output.contains(#""confirmed":0,"rejected":1,"outbox":0"#), "\(first.output)")
        let again = try programs.syncctl("import", "--jsonl", "-", "--json", input: rows)
        #expect(again.status == CommandExitStatus.partly.rawValue)
        #expect(again.errors.contains("standard input:1: its record was deleted on the server"), "\(again.errors)")
        #expect(again.output.contains(#""created":3"#), "\(again.output)")
        let second = try programs.run("syncctl", sync)
        #expect(second.status == CommandExitStatus.rejected.rawValue, "\(second.errors)")
        #expect(second.output.contains(#""confirmed":2,"rejected":1,"outbox":0"#), "\(second.output)")
        for name in ["arya", "bran"] { #expect(try programs.syncctl("user", "show", name).output.contains("synced")) }
        let third = try programs.syncctl("import", "--jsonl", "-", "--json", input: rows)
        #expect(third.output.contains(#""created":0,"updated":0,"unchanged":2,"broken":2"#), "\(third.output)")
        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
    }
}
