import ConfigurationChecks
import Foundation
import SyncCore
import SyncSimulation
import SyncTransportHTTP
import TestRings
import Testing

@testable import SyncBootstrap
@testable import SyncProgram

private func resolve(
    flags: [String: String] = [:], variables: [String: String] = ["HOME": "/home/ned"], file: String? = nil
) throws(ConfigurationError) -> ResolvedConfiguration<ClientKeys> {
    let file = try file.map { text throws(ConfigurationError) in
        try ConfigurationFile(path: "tombolo.json", text: Data(text.utf8))
    }
    return try ResolvedConfiguration(
        ConfigurationSources(
            ProgramNames("syncctl"), flags: try ConfigurationFlags(settings: flags.map { "\($0)=\($1)" }),
            variables: variables, file: file))
}

/// Returns the message and the advice of the error that `body` throws, or "nothing was wrong".
private func problem(_ body: () throws(ConfigurationError) -> Void) -> String {
    do throws(ConfigurationError) {
        try body()
        return "nothing was wrong"
    } catch {
        return error.message + (error.advice.map { " | " + $0 } ?? "")
    }
}

@Suite struct ConfigurationSourceTests {
    @Test func `flags override variables, variables override the file, and the file overrides defaults`() throws {
        let file = #"{"sync": {"poll-interval": "3s", "page-rows": 3, "hints": false}, "log": {"level": "debug"}}"#
        let home = ["HOME": "/home/ned"]
        let resolved = try resolve(
            flags: ["sync.poll-interval": "1s"],
            variables: home.merging(["SYNCCTL_SYNC_POLL_INTERVAL": "2s", "SYNCCTL_SYNC_PAGE_ROWS": "2"]) { $1 },
            file: file)
        let settings = try ClientSettings(resolved)
        #expect(settings.policy.pollInterval == .seconds(1))
        #expect(settings.policy.pageRows == 2)
        #expect(settings.policy.listensForHints == false)
        #expect(settings.logLevel == .debug)
        #expect(settings.policy.batch.transactions == 200)
        let sources = Dictionary(uniqueKeysWithValues: resolved.entries.map { ($0.name, $0.source) })
        #expect(sources["sync.poll-interval"] == .flag("--set"))
        #expect(sources["sync.page-rows"] == .variable("SYNCCTL_SYNC_PAGE_ROWS"))
        #expect(sources["sync.hints"] == .file("tombolo.json"))
        #expect(sources["sync.batch-transactions"] == .byDefault)
    }

    @Test func `the flight recorder is off unless a number of events is given`() throws {
        #expect(try ClientSettings(try resolve()).recorderEvents == 0)
        #expect(try ClientSettings(try resolve(flags: ["recorder.events": "500"])).recorderEvents == 500)
        #expect(try ClientSettings(try resolve(file: #"{"recorder": {"events": 7}}"#)).recorderEvents == 7)
    }

    @Test(arguments: [
        ("sync.pol-interval", "did you mean sync.poll-interval?"), ("server", "syncctl config show"),
        ("serverr.url", "did you mean server.url?"),
    ])
    func `an unknown key is reported with a suggestion`(key: String, advice: String) {
        let words = problem { () throws(ConfigurationError) in _ = try resolve(flags: [key: "1"]) }
        #expect(words.contains("there is no key \(key)"))
        #expect(words.contains(advice), "\(words)")
    }

    @Test func `an unknown variable with the prefix SYNCCTL_ is refused, and other variables are ignored`() throws {
        let words = problem { () throws(ConfigurationError) in
            _ = try resolve(variables: ["SYNCCTL_SERVER_ULR": "x"])
        }
        #expect(words == "there is no environment variable SYNCCTL_SERVER_ULR | did you mean SYNCCTL_SERVER_URL?")
        _ = try resolve(variables: ["SERVER_URL": "x", "SYNCCTLX": "y"])
    }

