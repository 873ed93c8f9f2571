import Foundation
import TestRings
import Testing

@testable import syncctl

@Suite(.ring(.test)) struct DoctorTests {
    @Test func `doctor reports each check of a healthy device as one sentence`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let response = try programs.syncctl("doctor")
        #expect(response.status == 0, "\(response)")
        #expect(
            response.output == """
                ok         database: \(programs.folder)/.local/share/syncctl/tombolo.sqlite is readable and undamaged
                ok         disk: \(programs.folder)/.local/share/syncctl is writable and has free space
                ok         account: this device has never synced, and belongs to no account
                ok         engine: no process is syncing this database
                ok         contact: no sync has completed with this database yet
                ok         outbox: no write is waiting for the server
                ok         journal: no entry needs attention
                ok         space default: no records of it have been downloaded into this database yet
                ok         server: no server is configured: this device works offline only

                """)
    }

    @Test func `findings that need attention end with a specific exit status`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        try programs.syncctl("user", "create", "username=Ned")
        try programs.syncctl("outbox", "cancel", "1")
        let response = try programs.syncctl("doctor", "--json", "--server", "http://127.0.0.1:9")
        #expect(response.status == CommandExitStatus.unhealthy.rawValue)
        #expect(response.output.contains(#""check":"journal","state":"attention","message":"1 entry needs attention"#))
        #expect(response.output.contains(#""check":"server","state":"broken","message":"cannot connect to"#))
        let local = try programs.syncctl("doctor", "--local", "--json", "--server", "http://127.0.0.1:9")
        #expect(!local.output.contains(#""check":"server""#))
    }

    static let canMount: Bool =
        (try? Programs().run("syncctl", ["--version"], launcher: ["unshare", "-rm"]).status) == 0

    @Test(.enabled(if: canMount, "no file system can be mounted here"), .timeLimit(.minutes(10)))
    func `on a full disk a first sync and doctor both say that the disk is full`() throws {
        let programs = try Programs()
        let (token, disk) = (programs.folder + "/token", programs.folder + "/disk")
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let (_, url) = try programs.serve()
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
        let script =
            "mount -t tmpfs -o size=600k,mode=0700 tmpfs '\(disk)' && \"$0\" init --store '\(disk)/device' >&2"
            + " && { dd if=/dev/zero of='\(disk)/filler' bs=1k 2>/dev/null; exec \"$0\" \"$@\"; }"
        func run(_ command: String) throws -> Programs.CommandResult {
            try programs.run(
                "syncctl", [command, "--store", disk + "/device", "--server", url, "--token-file", token],
                launcher: ["unshare", "-rm", "sh", "-c", script])
        }
        let sync = try run("sync")
        #expect(sync.status == CommandExitStatus.machine.rawValue, "\(sync)")
        #expect(sync.errors.contains("syncctl: the disk is full; "), "\(sync)")
        let doctor = try run("doctor")
        #expect(doctor.status == CommandExitStatus.unhealthy.rawValue, "\(doctor)")
        #expect(doctor.output.contains("broken     disk: the disk is full: "), "\(doctor)")
    }

    @Test func `wrong permissions are reported, and repaired with --fix`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let folder = programs.folder + "/.local/share/syncctl"
        #expect(chmod(folder, 0o777) == 0)
        let report = try programs.syncctl("doctor")
        #expect(report.status == CommandExitStatus.unhealthy.rawValue)
        #expect(report.output.contains("broken     database: others may write in \(folder)"), "\(report.output)")
        let fixed = try programs.syncctl("doctor", "--fix")
        #expect(fixed.status == 0, "\(fixed.output)")
        #expect(fixed.output.hasPrefix("fixed      folder: \(folder) is now writable only by its owner\n"))
        #expect(try programs.syncctl("status").status == 0)
    }

    @Test func `--fix does not claim a change of a folder that only its owner may write`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let file = programs.folder + "/.local/share/syncctl/tombolo.sqlite"
        #expect(link(file, file + "-other-name") == 0)
        let response = try programs.syncctl("doctor", "--fix")
        #expect(response.status == CommandExitStatus.unhealthy.rawValue)
        #expect(response.output.hasPrefix("broken     database: \(file) has 2 names"), "\(response)")
        #expect(!response.output.contains("fixed "), "\(response)")
    }

    private static func database(of programs: Programs) -> String {
        programs.folder + "/.local/share/syncctl/tombolo.sqlite"
    }

    /// The database of a device with 60 writes and a checkpointed WAL. It is made only once, because it takes many
    /// commands.
    private static let written = Result {
        let programs = try Programs()
        try programs.syncctl("init")
        // Each import is one transaction.
        for number in 0..<6 {
            let lines = (0..<10).map { #"{"type":"user","username":"user \#(number)-\#($0)"}"# }.joined(separator: "\n")
            #expect(try programs.syncctl("import", "--jsonl", "-", input: lines).status == 0)
        }
        #expect(try programs.syncctl("doctor", "--fix").status == 0)
        return try Data(contentsOf: URL(filePath: database(of: programs)))
    }

    /// Creates a device with 60 writes.
    private static func deviceWithWrites() throws -> (programs: Programs, file: String) {
        let programs = try Programs()
        try programs.syncctl("init")
        let file = database(of: programs)
        try written.get().write(to: URL(filePath: file))
        return (programs, file)
    }

    /// Writes the default models to a file, and returns its path.
    private static func communityModels(_ programs: Programs) throws -> String {
        let path = programs.folder + "/community.json"
        try programs.run("syncd", ["catalog", "show"]).output.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private static func change(_ file: String, _ sql: String, _ programs: Programs) throws {
        #expect(try programs.tool("sqlite3", [file, "PRAGMA writable_schema = ON; \(sql)"]) == 0)
    }

    private static let damages = [
        "UPDATE sync_journal SET payload = '{'", "DROP INDEX sync_outbox_number",
        "DELETE FROM sqlite_schema WHERE name = 'sync_confirmed'", "DELETE FROM sync_meta",
        "UPDATE sync_space SET name = 'A B'", "UPDATE user SET sync_unknown = '{'",
        "UPDATE sync_migration SET name = 'm0001_local_cachf' WHERE number = 1",
        "UPDATE sync_field SET field = 'usernbme' WHERE field = 'username'",
        "DELETE FROM sync_field WHERE field = 'username'", "DELETE FROM sync_field WHERE collection = 'user'",
        "UPDATE sync_catalog SET models = replace(models, 'username', 'usernbme')", "DELETE FROM sync_catalog",
        "UPDATE sqlite_schema SET sql = replace(sql, 'username', 'usernbme') WHERE name = 'user'",
        "UPDATE sync_contact SET failure_code = 'store.corrupt', failure_message = 'a page', failure_at = 1; "
            + "INSERT OR IGNORE INTO sync_contact (one, failure_code, failure_message, failure_at) VALUES (1, 'store.corrupt', 'a page', 1)",
    ]

    /// Previously, a sync failed with a status that suggested no repair, and `--fix` did nothing.
    @Test(arguments: TestRing.sample(Array(damages.prefix(2)), damages))
    func `damage is reported with a line for each check, and repaired with every write`(damage: String) throws {
        let (programs, file) = try Self.deviceWithWrites()
        let written = try Self.outbox(programs)
        try programs.syncctl("user", "create", "username=cancelled")
        try programs.syncctl("outbox", "cancel", "7")
        try Self.change(file, damage, programs)
        let report = try programs.syncctl("doctor")
        #expect(report.status == CommandExitStatus.unhealthy.rawValue, "\(report)")
        #expect(report.output.contains("broken     database: "), "\(report)")
        #expect(report.output.contains("doctor --fix keeps the damaged file"), "\(report)")
        for check in ["database", "disk", "account", "engine", "contact", "outbox", "journal", "space", "server"] {
            #expect(report.output.contains(" \(check)"), "\(check) is missing: \(report)")
        }
        let fixed = try programs.syncctl("doctor", "--fix")
        #expect(fixed.output.contains("fixed      database: a new database took the place of this one"), "\(fixed)")
        #expect(!fixed.output.contains("broken"), "\(fixed)")
        #expect(try Self.outbox(programs) == written)
        #expect(!(try programs.syncctl("doctor").output.contains("broken")))
        #expect(try programs.syncctl("user", "create", "username=Next").status == 0)
    }

    @Test func `damaged models of an application are told from those of a newer build`() throws {
        let (programs, file, models) = try Self.deviceOfOwnModels()
        try Self.change(file, "UPDATE sync_catalog SET models = replace(models, '\"title\"', '\"titke\"')", programs)
        for command in [["status"], ["record", "list", "todo"], ["outbox"]] {
            let response = try programs.run("syncctl", command)
            #expect(response.errors.contains("sync_catalog and sync_field have different fields"), "\(response)")
            #expect(response.errors.contains("doctor --fix"), "\(response)")
        }
        let refused = try programs.syncctl("doctor", "--fix")
        #expect(refused.output.contains("run syncctl doctor --fix --catalog FILE"), "\(refused)")
        #expect(try programs.syncctl("doctor", "--fix", "--catalog", models).status == 0)
        #expect(try programs.syncctl("record", "list", "todo").output.contains("unsent"))
        // This damages the name of the field in `sync_field`, but not in the stored models of `sync_catalog`.
        try Self.change(file, "UPDATE sync_field SET field = 'titke' WHERE field = 'title'", programs)
        #expect(try programs.syncctl("doctor", "--fix").status == 0)
        #expect(try programs.syncctl("record", "list", "todo").output.contains("unsent"))
    }

    @Test func `a creation that was interrupted is completed with its own models only`() throws {
        let (programs, file, _) = try Self.deviceOfOwnModels()
        try Self.change(file, "SELECT writefile('\(file).creating', models) FROM sync_catalog", programs)
        try FileManager.default.removeItem(atPath: file)
        #expect(FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]))
        for command in [["status"], ["record", "create", "todo", "title=x"], ["user", "create", "username=Ned"]] {
            let response = try programs.run("syncctl", command)
            #expect(response.status == CommandExitStatus.noStore.rawValue, "\(response)")
            #expect(response.errors.contains("the creation of \(file) was interrupted"), "\(response)")
            #expect(response.errors.contains("create it with syncctl init"), "\(response)")
        }
        #expect(try programs.syncctl("init").status == 0)
        #expect(try programs.syncctl("record", "create", "todo", "title=x").status == 0)
    }

    /// Creates a device of an application's own models with one unsent write, and a checkpointed WAL.
    private static func deviceOfOwnModels() throws -> (programs: Programs, file: String, models: String) {
        let programs = try Programs()
        let models = programs.folder + "/models.json"
        // The models are longer than a page.
        let fields = (0..<55).map {
            #", {"name": "a_field_with_a_name_long_enough_to_fill_a_page_\#($0)", "type": "text"}"#
        }.joined()
        try
            #"{"format": 1, "models": [{"collection": "todo", "fields": [{"name": "title", "type": "text"}\#(fields)]}]}"#
            .write(toFile: models, atomically: true, encoding: .utf8)
        try programs.syncctl("init", "--catalog", models)
        try programs.syncctl("record", "create", "todo", "title=unsent")
        #expect(try programs.syncctl("doctor", "--fix").status == 0)
        return (programs, programs.folder + "/.local/share/syncctl/tombolo.sqlite", models)
    }

    private static func overwrite(_ range: Range<Int>, of file: String) throws {
        var bytes = try Data(contentsOf: URL(filePath: file))
        for offset in range { bytes[offset] ^= 0xFF }
        try bytes.write(to: URL(filePath: file))
    }

    private static func rootPage(of table: String, in file: String, _ programs: Programs) throws -> Int {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sqlite3", file, "SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"]
        process.standardOutput = output
        try process.run()
        process.waitUntilExit()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    @Test(arguments: [0..<100, 0..<4_096])
    func `salvaging a database of own models finds the models in the damaged file`(range: Range<Int>) throws {
        let (programs, file, _) = try Self.deviceOfOwnModels()
        let written = try Self.outbox(programs)
        #expect(written.count == 1)
        try Self.overwrite(range, of: file)
        let fixed = try programs.syncctl("doctor", "--fix")
        #expect(fixed.status == 0, "\(fixed)")
        #expect(fixed.output.contains("1 unconfirmed write saved, none lost"), "\(fixed)")
        #expect(try Self.outbox(programs) == written)
        #expect(try programs.syncctl("record", "list", "todo").output.contains("unsent"))
        #expect(!(try programs.syncctl("record", "collections").output.contains("user")))
    }

    @Test func `a database that has lost its models is damaged, and salvaged with models from a file`() throws {
        let (programs, file, models) = try Self.deviceOfOwnModels()
        let written = try Self.outbox(programs)
        let page = try Self.rootPage(of: "sync_catalog", in: file, programs)
        try Self.overwrite((page - 1) * 4_096..<page * 4_096, of: file)
        for command in [["record", "list", "todo"], ["status"], ["user", "create", "username=Ned"]] {
            let response = try programs.run("syncctl", command)
            #expect(response.errors.contains("damaged") && response.errors.contains("doctor --fix"), "\(response)")
        }
        let refused = try programs.syncctl("doctor", "--fix")
        #expect(refused.status == CommandExitStatus.unhealthy.rawValue)
        #expect(refused.output.contains("run syncctl doctor --fix --catalog FILE"), "\(refused)")
        let wrong = try programs.syncctl("doctor", "--fix", "--catalog", Self.communityModels(programs))
        #expect(wrong.status == CommandExitStatus.unhealthy.rawValue)
        #expect(wrong.output.contains("an unconfirmed write changes the collection todo"), "\(wrong)")
        let fixed = try programs.syncctl("doctor", "--fix", "--catalog", models)
        #expect(fixed.status == 0, "\(fixed)")
        #expect(try Self.outbox(programs) == written)
        #expect(try programs.syncctl("doctor").status == 0)
    }

    @Test(arguments: [18, 47]) func `a header that forbids writing is damage`(offset: Int) throws {
        let (programs, file) = try Self.deviceWithWrites()
        let written = try Self.outbox(programs)
        try Self.overwrite(offset..<offset + 1, of: file)
        let write = try programs.run("syncctl", ["user", "create", "username=Ned"])
        #expect(write.errors.contains("damaged") && write.errors.contains("doctor --fix"), "\(write)")
        #expect(try programs.syncctl("doctor").status == CommandExitStatus.unhealthy.rawValue)
        let fixed = try programs.syncctl("doctor", "--fix")
        #expect(fixed.status == 0, "\(fixed)")
        #expect(try Self.outbox(programs) == written)
        #expect(try programs.syncctl("user", "create", "username=Ned").status == 0)
    }

    private static func outbox(_ programs: Programs) throws -> [String] {
        try programs.syncctl("outbox", "list", "--json").output.split(separator: "\n").map(String.init)
    }

    private static let headerDamages = [
        (offset: 0, count: 100), (offset: 60, count: 12), (offset: 0, count: 4_096), (offset: 16, count: 2),
    ]

    @Test(arguments: TestRing.sample(Array(headerDamages.prefix(2)), headerDamages))
    func `salvaging a database with a damaged header keeps every write`(
        damage: (offset: Int, count: Int)
    ) throws {
        let (programs, file) = try Self.deviceWithWrites()
        let written = try Self.outbox(programs)
        #expect(written.count > 0)
        var bytes = try Data(contentsOf: URL(filePath: file))
        for offset in damage.offset..<damage.offset + damage.count { bytes[offset] = 0xA5 }
        try bytes.write(to: URL(filePath: file))
        let report = try programs.syncctl("doctor")
        #expect(report.status == CommandExitStatus.unhealthy.rawValue)
        #expect(
            report.output.contains("syncctl doctor --fix keeps the damaged file, and creates a new database"),
            "\(report)")
        #expect(try Data(contentsOf: URL(filePath: file)) == bytes, "it is only looked at")
        let fixed = try programs.syncctl("doctor", "--fix")
        #expect(fixed.status == 0, "\(fixed)")
        #expect(fixed.output.contains("fixed      salvage: a new database is in its place"), "\(fixed)")
        #expect(fixed.output.contains("ok         identity: this device is still "), "\(fixed)")
        #expect(try Self.outbox(programs) == written)
        #expect(try Data(contentsOf: URL(filePath: file + ".damaged-1")) == bytes)
        let later = try programs.syncctl("doctor")
        #expect(later.status == 0 && later.output.contains("kept: \(file).damaged-1 is from a repair"), "\(later)")
        #expect(try programs.syncctl("user", "create", "username=Next").status == 0)
    }

    @Test(.ring(.check))
    func `salvaging a damaged or truncated database keeps the remaining writes and reports the lost ones`() throws {
        let (programs, file) = try Self.deviceWithWrites()
        let whole = try Data(contentsOf: URL(filePath: file))
        let written = try Self.outbox(programs)
        let models = try Self.communityModels(programs)
        for page in stride(from: 1, to: whole.count / 4_096, by: 5) {
            for isCut in [false, true] {
                var bytes = whole
                if isCut {
                    bytes = bytes.prefix(page * 4_096 + 17)
                } else {
                    for offset in page * 4_096..<(page + 1) * 4_096 { bytes[offset] = 0x5A }
                }
                try bytes.write(to: URL(filePath: file))
                var fixed = try programs.syncctl("doctor", "--fix", "--json")
                if fixed.output.contains("--catalog FILE") {
                    fixed = try programs.syncctl("doctor", "--fix", "--json", "--catalog", models)
                }
                let place = "page \(page + 1), \(isCut ? "cut" : "overwritten"): \(fixed.output)"
                #expect(fixed.status == 0 || fixed.status == CommandExitStatus.unhealthy.rawValue, "\(place)")
                let saved = try Self.outbox(programs)
                #expect(saved.allSatisfy(written.contains), "\(place)")
                // Each page holds fewer than half of the writes.
                #expect(isCut || saved.count >= written.count / 2, "\(place)")
                let match = fixed.output.firstMatch(of: /([0-9]+) unconfirmed writes? could not be read/)
                let lost = match.flatMap { Int($0.1) } ?? 0
                let mayHaveMore = fixed.output.contains(/unconfirmed writes? saved; there may have been more/)
                #expect(mayHaveMore || saved.count + lost >= written.count, "\(place)")
                // The journal offers values of the lost writes. Until a user dismisses them, doctor reports that they
                // need attention.
                #expect(try programs.syncctl("journal", "dismiss", "--all").status == 0, "\(place)")
                #expect(try programs.syncctl("doctor").status == 0, "\(place)")
                for number in 1...3 { try? FileManager.default.removeItem(atPath: "\(file).damaged-\(number)") }
            }
        }
    }

    @Test func `a damaged database that another program has open is not salvaged`() throws {
        let (programs, file) = try Self.deviceWithWrites()
        let handle = try FileHandle(forUpdating: URL(filePath: file))
        try handle.write(contentsOf: Data(repeating: 0, count: 100))
        // A SQLite connection to a database in WAL mode holds this lock as long as it is open.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_start = 0x4000_0002
        lock.l_len = 510
        #expect(fcntl(handle.fileDescriptor, F_SETLK, &lock) == 0)
        let response = try programs.syncctl("doctor", "--fix")
        #expect(response.status == CommandExitStatus.unhealthy.rawValue)
        #expect(response.output.contains("broken     database: process \(getpid()) has \(file) open"), "\(response)")
        #expect(!FileManager.default.fileExists(atPath: file + ".damaged-1"))
        try handle.close()
        #expect(try programs.syncctl("doctor", "--fix").status == 0)
    }

    /// Previously, the first link made the salvage fail, and the second was mistaken for the damaged file that a
    /// salvage keeps.
    @Test func `a salvage takes no link for a kept file`() throws {
        let (programs, file) = try Self.deviceWithWrites()
        #expect(symlink("nowhere", file + ".damaged-1") == 0)
        #expect(symlink(file, file + ".damaged-2") == 0)
        var bytes = try Data(contentsOf: URL(filePath: file))
        for offset in 0..<100 { bytes[offset] = 0xA5 }
        try bytes.write(to: URL(filePath: file))
        let fixed = try programs.syncctl("doctor", "--fix")
        #expect(fixed.status == 0, "\(fixed)")
        #expect(fixed.output.contains("fixed      salvage: a new database is in its place"), "\(fixed)")
        #expect(try Data(contentsOf: URL(filePath: file + ".damaged-3")) == bytes)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file + ".damaged-1") == "nowhere")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file + ".damaged-2") == file)
    }

    @Test func `an empty file in place of a database is not used as a new database`() throws {
        let (programs, file) = try Self.deviceWithWrites()
        try Data().write(to: URL(filePath: file))
        // SQLite deletes the WAL beside an empty file when it opens that file.
        let wal = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
        try wal.write(to: URL(filePath: file + "-wal"))
        for command in [["status"], ["outbox"], ["user", "create", "username=Ned"], ["sync"], ["doctor"], ["init"]] {
            let response = try programs.run("syncctl", command)
            #expect(response.status != 0, "\(command): \(response)")
            #expect(try Data(contentsOf: URL(filePath: file + "-wal")) == wal, "\(command)")
        }
        #expect(try Data(contentsOf: URL(filePath: file)).isEmpty)
        let fixed = try programs.syncctl("doctor", "--fix", "--catalog", Self.communityModels(programs))
        #expect(fixed.status == CommandExitStatus.unhealthy.rawValue)
        #expect(
            fixed.output.contains("0 unconfirmed writes saved; there may have been more"),
            "\(fixed)")
        #expect(try Data(contentsOf: URL(filePath: file + ".damaged-1-wal")) == wal)
    }

    /// Previously, the device ignored the server's changes of such a record forever, and reported that it was in sync.
    @Test(.ring(.check)) func `a sync replaces a record whose version the server has not reached`() throws {
        let programs = try Programs()
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", programs.folder + "/token"]).status == 0)
        let (_, url) = try programs.serve()
        let there = ["--server", url, "--token-file", programs.folder + "/token"]
        let other = ["--store", programs.folder + "/other"] + there
        try programs.syncctl("init")
        try programs.syncctl("user", "create", "username=Ned")
        #expect(try programs.run("syncctl", ["sync"] + there).status == 0)
        let file = programs.folder + "/.local/share/syncctl/tombolo.sqlite"
        #expect(try programs.tool("sqlite3", [file, "UPDATE user SET version = 101"]) == 0)
        for arguments in [["init"], ["sync"], ["user", "set", "Ned", "username=Arya"], ["sync"]] {
            #expect(try programs.run("syncctl", arguments + other).status == 0)
        }
        try programs.syncctl("user", "create", "username=Bran")
        let synced = try programs.run("syncctl", ["sync"] + there)
        #expect(synced.status == 0, "\(synced)")
        let users = try programs.syncctl("user", "list").output
        #expect(users.contains("Arya") && users.contains("Bran"), "\(users)")
    }

    /// If the stored version of a space is wrong, every pull contradicts it until the device downloads a new copy.
    @Test(.ring(.check), .timeLimit(.minutes(10)))
    func `doctor --fix replaces a database that the server keeps contradicting`() throws {
        let programs = try Programs()
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", programs.folder + "/token"]).status == 0)
        let (_, url) = try programs.serve()
        let there = ["--server", url, "--token-file", programs.folder + "/token"]
        try programs.syncctl("init")
        try programs.syncctl("user", "create", "username=Ned")
        #expect(try programs.run("syncctl", ["sync"] + there).status == 0)
        let file = programs.folder + "/.local/share/syncctl/tombolo.sqlite"
        let edit = try programs.tool("sqlite3", [file, "UPDATE sync_space SET version = 999, complete_at = 999"])
        #expect(edit == 0)
        try programs.syncctl("user", "create", "username=Arya")
        // On a slow machine, a short sync may end before the device has seen enough contradictions, so each try waits
        // longer.
        let wish = "fixed      database: a new database took the place of this one: the server"
        var output = ""
        for wait in ["4s", "40s", "400s"] where !output.contains(wish) {
            let sync = try programs.run("syncctl", ["sync", "--wait", wait] + there)
            #expect(sync.status == CommandExitStatus.notSynced.rawValue)
            output = try programs.run("syncctl", ["doctor", "--fix"] + there).output
        }
        #expect(output.contains(wish), "\(output)")
        #expect(try programs.run("syncctl", ["sync"] + there).status == 0)
        let users = try programs.syncctl("user", "list").output
        #expect(users.contains("Ned") && users.contains("Arya"), "\(users)")
        #expect(try programs.run("syncctl", ["doctor"] + there).status == 0)
    }

    /// A response with a wrong version puts the server's history in doubt for good.
    @Test(.ring(.check), .timeLimit(.minutes(10)))
    func `doctor --fix asks again about transactions that were confirmed at a version which the server does not have`()
        throws
    {
        let programs = try Programs()
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", programs.folder + "/token"]).status == 0)
        let (_, url) = try programs.serve()
        let there = ["--server", url, "--token-file", programs.folder + "/token"]
        try programs.syncctl("init")
        try programs.syncctl("user", "create", "username=Ned")
        #expect(try programs.run("syncctl", ["sync"] + there).status == 0)
        let file = programs.folder + "/.local/share/syncctl/tombolo.sqlite"
        try programs.syncctl("user", "create", "username=Arya")
        let edit = try programs.tool(
            "sqlite3", [file, "UPDATE sync_space SET receipt = coalesce(receipt, cursor), receipt_version = 1 << 53"])
        #expect(edit == 0)
        let doubt = try programs.run("syncctl", ["sync", "--wait", "4s"] + there)
        #expect(doubt.errors.contains("syncd epoch renew"), "\(doubt)")
        let doctor = try programs.run("syncctl", ["doctor"] + there)
        #expect(doctor.output.contains("syncctl doctor --fix downloads a fresh snapshot"), "\(doctor)")
        let fixed = try programs.run("syncctl", ["doctor", "--fix"] + there).output
        #expect(fixed.contains("fixed      database: a new database took the place of this one: "), "\(fixed)")
        let synced = try programs.run("syncctl", ["sync"] + there)
        #expect(synced.status == 0, "\(synced)")
        let users = try programs.syncctl("user", "list").output
        #expect(users.contains("Ned") && users.contains("Arya"), "\(users)")
        #expect(try programs.run("syncctl", ["doctor"] + there).status == 0)
    }

    @Test func `doctor detects a damaged database`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        let lines = (0..<400).map { #"{"type":"user","username":"user \#($0)"}"# }.joined(separator: "\n")
        #expect(try programs.syncctl("import", "--jsonl", "-", input: lines).status == 0)
        #expect(try programs.syncctl("doctor", "--fix").output.contains("fixed      wal: "))
        let path = programs.folder + "/.local/share/syncctl/tombolo.sqlite"
        var bytes = try Data(contentsOf: URL(filePath: path))
        // The pages after the first ten hold rows and indexes.
        for offset in stride(from: 40_960, to: bytes.count, by: 4_096) { bytes[offset] = 0xFF }
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.write(contentsOf: bytes)
        try handle.close()
        let response = try programs.syncctl("doctor")
        #expect(response.status == CommandExitStatus.unhealthy.rawValue)
        #expect(response.output.contains("broken     database: "), "\(response)")
        #expect(!response.output.contains("broken     server"), "\(response)")
    }
}
