import Foundation
import Glibc
import SyncCore
import SyncJSON
import SyncProgram

/// The steps of the demo, in order, and the time that each took.
final class DemoStory {
    let world: DemoWorld
    let terminal: Terminal
    /// The number of users that are sent while processes are killed.
    let burst: Int
    private(set) var steps: [(what: String, took: Duration)] = []

    init(world: DemoWorld, terminal: Terminal, burst: Int) {
        self.world = world
        self.terminal = terminal
        self.burst = burst
    }

    func play() async throws {
        try await step("the server starts on a free port") {
            for device in DemoWorld.Device.allCases { try await world.addToken(for: device) }
            try await world.startServer()
        }
        try await step("laptop, offline: imports the accounts of this machine") {
            try await world.run(.laptop, ["init"])
            try await world.run(.laptop, ["import"])
        }
        try await step("laptop, offline: creates a user and an avatar that refer to each other") {
            try await world.run(.laptop, ["user", "create", "username=Ned Stark"])
            let face = try await createAvatar(.laptop, "ned")
            try await world.run(.laptop, ["user", "set", "Ned Stark", "avatar=\(face)"])
            try await createAvatar(.laptop, "old-ned")
        }
        try await step("laptop syncs with the server") { try await sync(.laptop) }
        try await step("kiosk fetches") {
            try await world.run(.kiosk, ["init"])
            try await sync(.kiosk)
        }
        try await step("both, offline: edit different fields and the same field of one user; kiosk deletes an avatar") {
            let old = try await avatars(.kiosk).first { $0.url.hasSuffix("/old-ned.png") }
            guard let old else { throw CommandError(.different, "the kiosk does not have the old avatar") }
            let face = try await createAvatar(.kiosk, "kiosk-ned")
            try await world.run(.kiosk, ["user", "set", "Ned Stark", "avatar=\(face)"])
            try await world.run(.kiosk, ["user", "set", "Ned Stark", "username=Ned of the kiosk"])
            try await world.run(.kiosk, ["avatar", "delete", old.id])
            try await world.run(.laptop, ["user", "set", "Ned Stark", "username=Ned of the laptop"])
        }
        try await step("both sync with the server; the overwritten value is kept in the journal") {
            for device in [DemoWorld.Device.laptop, .kiosk, .laptop] { try await sync(device) }
            let entries = try await journal(.kiosk) + journal(.laptop)
            guard entries > 0 else {
                throw CommandError(.different, "neither journal has an entry for the two edits of one field")
            }
        }
        try await crash()
        try await step("all come back") {
            try await sync(.laptop)
            try await sync(.kiosk)
        }
    }