    @Test func `an unknown key in the file is reported with the name of the file`() {
        let words = problem { () throws(ConfigurationError) in _ = try resolve(file: #"{"sync": {"pages": 1}}"#) }
        #expect(words.contains("there is no key sync.pages in tombolo.json"))
    }

    @Test(arguments: [
        ("sync.page-rows", "0"), ("sync.page-rows", "10001"), ("sync.page-rows", "ten"), ("sync.page-rows", "1.0"),
        ("sync.poll-interval", "30"), ("sync.poll-interval", "s"), ("sync.poll-interval", "-1s"),
        ("sync.poll-interval", "99999999999999999999s"), ("sync.hints", "yes"), ("environment", "prod"),
        ("store.durability", "FULL"), ("server.url", "example.org"), ("server.url", "ftp://example.org"),
        ("log.level", "loud"), ("store.folder", ""), ("recorder.events", "-1"), ("recorder.events", "100001"),
        ("recorder.events", "on"),
    ])
    func `an invalid value is reported with its key and its source`(key: String, value: String) {
        let words = problem { () throws(ConfigurationError) in _ = try resolve(flags: [key: value]) }
        #expect(words.contains("\(key) (--set): '\(value)' is not"), "\(words)")
    }

    @Test(arguments: [
        "https://name:secret@example.org", "https://example.org/?token=secret", "https://example.org#secret",
    ])
    func `a URL that contains a secret is refused without repeating it`(address: String) {
        let words = problem { () throws(ConfigurationError) in _ = try resolve(flags: ["server.url": address]) }
        #expect(words.contains("server.url (--set): the value is not"), "\(words)")
        #expect(!words.contains("secret"))
    }

    @Test(arguments: [
        #"{"sync": {"page-rows": "5"}}"#, #"{"sync": {"page-rows": true}}"#, #"{"sync": {"page-rows": 5.5}}"#,
        #"{"sync": {"hints": 1}}"#, #"{"sync": {"poll-interval": 30}}"#, #"{"sync": {"page-rows": null}}"#,
        #"{"sync": {"page-rows": [5]}}"#,
    ])
    func `a value in the file must have the type of its key`(file: String) {
        let words = problem { () throws(ConfigurationError) in _ = try resolve(file: file) }
        #expect(words.contains("sync.") && words.contains("expected") && words.contains("tombolo.json"), "\(words)")
    }

    @Test(arguments: [
        "", "{", "[]", "7", #"{"log": {"level": "debug"},}"#, #"{"log": {"level": "debug"}, "log": {"level": "info"}}"#,
        #"{"log": {"level": "debug"}, "log.level": "info"}"#,
    ])
    func `a file that is not JSON, is not an object, or sets a key twice is reported with its name`(file: String) {
        let words = problem { () throws(ConfigurationError) in _ = try resolve(file: file) }
        #expect(words.contains("tombolo.json"), "\(words)")
    }

    @Test(arguments: 0..<24 as Range<UInt64>)
    func `a configuration file with changed bytes is either read or refused with its name`(seed: UInt64) {
        let whole = Array(
            #"{"log": {"level": "debug"}, "sync": {"page-rows": 5, "hints": true, "poll-interval": "30s"}}"#.utf8)
        var random = SeededRandom(seed: seed)
        for _ in 0..<TestRing.sample(25, 100) {
            var bytes = whole
            for _ in 0...random.below(3) {
                let place = random.below(bytes.count)
                switch random.below(3) {
                case 0: bytes[place] = UInt8(random.below(256))
                case 1: bytes.remove(at: place)
                default: bytes.insert(whole[random.below(whole.count)], at: place)
                }
            }
            let words = problem { () throws(ConfigurationError) in
                let file = try ConfigurationFile(path: "tombolo.json", text: Data(bytes))
                let sources = ConfigurationSources(
                    ProgramNames("syncctl"), variables: ["HOME": "/home/ned"], file: file)
                _ = try ResolvedConfiguration<ClientKeys>(sources)
            }
            #expect(
                words == "nothing was wrong" || words.contains("tombolo.json"),
                "\(String(decoding: bytes, as: UTF8.self)): \(words)")
        }
    }

    @Test(arguments: [
        (
            #"{"server": "x"}"#,
            #"server in tombolo.json is a string; expected an object, such as {"server": {"url": …}} | syncctl config show lists the keys"#
        ),
        (
            #"{"log": 5}"#,
            #"log in tombolo.json is an integer; expected an object, such as {"log": {"level": …}} | syncctl config show lists the keys"#
        ),
        (#"{"SYNC": {}}"#, "there is no key SYNC in tombolo.json | did you mean sync?"),
        (
            #"{"SYNC": {"page-rows": 5}}"#,
            "there is no key SYNC.page-rows in tombolo.json | did you mean sync.page-rows?"
        ),
        (#"{"colors": {}}"#, "there is no key colors in tombolo.json | syncctl config show lists the keys"),
        (#"{"sync": {"Hints": {}}}"#, "there is no key sync.Hints in tombolo.json | did you mean sync.hints?"),
        (
            #"{"sync": {"hints": {}}}"#,
            "sync.hints in tombolo.json is an object; expected a string, a whole number, true or false | syncctl config show lists the keys"
        ),
        (
            #"{"server": null}"#,
            #"server in tombolo.json is null; expected a string, a whole number, true or false, or an object such as {"log": {"level": "debug"}}"#
        ),
        (
            #"{"sync": {"page-rows": 1.5}}"#,
            #"sync.page-rows in tombolo.json is a number with a fraction, or one beyond 64 bits; expected a string, a whole number, true or false, or an object such as {"log": {"level": "debug"}}"#
        ),
        (
            #"["x"]"#,
            #"the configuration file tombolo.json is not a JSON object; expected one such as {"log": {"level": "debug"}}"#
        ),
        (
            #"{"server": {"url": 5}}"#,
            "server.url in tombolo.json is an integer; expected a URL such as https://sync.example.org, as JSON string"
        ),
        (
            #"{"sync": {"hints": "yes"}}"#,
            "sync.hints in tombolo.json is a string; expected true or false, as JSON boolean"
        ),
        (
            #"{"log": {"level": "loud"}}"#,
            "log.level (tombolo.json): 'loud' is not one of trace, debug, info, notice, warning, error, critical"
        ),
    ])
    func `a wrong value in a file is reported with what was given and what is expected`(file: String, words: String) {
        #expect(problem { () throws(ConfigurationError) in _ = try resolve(file: file) } == words)
    }

    @Test func `an empty section is accepted`() throws {
        let sources = try resolve(file: #"{"sync": {}, "log": {}}"#).entries.map(\.source)
        #expect(try sources == resolve().entries.map(\.source))
    }

    @Test func `a secret is masked and not accepted as a flag`() throws {
        let resolved = try resolve(variables: ["HOME": "/h", "SYNCCTL_SERVER_TOKEN": "canary-7f"])
        let entry = try #require(resolved.entries.first { $0.name == "server.token" })
        #expect(entry.shownText == "********")
        let words = problem { () throws(ConfigurationError) in _ = try resolve(flags: ["server.token": "canary-7f"]) }
        #expect(words.contains("is a secret"))
        #expect(!words.contains("canary"))
        let token = Token("canary-7f")
        #expect(!"\(token) \(String(reflecting: token)) \(Optional(token) as Any)".contains("canary"))
        #expect(!String(describing: Mirror(reflecting: token).children.map { $0.value }).contains("canary"))
    }

    @Test func `each program has its own variables, file, and folder`() throws {
        let variables = ["HOME": "/home/ned", "TODOSERVER_LISTEN_PORT": "80", "SYNCD_LISTEN_PORT": "80"]
        #expect(try ClientSettings(resolve(variables: variables)).store.folder == "/home/ned/.local/share/syncctl")
        let todo = ProgramNames("todo")
        let sources = ConfigurationSources(
            todo, variables: variables.merging(["TODO_SERVER_URL": "https://a.example"]) { $1 }, file: nil)
        let settings = try ClientSettings(ResolvedConfiguration(sources))
        #expect(settings.server?.address.host == "a.example")
        #expect(settings.store.folder == "/home/ned/.local/share/todo")
        #expect(todo.configurationFile(variables) == "/home/ned/.config/todo/config.json")
        #expect(todo.configurationFile(["XDG_CONFIG_HOME": "/etc/xdg"]) == "/etc/xdg/todo/config.json")
    }

    /// Regression test: such a file was ignored in silence.
    @Test func `a configuration file at the usual path is ignored only if there is none`() throws {
        let home = FileManager.default.temporaryDirectory.path(percentEncoded: false) + "/usual-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: home) }
        let folder = home + "/.config/syncctl"
        func words() -> String {
            problem { () throws(ConfigurationError) in
                _ = try ConfigurationFile.find(named: nil, ProgramNames("syncctl"), ["HOME": home])
            }
        }
        #expect(words() == "nothing was wrong")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        #expect(words() == "nothing was wrong")
        #expect(symlink("missing", folder + "/config.json") == 0)
        #expect(words() == "the configuration file \(folder)/config.json was not read: there is no such file")
        // The system refuses a way through a link to itself, as through a folder without permission.
        try FileManager.default.removeItem(atPath: folder)
        #expect(symlink("syncctl", folder) == 0)
        #expect(words() == "the configuration file \(folder)/config.json was not read: it cannot be read")
        try FileManager.default.removeItem(atPath: folder)
        try "".write(toFile: folder, atomically: false, encoding: .utf8)
        #expect(words() == "nothing was wrong")
    }

    @Test func `a flag that is given twice is refused`() {
        let words = problem { () throws(ConfigurationError) in
            var flags = try ConfigurationFlags(settings: ["log.level=debug"])
            try flags.take("info", for: "log.level", flag: "--log-level")
        }
        #expect(words == "log.level is given twice, with --set and --log-level; expected it once")
    }

    @Test func `a variable that is not UTF-8 is refused if the program reads it`() throws {
        for name in ["HOME", "XDG_DATA_HOME", "SYNCCTL_STORE_FOLDER", "SYNCCTL_CONFIG"] {
            let variables = ["HOME": "/h"].merging([name: String(decoding: [0x2F, 0xFF, 0x61], as: UTF8.self)]) { $1 }
            let words = problem { () throws(ConfigurationError) in
                _ = try ConfigurationSources(ProgramNames("syncctl"), variables: variables)
            }
            #expect(words.hasPrefix("the environment variable \(name) is not UTF-8"))
        }
        _ = try ConfigurationSources(ProgramNames("syncctl"), variables: ["HOME": "/h", "OTHER": "\u{FFFD}"])
    }

    @Test func `a file with a secret must be private, and its name may begin with the home folder`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "c.json").path
        func read(_ text: String, _ permissions: Int) throws(ConfigurationError) -> String? {
            try? Data(text.utf8).write(to: URL(filePath: path))
            try? FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
            let variables = ["HOME": folder.path, "SYNCCTL_CONFIG": "~/c.json"]
            return try ResolvedConfiguration<ClientKeys>(
                ConfigurationSources(ProgramNames("syncctl"), variables: variables)
            ).values.token
        }
        let secret = #"{"server": {"token": "canary-7f"}}"#
        #expect(try read(secret, 0o600) == "canary-7f")
        #expect(try read(#"{"log": {"level": "debug"}}"#, 0o644) == nil)
        for permissions in [0o640, 0o604, 0o660] {
            let words = problem { () throws(ConfigurationError) in _ = try read(secret, permissions) }
            #expect(words.contains("server.token is a secret") && words.hasSuffix("chmod 600 \(path)"), "\(words)")
            #expect(!words.contains("canary"))
        }
    }

    @Test func `a path in the home folder needs a home`() {
        let words = problem { () throws(ConfigurationError) in
            _ = try resolve(flags: ["store.folder": "~/x"], variables: [:])
        }
        #expect(words.contains("HOME is not set"))
    }
}

@Suite struct EnvironmentTests {
    @Test(arguments: [
        ("production", "http://sync.example.org", false), ("staging", "http://10.0.0.1:8080", false),
        ("production", "https://sync.example.org", true), ("production", "http://127.0.0.1:8080", true),
        ("production", "http://localhost:1", true), ("production", "http://[::1]:1", true),
        ("production", "http://127.0.0.1.example.org", false), ("development", "http://sync.example.org", true),
    ])
    func `production and staging send no plain text over a network`(environment: String, url: String, isAllowed: Bool) {
        let words = problem { () throws(ConfigurationError) in
            _ = try ClientSettings(try resolve(flags: ["environment": environment, "server.url": url]))
        }
        #expect((words == "nothing was wrong") == isAllowed, "\(words)")
    }

    @Test func `the test environment has no default folder`() {
        let words = problem { () throws(ConfigurationError) in
            _ = try ClientSettings(try resolve(flags: ["environment": "test"]))
        }
        #expect(words.contains("store.folder is not set"))
    }

    @Test func `a program cannot select the simulation's adapters`() {
        let words = problem { () throws(ConfigurationError) in _ = try ClientRecipes.picked(by: .simulation) }
        #expect(words.contains("test kit"))
    }

    @Test func `folders follow HOME and XDG_DATA_HOME`() throws {
        #expect(try ClientSettings(try resolve()).store.folder == "/home/ned/.local/share/syncctl")
        let xdg = ["HOME": "/home/ned", "XDG_DATA_HOME": "/data"]
        #expect(try ClientSettings(try resolve(variables: xdg)).store.folder == "/data/syncctl")
        #expect(try ClientSettings(try resolve(flags: ["store.folder": "~/x"])).store.folder == "/home/ned/x")
    }
}

@Suite struct ConfigurationDocumentTests {
    @Test func `every client setting is listed once, is documented, and accepts its own default`() {
        checkSettings(ClientKeys.settings)
    }

    @Test func `the stored schema of a client's configuration is up to date`() throws {
        try checkSchema(ClientKeys.settings, "client", of: "syncctl")
    }

    @Test func `the help names every key, and the program's variables`() {
        let help = ConfigurationHelp.text(ClientKeys.settings, ProgramNames("todo"))
        for setting in ClientKeys.settings { #expect(help.contains("\n  " + setting.name + "\n"), "\(setting.name)") }
        #expect(help.contains("TODO_LOG_LEVEL") && help.contains("TODO_CONFIG"))
    }

    @Test func `settings and policy have the same defaults`() throws {
        let settings = try ClientSettings(resolve())
        #expect(settings.policy == SyncPolicy())
        #expect(settings.server == nil)
        let remote = try ClientSettings(resolve(flags: ["server.url": "https://a.example"])).server
        let transport = HTTPTransportConfiguration(baseURL: "https://a.example")
        #expect(remote?.connectTimeout == transport.connectTimeout)
        #expect(remote?.requestTimeout == transport.callTimeout)
    }
}

@Suite struct DurationTextTests {
    @Test(arguments: [
        ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000), ("1d", 86_400_000), ("0s", 0),
    ])
    func `durations are parsed, and formatted in the largest exact unit`(text: String, milliseconds: Int) {
        #expect(DurationText(parsing: text)?.duration == .milliseconds(milliseconds))
        #expect(DurationText(.milliseconds(milliseconds)).description == text)
    }

    @Test(arguments: ["", "5", "s", "5 s", "-5s", "5.5s", "5S", "5sec", "٥s", "9223372036854775807d"])
    func `an invalid duration is refused`(text: String) {
        #expect(DurationText(parsing: text) == nil)
    }
}

@Suite struct ServerAddressTests {
    @Test(arguments: ["127.0.0.1", "127.255.0.9", "localhost", "::1"])
    func `a loopback address is recognized`(host: String) {
        #expect(ServerAddress.isLoopback(host))
    }

    /// Other software interprets some of these as octal numbers or as host names, so the token could be sent to another
    /// machine in plain text.
    @Test(arguments: [
        "0127.0.0.1", "127.0.0.01", "+127.0.0.1", "127.0.0", "127.0.0.1.", "127.0.0.256", "128.0.0.1", "localhost.x",
        "a.localhost",
    ])
    func `an address that only looks like a loopback address is not one`(host: String) {
        #expect(!ServerAddress.isLoopback(host))
    }
}
