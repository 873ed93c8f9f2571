import ArgumentParser
import Foundation
import Glibc
import SyncCore
import SyncJSON
import SyncProgram

/// Runs two devices and a server as real processes, and checks that nothing is lost.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Watch two devices and a server work offline, crash, and end up equal.",
        discussion: """
            Starts real processes in a temporary folder and removes it at the end. Your database is not changed. Prints \
            the records of all three at the end, and exits with status 8 if they differ.
            """)

    @Option(
        help: ArgumentHelp("Server program. Defaults to syncd in the folder of syncctl.", valueName: "file"),
        completion: .file())
    var syncd: String?
    @Option(
        help: ArgumentHelp("Empty folder to work in, which is kept.", valueName: "folder"),
        completion: .directory)
    var keep: String?
    @Option(help: "Number of users to send while processes are killed.") var burst = 40_000
    @Flag(help: "Print JSON, one object per line.") var json = false

    func validate() throws {
        guard (1_500...1_000_000).contains(burst) else { throw ValidationError("--burst: expected 1500 to 1000000") }
    }

    func run() async throws {
        // An interrupt cancels the demo, which then ends its processes and removes its folder.
        try await ProgramSignals.cancelling { try await demonstrate() }
    }

    private func demonstrate() async throws {
        let terminal = Terminal(isJSON: json, variables: ProcessInfo.processInfo.environment)
        let runtime = ProgramRuntime.live()
        let folder = try folder(random: runtime.random)
        defer { if keep == nil { try? FileManager.default.removeItem(atPath: folder) } }
        let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let server = syncd ?? program.deletingLastPathComponent().appending(path: "syncd").path(percentEncoded: false)
        let world = try DemoWorld(
            folder: folder, syncctl: program.path(percentEncoded: false), syncd: server, runtime: runtime)
        defer { world.end() }
        let story = DemoStory(world: world, terminal: terminal, burst: burst)
        try await story.play()
        let holdings = try await DemoHoldings(world)
        try await world.stopServer(SIGTERM)
        holdings.print(story, to: terminal)
        guard holdings.areEqual else {
            throw CommandError(
                .different, "the server and the devices differ",
                advice: "run it again with --keep FOLDER, and compare the databases")
        }
    }

    private func folder(random: () -> UInt64) throws -> String {
        if let keep {
            // A URL would resolve `..` by the text of the path, and find another folder behind a symbolic link.
            let path = keep.hasPrefix("/") ? keep : "\(FileManager.default.currentDirectoryPath)/\(keep)"
            if let there = try? FileManager.default.contentsOfDirectory(atPath: path), !there.isEmpty {
                throw CommandError(.usage, "--keep \(keep): the folder is not empty")
            }
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            return path
        }
        let base = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        let path = base + (base.hasSuffix("/") ? "" : "/") + "tombolo-demo-" + String(random(), radix: 36)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return path
    }
}

/// The records of the server, the laptop, and the kiosk at the end.
struct DemoHoldings {
    private var rows:
        [(name: String, counts: [String: Int], digests: [String: String], unconfirmed: Int, journal: Int)] = []

    init(_ world: DemoWorld) async throws {
        try await read("server", world, .kiosk, ["digest", "--remote", "--json"], online: true)
        for device in DemoWorld.Device.allCases {
            try await read(device.rawValue, world, device, ["digest", "--json"], online: false)
        }
    }

    private mutating func read(
        _ name: String, _ world: DemoWorld, _ device: DemoWorld.Device, _ arguments: [String], online: Bool
    ) async throws {
        var counts: [String: Int] = [:]
        var digests: [String: String] = [:]
        for line in try DemoStory.objects(try await world.run(device, arguments, online: online)) {
            guard case .string(let type)? = line["type"], case .string(let digest)? = line["digest"] else { continue }
            counts[type] = DemoStory.integer(line["records"])
            digests[type] = digest
        }
        var unconfirmed = 0
        var journal = 0
        if !online {
            let status = try DemoStory.firstObject(try await world.run(device, ["status", "--local", "--json"]))
            unconfirmed = try DemoStory.unconfirmed(in: status)
            journal = DemoStory.integer(status["journal"]) ?? 0
        }
        rows.append((name, counts, digests, unconfirmed, journal))
    }

    /// Whether all three hold the same records, and no device has unconfirmed transactions.
    var areEqual: Bool {
        guard let first = rows.first, !first.digests.isEmpty else { return false }
        return rows.allSatisfy { $0.digests == first.digests && $0.unconfirmed == 0 }
    }

    func print(_ story: DemoStory, to terminal: Terminal) {
        guard !terminal.isJSON else {
            for row in rows {
                var line = JSONLine()
                line.set("holder", row.name)
                for (type, digest) in row.digests.sorted(by: { $0.key < $1.key }) {
                    line.set(type + "_records", row.counts[type] ?? 0)
                    line.set(type + "_digest", digest)
                }
                line.set("unconfirmed", row.unconfirmed)
                line.set("equal", areEqual)
                terminal.say(line)
            }
            for step in story.steps {
                var line = JSONLine()
                line.set("step", step.what)
                line.set("milliseconds", Int(step.took / .milliseconds(1)))
                terminal.say(line)
            }
            return
        }
        for note in story.notes { terminal.say("  \(note)") }
        terminal.say("")
        let types = rows.first?.digests.keys.sorted() ?? []
        var table = Table(
            [.init(title: "HOLDER")] + types.map { .init(title: $0.uppercased() + "S", isNumber: true) }
                + [.init(title: "OUTBOX", isNumber: true), .init(title: "JOURNAL", isNumber: true)]
                + types.map { .init(title: $0.uppercased() + " DIGEST") })
        for row in rows {
            table.add(
                [row.name] + types.map { String(row.counts[$0] ?? 0) } + [String(row.unconfirmed), String(row.journal)]
                    + types.map { String((row.digests[$0] ?? "").prefix(12)) })
        }
        table.print(to: terminal)
        terminal.say("")
        let total = story.steps.reduce(Duration.zero) { $0 + $1.took }
        terminal.say(
            areEqual
                ? terminal.green("the server and both devices hold the same records") + ", after \(total.shortText)"
                : terminal.red("they differ") + ", after \(total.shortText)")
    }
}