    /// Kills the server in the middle of a push, and then the laptop in the middle of another.
    private func crash() async throws {
        try await step("laptop, offline: imports \(burst) users") {
            let file = "\(world.folder)/burst.jsonl"
            let lines = (0..<burst).map { #"{"type":"user","key":"burst-\#($0)","username":"Citizen \#($0)"}"# }
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: file))
            try await world.run(.laptop, ["import", "--jsonl", file])
        }
        let total = try await unconfirmed()
        var left = 0
        try await step("the server is killed (SIGKILL) while the laptop pushes") {
            let laptop = try world.begin(.laptop, Self.smallPushes + ["--wait", "60s"], online: true)
            left = try await waitUntilPartlyConfirmed(laptop, below: total)
            try await world.stopServer(SIGKILL)
            laptop.send(SIGKILL)
            try await laptop.wait(world.runtime, atMost: .seconds(20))
        }
        notes.append("server killed with \(left) of \(total) transactions still unconfirmed")
        var leftThen = 0
        try await step("the server comes back, and the laptop is killed (SIGKILL) while it pushes") {
            try await world.startServer()
            let before = try await unconfirmed()
            let laptop = try world.begin(.laptop, Self.smallPushes, online: true)
            leftThen = try await waitUntilPartlyConfirmed(laptop, below: before)
            laptop.send(SIGKILL)
            try await laptop.wait(world.runtime, atMost: .seconds(20))
        }
        notes.append("laptop killed with \(leftThen) of \(total) transactions still unconfirmed")
    }

    /// Facts to print after the steps.
    private(set) var notes: [String] = []

    /// The arguments of a sync that pushes one transaction at a time, so that there are many moments at which to kill a
    /// process.
    private static let smallPushes = ["sync", "--set", "sync.batch-transactions=1"]

    /// Waits until some transactions have been confirmed, but not all, and returns the number of unconfirmed ones.
    ///
    /// - Parameter total: the number of unconfirmed transactions before the push.
    private func waitUntilPartlyConfirmed(_ process: DemoProcess, below total: Int) async throws -> Int {
        while process.isRunning {
            let left = try await unconfirmed()
            if left == 0 {
                throw CommandError(
                    .failed, "\(process.name) confirmed everything before it could be killed",
                    advice: "use a larger --burst")
            }
            if left < total, process.isRunning { return left }
        }
        throw CommandError(
            .failed, "\(process.name) ended before it could be killed: \(process.errors)",
            advice: "use a larger --burst")
    }

    // MARK: Device state

    private func unconfirmed() async throws -> Int {
        try Self.unconfirmed(in: try await status(of: .laptop))
    }

    /// Returns the line of `status --local --json`.
    private func status(of device: DemoWorld.Device) async throws -> JSONValue {
        try Self.firstObject(await world.run(device, ["status", "--local", "--json"]))
    }

    /// Returns the only line of a command that prints one.
    static func firstObject(_ text: String) throws -> JSONValue {
        guard let line = try objects(text).first else { throw CommandError(.failed, "a command printed nothing") }
        return line
    }

    /// Returns the number of unconfirmed transactions in the line of `status --local --json`.
    static func unconfirmed(in status: JSONValue) throws -> Int {
        try ["waiting", "sent", "answered"].reduce(0) { sum, key in
            guard let count = integer(status[key]) else { throw CommandError(.failed, "status printed no \(key)") }
            return sum + count
        }
    }

    private func sync(_ device: DemoWorld.Device) async throws {
        // Status 6 means new journal entries, which an edit of one field on two devices causes.
        try await world.run(
            device, ["sync", "--wait", "60s"], online: true, accepting: [0, CommandExitStatus.rejected.rawValue])
    }

    @discardableResult
    private func createAvatar(_ device: DemoWorld.Device, _ name: String) async throws -> String {
        let url = "image_url=https://example.org/\(name).png"
        let answer = try await Self.objects(
            world.run(device, ["avatar", "create", "author=Ned Stark", url, "--json"]))
        guard case .string(let id)? = answer.first?["id"] else {
            throw CommandError(.failed, "avatar create printed no id")
        }
        return id
    }

    private func avatars(_ device: DemoWorld.Device) async throws -> [(id: String, url: String)] {
        try await Self.objects(world.run(device, ["avatar", "list", "--json"])).compactMap { line in
            guard case .string(let id)? = line["id"], case .string(let url)? = line["image_url"] else { return nil }
            return (id, url)
        }
    }

    private func journal(_ device: DemoWorld.Device) async throws -> Int {
        try await Self.objects(world.run(device, ["journal", "--json"])).count
    }

    static func objects(_ text: String) throws -> [JSONValue] {
        try text.split(separator: "\n").map { line throws(CommandError) in
            do throws(JSONError) {
                return try JSONValue(Array(line.utf8))
            } catch {
                throw CommandError(.failed, "a response is not valid JSON: \(error)")
            }
        }
    }

    static func integer(_ value: JSONValue?) -> Int? {
        if case .integer(let number)? = value { Int(number) } else { nil }
    }

    // MARK: Output

    private func step(_ what: String, _ body: () async throws -> Void) async throws {
        if !terminal.isJSON { terminal.draw("\r\u{1B}[K… \(what)") }
        let start = world.runtime.uptime()
        do {
            try await body()
        } catch {
            terminal.draw("\r\u{1B}[K")
            throw error
        }
        let took = world.runtime.uptime() - start
        steps.append((what, took))
        terminal.draw("\r\u{1B}[K")
        if !terminal.isJSON { terminal.say("\(terminal.green("✔")) \(what)  \(terminal.dim("\(took.shortText)"))") }
    }
}
