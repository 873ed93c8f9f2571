import Foundation
import SyncSimulation
import TestRings
import Testing

@testable import syncctl

/// Damages pages and single bits of a real device's database, one at a time.
///
/// Afterward, either the device shows the correct data, or `doctor` reports damage. After `doctor --fix`, a sync works,
/// and each unsent write is on the server or was reported as lost.
@Suite(.ring(.check), .serialized) struct DamageSweepTests {
    private let programs: Programs
    private let token: String
    private let server: String
    private let device: String

    private static let unsent = 24

    /// Creates a server, and a device with records, unsent writes, bases, and a journal with a conflict and cancelled
    /// writes.
    init() throws {
        programs = try Programs()
        token = programs.folder + "/token"
        server = programs.folder + "/server"
        device = programs.folder + "/device"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let (process, url) = try serve(server)
        func run(_ arguments: [String], on store: String, input: String? = nil) throws {
            let response = try programs.run("syncctl", arguments + serverOptions(store, url), input: input)
            try #require([0, 6].contains(response.status), "\(arguments): \(response)")
        }
        let other = programs.folder + "/other"
        for store in [device, other] { try run(["init"], on: store) }
        let lines = (0..<200).map { #"{"type":"user","username":"user \#($0)"}"# }.joined(separator: "\n")
        try run(["import", "--jsonl", "-"], on: device, input: lines)
        for store in [device, other] { try run(["sync"], on: store) }
        try run(["user", "set", "user 5", "username=theirs"], on: other)
        try run(["sync"], on: other)
        try run(["user", "set", "user 5", "username=mine"], on: device)
        try run(["sync"], on: device)
        for number in 0..<3 {
            try run(["user", "create", "username=cancelled \(number)"], on: device)
            try run(["outbox", "cancel", "\(3 + number)"], on: device)
        }
        for number in 0..<Self.unsent / 2 {
            try run(["user", "set", "user \(20 + number)", "username=unsent set \(number)"], on: device)
            try run(["user", "create", "username=unsent new \(number)"], on: device)
        }
        _ = try programs.run("syncctl", ["doctor", "--fix", "--local"] + serverOptions(device, url))
        stop(process)
    }

    private func serverOptions(_ store: String, _ url: String) -> [String] {
        ["--store", store, "--server", url, "--token-file", token]
    }

    private func serve(_ folder: String) throws -> (Process, String) {
        let tokens = programs.folder + "/.local/share/syncd/tokens"
        return try programs.serve(
            "--set", "authority.folder=\(folder)", "--set", "authority.token-file=\(tokens)")
    }

    private func stop(_ process: Process) {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private var file: String { device + "/tombolo.sqlite" }

    /// Returns the device's contents, as the commands show them.
    private func shown(_ store: String) throws -> [String] {
        try [["user", "list"], ["outbox", "list"], ["journal", "list", "--all"], ["record", "collections"]].map {
            command in
            let response = try programs.run("syncctl", command + ["--json", "--store", store])
            return "\(response.status): \(response.output)"
        }
    }

    @Test(.timeLimit(.minutes(60))) func `a page of noise is harmless or reported, and repaired without a silent loss`()
        throws
    {
        let whole = try Data(contentsOf: URL(filePath: file))
        let expected = try shown(device)
        let pages = whole.count / 4_096
        #expect(pages > 40)
        let step = TestRing.current < .soak ? max(pages / 7, 1) : 1
        for page in stride(from: 0, to: pages, by: step) {
            var bytes = whole
            for offset in page * 4_096..<(page + 1) * 4_096 { bytes[offset] ^= 0xFF }
            try check(bytes, expected, "page \(page + 1)")
        }
    }

    @Test(.timeLimit(.minutes(60))) func `a flipped bit is harmless, or reported and repaired`() throws {
        let whole = try Data(contentsOf: URL(filePath: file))
        var random = SeededRandom(seed: 11)
        for _ in 0..<(TestRing.current < .soak ? 4 : 300) {
            var bytes = whole
            let offset = Int(random.next() % UInt64(bytes.count))
            bytes[offset] ^= 1 << UInt8(random.next() % 8)
            // A flipped bit inside a value results in another valid value, which no check can detect.
            try check(bytes, nil, "byte \(offset)")
        }
    }

    /// - Parameter expected: the output of the undamaged device; nil if the damage may change a value undetected.
    private func check(_ bytes: Data, _ expected: [String]?, _ place: String) throws {
        let manager = FileManager.default
        let (store, folder) = (programs.folder + "/damaged", programs.folder + "/again")
        for path in [store, folder] { try? manager.removeItem(atPath: path) }
        try manager.copyItem(atPath: device, toPath: store)
        try manager.copyItem(atPath: server, toPath: folder)
        try bytes.write(to: URL(filePath: store + "/tombolo.sqlite"))
        let (process, url) = try serve(folder)
        defer { stop(process) }

        let report = try programs.run("syncctl", ["doctor", "--json"] + serverOptions(store, url))
        #expect([0, CommandExitStatus.unhealthy.rawValue].contains(report.status), "\(place): \(report)")
        for check in ["database", "disk", "account", "engine", "contact", "outbox", "journal", "space"] {
            #expect(report.output.contains("\"check\":\"\(check)"), "\(place): no line for \(check): \(report)")
        }
        let isDamaged = report.output.contains(#""state":"broken""#)
        var lost = 0
        if isDamaged {
            var fixed = try programs.run("syncctl", ["doctor", "--fix", "--json"] + serverOptions(store, url))
            if fixed.output.contains("--catalog FILE") {
                let models = programs.folder + "/community.json"
                try programs.run("syncd", ["catalog", "show"]).output.write(
                    toFile: models, atomically: true, encoding: .utf8)
                fixed = try programs.run(
                    "syncctl", ["doctor", "--fix", "--json", "--catalog", models] + serverOptions(store, url))
            }
            #expect(!fixed.output.contains(#""state":"broken""#), "\(place): \(fixed)")
            if let match = fixed.output.firstMatch(of: /([0-9]+) unconfirmed writes? could not be read/) {
                lost = try #require(Int(match.1))
            }
            // One page cannot hold all unsent writes.
            if fixed.output.contains(/unconfirmed writes? saved; there may have been more/) {
                lost = max(lost, Self.unsent - 2)
            }
        } else if let expected {
            #expect(try shown(store) == expected, "\(place)")
        }
        let synced = try programs.run("syncctl", ["sync", "--wait", "60s"] + serverOptions(store, url))
        #expect([0, 6].contains(synced.status), "\(place), damaged: \(isDamaged): \(synced) after \(report)")
        let healthy = try programs.run("syncctl", ["doctor", "--json"] + serverOptions(store, url))
        #expect(!healthy.output.contains(#""state":"broken""#), "\(place): \(healthy)")

        let reader = programs.folder + "/reader"
        try? manager.removeItem(atPath: reader)
        #expect(try programs.run("syncctl", ["init", "--store", reader]).status == 0)
        #expect(try programs.run("syncctl", ["sync"] + serverOptions(reader, url)).status == 0, "\(place)")
        let names = try programs.run("syncctl", ["user", "list", "--json", "--store", reader]).output
        let arrived = names.components(separatedBy: "unsent ").count - 1
        let changed = expected == nil ? 1 : 0
        #expect(
            arrived >= Self.unsent - lost - changed, "\(place): \(arrived) arrived, \(lost) are lost")
    }
}
